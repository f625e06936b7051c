"""Which retrieved documents answer a question, as its labels say."""

from collections.abc import Hashable, Mapping, Sequence

from langchain_core.documents import Document

from crag_graph.evaluation.examples import Example

PASSAGE = "passage"
"""The key in a document's metadata that holds its place among the question's own passages."""


class Gold:
    """The gold items of one question: passages of its own, or sources of the collection.

    Attributes:
        grades: Gold item → its grade; of the collection each has 1. Only items that answer.
        known: Whether anything is labelled at all.
    """

    def __init__(self, example: Example, *, relevant_from: float) -> None:
        self._names = example.gold
        self._own = bool(example.passages)
        labels = {number: passage.label for number, passage in enumerate(example.passages)}
        self.known = any(label is not None for label in labels.values()) or bool(example.gold)
        self.grades: Mapping[Hashable, float] = (
            {key: label for key, label in labels.items() if label and label >= relevant_from}
            if self._own
            else dict.fromkeys(example.gold, 1.0)
        )

    def of(self, document: Document) -> Hashable | None:
        """Return the gold item that `document` stands for, if any."""
        if self._own:
            place = document.metadata.get(PASSAGE)
            return place if place in self.grades else None
        return next((name for name in self._names if _is_called(document, name)), None)

    def ranked(self, documents: Sequence[Document]) -> list[Hashable | None]:
        """Return for each document the gold item that it is the first to stand for, else None."""
        seen: set[Hashable] = set()
        found: list[Hashable | None] = []
        for document in documents:
            item = self.of(document)
            found.append(None if item is None or item in seen else item)
            seen.add(item)
        return found


def _is_called(document: Document, name: str) -> bool:
    """Return whether `name` is the document's id, or its source, whole or its last parts."""
    if name in (document.id, document.metadata.get("document_id")):
        return True
    source = str(document.metadata.get("source") or "").replace("\\", "/")
    return source == name or source.endswith(f"/{name.lstrip('/')}")
