"""The narrow Protocol that both vector stores fulfil, and the values that cross it."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from crag_graph.errors import CollectionMismatchError

DENSE = "dense"
SPARSE = "sparse"
TEXT = "text"
"""Names, in the store, of the two vectors and of the payload field that holds the chunk."""

Filter = Mapping[str, Any]
"""`{"field": value}` or `{"field": [value, …]}`; every field must hold; dots reach into objects.

A value is a str, int, float or bool; None matches a field that is missing, null or empty.
"""


@dataclasses.dataclass(frozen=True, kw_only=True)
class CollectionSchema:
    """What a collection is made with; a mismatch is refused when it is opened.

    Attributes:
        name: The collection's name: letters, digits, `_`, `-` and `.`, at most 100.
        embedding_model: The name that the embeddings give themselves; empty where it is not known,
            because another tool made the collection.
        dimension: Components of a dense vector.
        bm25_language: Language of stemming and stop words of the sparse vectors, or `multilingual`.
    """

    name: str
    embedding_model: str
    dimension: int
    bm25_language: str = "english"


def check_schema(found: CollectionSchema, wanted: CollectionSchema) -> None:
    """Refuse a collection whose vectors cannot be compared with those of `wanted`.

    The language of the sparse vectors may differ: a collection keeps its own.

    Raises:
        CollectionMismatchError: The embedding model or the size differs; both are named.
    """
    same_model = not found.embedding_model or found.embedding_model == wanted.embedding_model
    if same_model and found.dimension == wanted.dimension:
        return
    model = found.embedding_model or "an unknown model"
    raise CollectionMismatchError(
        f"the collection {found.name!r} holds vectors of {model} ({found.dimension} components), "
        f"but {wanted.embedding_model} ({wanted.dimension} components) is configured: set "
        "CRAG_EMBEDDINGS to the former, or ingest into another collection"
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Point:
    """One chunk as it is stored. The sparse vector is made from `text` by the index.

    Attributes:
        id: A UUID that follows from the document and the chunk's position. Any other string is
            stored under a UUID that follows from it, with the string as `original_id`.
        vector: The dense vector, finite and not all zeros.
        text: The chunk.
        payload: Plain JSON: `document_id`, `version`, `source`, `title`, … without the text.
    """

    id: str
    vector: Sequence[float]
    text: str
    payload: Mapping[str, Any]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Scored:
    """The id of a found chunk, and its score on the list's own scale: never a relevance."""

    id: str
    score: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class Rankings:
    """The two lists of one search, each best first, equal scores ordered by id.

    Attributes:
        dense: By cosine, −1…1.
        sparse: By BM25 with inverse document frequency, above 0 and unbounded.
    """

    dense: Sequence[Scored] = ()
    sparse: Sequence[Scored] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Hit:
    """One found chunk. `score` is the list's own (cosine, BM25): never a relevance."""

    id: str
    text: str
    payload: Mapping[str, Any]
    score: float


@runtime_checkable
class VectorIndex(Protocol):
    """One collection in a vector store.

    Methods raise the `StoreError` tree, `InputError` for a filter that cannot be used, and nothing
    else. `limit` is at least 1. The asynchronous methods give the same result as the synchronous
    ones without blocking the event loop.
    """

    schema: CollectionSchema

    def upsert(self, points: Sequence[Point]) -> None:
        """Store `points`, replacing those with the same id, in batches that the store takes."""
        ...

    def delete_document(self, document_id: str, *, keep_version: str | None = None) -> None:
        """Delete the chunks of a document, but for those of `keep_version`."""
        ...

    def rank(
        self,
        *,
        vector: Sequence[float] | None,
        text: str | None,
        limit: int,
        where: Filter | None = None,
    ) -> Rankings:
        """Return both lists, at most `limit` long each, in one call to the store.

        A list whose `vector` or `text` is None stays empty. The chunks themselves come from
        `retrieve`: reading the texts of all candidates costs more than finding them.
        """
        ...

    async def arank(
        self,
        *,
        vector: Sequence[float] | None,
        text: str | None,
        limit: int,
        where: Filter | None = None,
    ) -> Rankings:
        """Return what `rank` does."""
        ...

    def search_dense(
        self, vector: Sequence[float], *, limit: int, where: Filter | None = None
    ) -> list[Hit]:
        """Return the nearest chunks by cosine, best first; equal scores ordered by id."""
        ...

    def search_sparse(self, text: str, *, limit: int, where: Filter | None = None) -> list[Hit]:
        """Return the best chunks by BM25 with inverse document frequency, best first."""
        ...

    async def asearch_dense(
        self, vector: Sequence[float], *, limit: int, where: Filter | None = None
    ) -> list[Hit]:
        """Return the nearest chunks by cosine, best first; equal scores ordered by id."""
        ...

    async def asearch_sparse(
        self, text: str, *, limit: int, where: Filter | None = None
    ) -> list[Hit]:
        """Return the best chunks by BM25 with inverse document frequency, best first."""
        ...

    def retrieve(self, ids: Sequence[str]) -> list[Hit]:
        """Return the chunks with these ids, in their order, unknown ids left out; scores are 0."""
        ...

    async def aretrieve(self, ids: Sequence[str]) -> list[Hit]:
        """Return what `retrieve` does."""
        ...

    def scroll(self, *, where: Filter | None = None, batch: int = 256) -> Iterator[Hit]:
        """Yield every chunk, in the order of ids; scores are 0."""
        ...

    def count(self, *, where: Filter | None = None) -> int:
        """Return how many chunks there are."""
        ...

    def optimize(self) -> None:
        """Build what makes searches fast; may take long, so never while serving."""
        ...

    def flush(self) -> None:
        """Make everything that was stored survive a crash."""
        ...

    def close(self) -> None:
        """Flush and let go of the store. Closing twice does nothing."""
        ...
