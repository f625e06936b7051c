"""What every index does alike once it can rank and retrieve."""

import abc
from collections.abc import Sequence

from crag_graph.retrieval.index import Filter, Hit, Rankings, Scored


class RankedIndex(abc.ABC):
    """Searches that return chunks, made of `rank` and `retrieve`."""

    @abc.abstractmethod
    def rank(
        self,
        *,
        vector: Sequence[float] | None,
        text: str | None,
        limit: int,
        where: Filter | None = None,
    ) -> Rankings:
        """Return both lists, at most `limit` long each."""

    @abc.abstractmethod
    async def arank(
        self,
        *,
        vector: Sequence[float] | None,
        text: str | None,
        limit: int,
        where: Filter | None = None,
    ) -> Rankings:
        """Return what `rank` does."""

    @abc.abstractmethod
    def retrieve(self, ids: Sequence[str]) -> list[Hit]:
        """Return the chunks with these ids, in their order."""

    @abc.abstractmethod
    async def aretrieve(self, ids: Sequence[str]) -> list[Hit]:
        """Return what `retrieve` does."""

    def search_dense(
        self, vector: Sequence[float], *, limit: int, where: Filter | None = None
    ) -> list[Hit]:
        """Return the nearest chunks by cosine, best first; equal scores ordered by id."""
        ranked = self.rank(vector=vector, text=None, limit=limit, where=where).dense
        return _scored(ranked, self.retrieve([hit.id for hit in ranked]))

    def search_sparse(self, text: str, *, limit: int, where: Filter | None = None) -> list[Hit]:
        """Return the best chunks by BM25, best first; equal scores ordered by id."""
        ranked = self.rank(vector=None, text=text, limit=limit, where=where).sparse
        return _scored(ranked, self.retrieve([hit.id for hit in ranked]))

    async def asearch_dense(
        self, vector: Sequence[float], *, limit: int, where: Filter | None = None
    ) -> list[Hit]:
        """Return what `search_dense` does."""
        ranked = (await self.arank(vector=vector, text=None, limit=limit, where=where)).dense
        return _scored(ranked, await self.aretrieve([hit.id for hit in ranked]))

    async def asearch_sparse(
        self, text: str, *, limit: int, where: Filter | None = None
    ) -> list[Hit]:
        """Return what `search_sparse` does."""
        ranked = (await self.arank(vector=None, text=text, limit=limit, where=where)).sparse
        return _scored(ranked, await self.aretrieve([hit.id for hit in ranked]))


def _scored(ranked: Sequence[Scored], hits: Sequence[Hit]) -> list[Hit]:
    scores = {item.id: item.score for item in ranked}
    return [
        Hit(id=hit.id, text=hit.text, payload=hit.payload, score=scores[hit.id]) for hit in hits
    ]
