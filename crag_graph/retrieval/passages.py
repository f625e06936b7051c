"""Making documents of the two ranked lists of a search."""

from collections.abc import Sequence
from typing import Any

from langchain_core.documents import Document

from crag_graph.retrieval.fusion import Fused, fuse
from crag_graph.retrieval.index import DENSE, SPARSE, Hit, Rankings
from crag_graph.settings import Settings
from crag_graph.state import plain


class Passages:
    """The best passages of a search, gathered in portions: `wanted` says what to fetch next.

    One portion is enough unless the store leaves some out, as it does with chunks that have no text
    or were deleted since they were ranked.

    Attributes:
        documents: Best first. The metadata is the payload, plain, with the scores and ranks under
            `retrieval`. Where another tool nested its metadata under `metadata`, its fields are
            lifted beside the others.
    """

    def __init__(self, rankings: Rankings, settings: Settings) -> None:
        weight = {"hybrid": settings.dense_weight, "dense": 1.0, "sparse": 0.0}
        dense = weight[settings.retrieval_mode]
        self._ranked = fuse(
            {DENSE: rankings.dense, SPARSE: rankings.sparse},
            weights={DENSE: dense, SPARSE: 1.0 - dense},
        )
        self._top_k = settings.top_k
        self._taken = 0
        self.documents: list[Document] = []

    def wanted(self) -> list[str]:
        """Return the ids of the chunks to fetch next; none when the passages are complete."""
        missing = self._top_k - len(self.documents)
        return [item.id for item in self._ranked[self._taken : self._taken + missing]]

    def add(self, hits: Sequence[Hit]) -> None:
        """Take what was found of the wanted chunks."""
        found = {hit.id: hit for hit in hits}
        portion = self._ranked[self._taken : self._taken + len(self.wanted())]
        self._taken += len(portion)
        self.documents += [_document(found[item.id], item) for item in portion if item.id in found]


def _document(hit: Hit, item: Fused) -> Document:
    retrieval: dict[str, float | int | None] = {
        "score": item.score,
        "dense": item.scores.get(DENSE),
        "sparse": item.scores.get(SPARSE),
        "dense_rank": item.ranks.get(DENSE),
        "sparse_rank": item.ranks.get(SPARSE),
    }
    metadata = {**_fields(hit), "retrieval": retrieval}
    return Document(id=hit.id, page_content=hit.text, metadata=metadata)


def _fields(hit: Hit) -> dict[str, Any]:
    payload: dict[str, Any] = plain(hit.payload)
    nested = payload.pop("metadata", None)
    if isinstance(nested, dict):
        return nested | payload
    return payload if nested is None else payload | {"metadata": nested}
