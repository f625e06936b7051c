"""Making points fit for a store: ids, vectors, payloads, and batches of a size that it takes."""

import dataclasses
import json
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from crag_graph.errors import CollectionMismatchError, StoreRequestError
from crag_graph.retrieval.bm25 import Bm25Encoder, SparseVector
from crag_graph.retrieval.index import TEXT, CollectionSchema, Point
from crag_graph.state import plain

ORIGINAL_ID = "original_id"

BATCH_POINTS = 128
"""Throughput is flat between 64 and 256 points; smaller batches stall other threads for less."""
BATCH_BYTES = 8 * 1024 * 1024
MOST_BYTES = 16 * 1024 * 1024
"""A server takes requests of 32 MiB by default; the embedded store keeps to the same limit, so that
every collection can move."""

# As JSON, a component takes up to 22 characters, a token id with its weight up to 34.
_COMPONENT_BYTES = 22
_TOKEN_BYTES = 34
_POINT_BYTES = 200

# Any namespace would do, as long as it never changes: ids must come out the same in every run.
_NAMESPACE = uuid.UUID("6f1c9d0e-3d0c-5d2a-9f57-6a0a5c7f2b11")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Prepared:
    """A point as it is sent to a store. `size` is its length as JSON, about, in bytes."""

    id: str
    vector: list[float]
    sparse: SparseVector
    payload: dict[str, Any]
    size: int


def point_id(raw: object) -> str:
    """Return the UUID under which `raw` is stored: itself if it is one, else one that follows."""
    text = plain(str(raw))
    try:
        return str(uuid.UUID(text))
    except ValueError:
        return str(uuid.uuid5(_NAMESPACE, text))


def unit_vector(vector: Sequence[float], *, schema: CollectionSchema, of: str) -> list[float]:
    """Return `vector` at length 1, in single precision.

    Raises:
        CollectionMismatchError: It has another size than the collection's.
        StoreRequestError: It is all zeros, or not numbers; `of` says whose it is.
    """
    import numpy as np

    try:
        numbers = np.asarray(vector, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.asarray([np.nan])
    if numbers.ndim == 1 and numbers.size != schema.dimension and np.isfinite(numbers).all():
        raise CollectionMismatchError(
            f"the vector of {of} has {numbers.size} components, but the collection "
            f"{schema.name!r} was made for {schema.dimension} ({schema.embedding_model}): embed "
            "with that model, or ingest into another collection"
        )
    length = float(np.linalg.norm(numbers))
    if not np.isfinite(length) or length == 0 or numbers.ndim != 1:
        kind = "is all zeros" if length == 0 else "is not finite numbers"
        raise StoreRequestError(f"the vector of {of} {kind}: the embedding model failed on it")
    unit: list[float] = (numbers / length).astype(np.float32).tolist()
    return unit


def prepare(
    points: Sequence[Point], *, schema: CollectionSchema, encoder: Bm25Encoder
) -> list[Prepared]:
    """Return `points` as they are sent, or nothing when one of them cannot be.

    Text and payload become plain; a payload without `document_id` gets the point's own id, since
    documents are deleted by it. Of several points with one id the last counts.

    Raises:
        CollectionMismatchError: A vector has another size than the collection's.
        StoreRequestError: A vector is all zeros or not finite, or a point is too large; the
            message names it.
    """
    prepared = {}
    for point in points:
        ready = _prepare_one(point, schema, encoder)
        prepared[ready.id] = ready
    return list(prepared.values())


def _prepare_one(point: Point, schema: CollectionSchema, encoder: Bm25Encoder) -> Prepared:
    identifier = point_id(point.id)
    payload: dict[str, Any] = plain(point.payload)
    payload.setdefault("document_id", identifier)
    if identifier != str(point.id):
        payload.setdefault(ORIGINAL_ID, plain(str(point.id)))
    named = f"the chunk {point.id} of {payload.get('source') or payload['document_id']}"
    text = plain(point.text)
    payload[TEXT] = text
    sparse = encoder.document(text)
    size = len(json.dumps(payload, ensure_ascii=False).encode()) + _POINT_BYTES
    size += _COMPONENT_BYTES * schema.dimension + _TOKEN_BYTES * len(sparse[0])
    if size > MOST_BYTES:
        raise StoreRequestError(
            f"{named} takes {size / 2**20:.0f} MiB with its metadata, more than the "
            f"{MOST_BYTES // 2**20} MiB of one point: shorten its text or metadata"
        )
    vector = unit_vector(point.vector, schema=schema, of=named)
    return Prepared(id=identifier, vector=vector, sparse=sparse, payload=payload, size=size)


def batches(points: Sequence[Prepared]) -> Iterator[list[Prepared]]:
    """Yield `points` in batches of at most `BATCH_POINTS` points and `BATCH_BYTES` bytes.

    A point that is larger than `BATCH_BYTES` goes alone.
    """
    batch: list[Prepared] = []
    size = 0
    for point in points:
        if batch and (len(batch) == BATCH_POINTS or size + point.size > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(point)
        size += point.size
    if batch:
        yield batch
