"""Finding out, when a store is opened, whether it still holds what it should.

Damaged files do not always fail to load: of 400 single-file damages one in fifteen loaded with
fewer points, empty vectors or payloads, or a search that finds nothing. Each check here catches
some of these. All together take about 0.2 s for 50,000 chunks.
"""

import uuid
from typing import TYPE_CHECKING, Any

from crag_graph.retrieval.edge.errors import damaged
from crag_graph.retrieval.edge.shard import Shard
from crag_graph.retrieval.index import DENSE, SPARSE, TEXT
from crag_graph.wording import counted

if TYPE_CHECKING:
    from qdrant_edge import EdgeShard, Record

_SAMPLES = 16
# Up to here every vector is read. Beyond, opening would take seconds, and samples must do.
_FULL_SCAN = 200_000


def verify(shard: Shard, *, expected: int, dimension: int) -> None:
    """Refuse a store that lost something.

    Args:
        shard: The store, just loaded.
        expected: How many chunks the manifest counts; more are fine.
        dimension: Components of a dense vector.

    Raises:
        StoreDamagedError: It holds fewer chunks, or some of them cannot be found or read.
    """
    problem = shard.call(lambda engine: _problem(engine, expected, dimension))
    if problem:
        raise damaged(shard.path, problem)


def _problem(engine: "EdgeShard", expected: int, dimension: int) -> str:
    total = _count(engine)
    if total < expected:
        return f"only {total} of {counted(expected, 'chunk')} can be read"
    if total == 0:
        return ""
    with_both = min(_count(engine, DENSE), _count(engine, SPARSE))
    if with_both < total:
        return f"a vector is lost in {total - with_both} of {counted(total, 'chunk')}"
    if total <= _FULL_SCAN:
        sound = _searchable(engine, total, dimension)
        if sound < total:
            return f"no sound vector in {total - sound} of {counted(total, 'chunk')}"
        filed = _filed(engine, total)
        if filed < total:
            return f"no document leads to {total - filed} of {counted(total, 'chunk')}"
    return next((problem for record in _sample(engine) if (problem := _flaw(engine, record))), "")


def _count(engine: "EdgeShard", vector: str | None = None) -> int:
    from qdrant_edge import CountRequest, Filter, HasVectorCondition

    has = None if vector is None else Filter(must=[HasVectorCondition(vector)])
    return engine.count(CountRequest(exact=True, filter=has))


def _searchable(engine: "EdgeShard", total: int, dimension: int) -> int:
    """Return how many vectors an exact search scores: one of zeros gets 0, one of NaN nothing."""
    import numpy as np

    probe = np.random.default_rng(0).standard_normal(dimension).tolist()
    found = _nearest(engine, probe, DENSE, limit=total + 1, exact=True)
    return sum(1 for hit in found if hit.score != 0)


def _filed(engine: "EdgeShard", total: int) -> int:
    from qdrant_edge import FacetRequest

    facets = engine.facet(FacetRequest(key="document_id", limit=total, exact=True))
    return sum(hit.count for hit in facets.hits)


def _sample(engine: "EdgeShard") -> "list[Record]":
    """Return some points, spread over the ids, which are spread over the files at random."""
    from qdrant_edge import ScrollRequest

    records = []
    for step in range(_SAMPLES):
        start = uuid.UUID(int=(2**128 // _SAMPLES) * step)
        request = ScrollRequest(offset=start, limit=1, with_payload=True, with_vector=True)
        records += engine.scroll(request)[0]
    return records


def _flaw(engine: "EdgeShard", record: "Record") -> str:
    payload: dict[str, Any] = record.payload or {}
    vectors: Any = record.vector or {}
    if not isinstance(payload.get(TEXT), str):
        return f"the chunk {record.id} has lost its text"
    nearest = _nearest(engine, vectors[DENSE], DENSE, limit=1, exact=False)
    if not nearest or nearest[0].score < 0.99:
        return f"the chunk {record.id} is not found by its own vector"
    if vectors[SPARSE].indices and not _nearest(
        engine, vectors[SPARSE], SPARSE, limit=1, exact=False
    ):
        return f"the chunk {record.id} is not found by its own words"
    return ""


def _nearest(engine: "EdgeShard", vector: Any, using: str, *, limit: int, exact: bool) -> list[Any]:
    from qdrant_edge import Query, QueryRequest, SearchParams

    request = QueryRequest(
        limit=limit,
        query=Query.Nearest(vector, using=using),
        with_payload=False,
        params=SearchParams(exact=exact),
    )
    return engine.query(request)
