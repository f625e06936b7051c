"""Finding passages for a question: the Protocol that the graph asks, and what fulfils it."""

from typing import Any, Protocol, runtime_checkable

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from pydantic import Field, PrivateAttr

from crag_graph.models.embeddings import NamedEmbeddings, load_embeddings
from crag_graph.retrieval.index import CollectionSchema, Filter, VectorIndex, check_schema
from crag_graph.retrieval.passages import Passages
from crag_graph.settings import Settings
from crag_graph.text.clean import tail_text

# A question is matched by its words; of a long one by those of the end, which asks.
_SPARSE_CHARACTERS = 4000


@runtime_checkable
class Retriever(Protocol):
    """Finds the passages that a question may be answered from.

    Methods raise `StoreError` or `EmbeddingError`, or `InputError` for a filter that cannot be
    used. The order of the documents is their rank; no score of a retriever says how relevant a
    passage is, so none is read as that.
    """

    @property
    def name(self) -> str | None:
        """What the retriever is called in traces and reports."""
        ...

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


class HybridRetriever(BaseRetriever):
    """Retrieves by meaning and by words, and fuses both lists. Also a LangChain retriever.

    The question is embedded once, both lists come from one call to the store, and fusion is ours:
    the same question gives the same documents on the embedded store and on a server. A document's
    metadata is its chunk's payload with, under `retrieval`, the fused `score`, the scores of the
    lists (`dense`, `sparse`) and the ranks in them (`dense_rank`, `sparse_rank`; None where the
    list does not hold it). These order passages. They are never a relevance: the best passage of a
    corpus that has nothing to say gets the same fused score as a perfect one.

    Args:
        embeddings: What the collection was ingested with.
        index: The collection.
        settings: What `invoke` uses; the graph passes its own.
        where: The filter of `invoke`.

    Raises:
        CollectionMismatchError: The collection was made with another embedding model.
    """

    name: str | None = "hybrid"
    embeddings: Embeddings
    index: VectorIndex
    settings: Settings = Field(default_factory=Settings)
    where: dict[str, Any] | None = None
    _named: NamedEmbeddings = PrivateAttr()

    def model_post_init(self, _context: Any, /) -> None:
        """Check that the embeddings are those of the collection."""
        self._named = load_embeddings(self.embeddings)
        known = self.index.schema.embedding_model
        if known and known != self._named.name:
            self._check(dimension=self._named.dimension)

    def retrieve(
        self, question: str, *, settings: Settings, where: Filter | None = None
    ) -> list[Document]:
        """Return at most `settings.top_k` passages, best first; none from an empty collection.

        Raises:
            EmbeddingError: The question cannot be embedded, or its vector is zeros or NaN.
            CollectionMismatchError: Its vector is not of the collection's size.
            StoreError: The store failed.
            InputError: The filter cannot be used.
        """
        vector = self._named.embed_query(question) if _by_meaning(settings) else None
        passages = Passages(
            self.index.rank(**self._query(question, vector, settings), where=where), settings
        )
        while ids := passages.wanted():
            passages.add(self.index.retrieve(ids))
        return passages.documents

    async def aretrieve(
        self, question: str, *, settings: Settings, where: Filter | None = None
    ) -> list[Document]:
        """Return what `retrieve` does."""
        vector = await self._named.aembed_query(question) if _by_meaning(settings) else None
        passages = Passages(
            await self.index.arank(**self._query(question, vector, settings), where=where),
            settings,
        )
        while ids := passages.wanted():
            passages.add(await self.index.aretrieve(ids))
        return passages.documents

    def is_empty(self) -> bool:
        """Return whether the collection holds no chunk at all."""
        return self.index.count() == 0

    def close(self) -> None:
        """Let go of the store."""
        self.index.close()

    def _query(
        self, question: str, vector: list[float] | None, settings: Settings
    ) -> dict[str, Any]:
        if vector is not None:
            self._check(dimension=len(vector))
        by_words = settings.retrieval_mode != "dense"
        return {
            "vector": vector,
            "text": tail_text(question, _SPARSE_CHARACTERS) if by_words else None,
            "limit": max(settings.candidates, settings.top_k),
        }

    def _check(self, *, dimension: int) -> None:
        found = self.index.schema
        wanted = CollectionSchema(
            name=found.name, embedding_model=self._named.name, dimension=dimension
        )
        check_schema(found, wanted)

    def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        return self.retrieve(query, settings=self.settings, where=self.where)

    async def _aget_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        return await self.aretrieve(query, settings=self.settings, where=self.where)


def _by_meaning(settings: Settings) -> bool:
    return settings.retrieval_mode != "sparse"
