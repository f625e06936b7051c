"""Finding passages for a question: the Protocol that the graph asks."""

from typing import Protocol, runtime_checkable

from langchain_core.documents import Document

from crag_graph.retrieval.index import Filter
from crag_graph.settings import Settings


@runtime_checkable
class Retriever(Protocol):
    """Finds the passages that a question may be answered from.

    Methods raise `StoreError` or `EmbeddingError`. The order of the documents is their rank; no
    score of a retriever says how relevant a passage is, so none is read as that.
    """

    name: str

    def retrieve(
        self, question: str, *, settings: Settings, where: Filter | None = None
    ) -> list[Document]:
        """Return at most `settings.top_k` passages, best first."""
        ...

    async def aretrieve(
        self, question: str, *, settings: Settings, where: Filter | None = None
    ) -> list[Document]:
        """Return at most `settings.top_k` passages, best first."""
        ...

    def is_empty(self) -> bool:
        """Return whether there is nothing to find at all; False where that is not known."""
        ...
