"""Making and recognising a collection on a server: ours, or another tool's."""

import dataclasses
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from crag_graph.errors import (
    CollectionMismatchError,
    StoreError,
    StoreRequestError,
)
from crag_graph.retrieval.bm25 import Bm25Encoder
from crag_graph.retrieval.edge.setup import INDEXED_FIELDS
from crag_graph.retrieval.index import DENSE, SPARSE, TEXT, CollectionSchema, check_schema
from crag_graph.retrieval.server.calls import WRITE_SECONDS
from crag_graph.retrieval.server.connection import ServerConnection

if TYPE_CHECKING:
    from qdrant_client.models import CollectionInfo

_METADATA = "crag_graph"
_FOREIGN_TEXT = (TEXT, "page_content")
_INDEXED_FIELDS = (*INDEXED_FIELDS, "version")  # a strict server refuses what is not indexed

_logger = logging.getLogger(__name__)
_warned: set[str] = set()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Layout:
    """How a collection names its parts.

    Attributes:
        dense: The dense vector; empty for the unnamed one.
        sparse: The sparse vector with BM25 weights; None where there is none.
        text: Payload fields that may hold the chunk, in order of preference.
    """

    dense: str = DENSE
    sparse: str | None = SPARSE
    text: tuple[str, ...] = (TEXT,)


def create_collection(connection: ServerConnection, schema: CollectionSchema) -> None:
    """Make a collection with its payload indexes, or complete one that was begun.

    Raises:
        ConfigurationError: The language of its sparse vectors is not known.
        StoreError: The server refuses, cannot be reached, or is too old to keep the schema.
    """
    Bm25Encoder(schema.bm25_language)
    if not connection.call(lambda client: client.collection_exists(schema.name)):
        try:
            _create(connection, schema)
        except StoreRequestError as error:
            if "already exists" not in error.message:  # another process was faster
                raise
    info = connection.call(lambda client: client.get_collection(schema.name))
    if _METADATA in (info.config.metadata or {}):
        for field in _INDEXED_FIELDS:
            if field not in info.payload_schema:
                index_field(connection, schema.name, field, "keyword")


def _create(connection: ServerConnection, schema: CollectionSchema) -> None:
    from qdrant_client import models

    made_with = {
        "embedding_model": schema.embedding_model,
        "dimension": schema.dimension,
        "bm25_language": schema.bm25_language,
    }
    connection.call(
        lambda client: client.create_collection(
            schema.name,
            vectors_config={
                DENSE: models.VectorParams(size=schema.dimension, distance=models.Distance.COSINE)
            },
            sparse_vectors_config={SPARSE: models.SparseVectorParams(modifier=models.Modifier.IDF)},
            metadata={_METADATA: made_with},
            timeout=WRITE_SECONDS,
        )
    )
    info = connection.call(lambda client: client.get_collection(schema.name))
    if _METADATA not in (info.config.metadata or {}):
        raise StoreError(
            f"{connection.address.shown} does not keep a collection's metadata: upgrade the server "
            f"to Qdrant 1.16 or later, delete the empty collection {schema.name!r}, and try again"
        )


def index_field(connection: ServerConnection, collection: str, field: str, kind: str) -> None:
    """Index a payload field and wait until it is; a server may refuse to filter by others."""
    from qdrant_client import models

    connection.call(
        lambda client: client.create_payload_index(
            collection,
            field,
            field_schema=models.PayloadSchemaType(kind),
            wait=True,
            timeout=WRITE_SECONDS,
        )
    )


def recognise(
    connection: ServerConnection, collection: str, *, content_key: str | None
) -> tuple[CollectionSchema, Layout]:
    """Return what a collection was made with, and how it names its parts.

    A collection of another tool has no known embedding model. Its one dense vector is used, by
    whatever name, and its one sparse vector where that has the IDF modifier, as BM25 needs.

    Raises:
        CollectionNotFoundError: There is none.
        CollectionMismatchError: It has no vector that can be searched; those found are named.
    """
    info = connection.call(lambda client: client.get_collection(collection))
    vectors = _dense_vectors(info)
    sparse = dict(info.config.params.sparse_vectors or {})
    made_with = (info.config.metadata or {}).get(_METADATA)
    if isinstance(made_with, dict):
        if DENSE not in vectors or SPARSE not in sparse:
            raise _no_vector(collection, vectors, sparse)
        schema = CollectionSchema(
            name=collection,
            embedding_model=str(made_with.get("embedding_model", "")),
            dimension=vectors[DENSE].size,
            bm25_language=str(made_with.get("bm25_language", "english")),
        )
        return schema, Layout(text=(content_key,) if content_key else (TEXT,))
    searchable = {
        name: vector
        for name, vector in vectors.items()
        if vector.multivector_config is None and vector.distance in ("Cosine", "Dot")
    }
    name = DENSE if DENSE in searchable else next(iter(searchable), None)
    if name is None or (name != DENSE and len(searchable) > 1):
        raise _no_vector(collection, vectors, sparse)
    schema = CollectionSchema(name=collection, embedding_model="", dimension=searchable[name].size)
    weighted = [key for key, params in sparse.items() if params.modifier == "idf"]
    words = SPARSE if SPARSE in weighted else (weighted[0] if len(weighted) == 1 else None)
    text = (content_key,) if content_key else _FOREIGN_TEXT
    return schema, Layout(dense=name, sparse=words, text=text)


def require_ours(found: CollectionSchema, wanted: CollectionSchema) -> None:
    """Refuse to ingest into a collection of another tool, or of another embedding model.

    Raises:
        CollectionMismatchError: It is one.
    """
    if not found.embedding_model:
        raise CollectionMismatchError(
            f"the collection {found.name!r} was made by another tool, and can be asked but not "
            "ingested into: choose another collection"
        )
    check_schema(found, wanted)


def _dense_vectors(info: "CollectionInfo") -> dict[str, Any]:
    vectors = info.config.params.vectors
    if vectors is None:
        return {}
    return dict(vectors) if isinstance(vectors, Mapping) else {"": vectors}


def _no_vector(
    collection: str, vectors: Mapping[str, Any], sparse: Mapping[str, Any]
) -> CollectionMismatchError:
    found = [f"{name or 'an unnamed one'} ({params.size})" for name, params in vectors.items()]
    found += [f"{name} (sparse)" for name in sparse]
    return CollectionMismatchError(
        f"the collection {collection!r} has no vector {DENSE!r} that can be searched by cosine; it "
        f"has {', '.join(found) or 'none at all'}: ingest into another collection"
    )


def warn_of_skew(connection: ServerConnection) -> None:
    """Log once a server whose version is more than one minor away from the client's."""
    import importlib.metadata

    server = connection.address.shown
    if server in _warned:
        return
    _warned.add(server)
    try:
        theirs = connection.call(lambda client: client.info()).version
    except StoreError:
        return  # a key may allow the collection only; the versions are not worth failing for
    ours = importlib.metadata.version("qdrant-client")
    if not _near(ours, theirs):
        _logger.warning(
            "%s runs Qdrant %s, but qdrant-client is %s: keep them within one minor version",
            server,
            theirs,
            ours,
        )


def _near(ours: str, theirs: str) -> bool:
    try:
        (major, minor), (their_major, their_minor) = (
            [int(part) for part in version.split(".")[:2]] for version in (ours, theirs)
        )
    except ValueError:
        return True  # a development build
    return major == their_major and abs(minor - their_minor) <= 1
