"""What an embedded index asks of the engine: each function returns a call to make."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from crag_graph.retrieval.bm25 import SparseVector
from crag_graph.retrieval.filters import IndexKind
from crag_graph.retrieval.index import DENSE, SPARSE, TEXT, Hit, Scored
from crag_graph.retrieval.points import Prepared

if TYPE_CHECKING:
    from qdrant_edge import EdgeShard, Record


def upserting(batch: Sequence[Prepared]) -> "Callable[[EdgeShard], None]":
    """Return the call that stores a batch, whole or not at all."""
    from qdrant_edge import Point, UpdateOperation
    from qdrant_edge import SparseVector as EngineSparse

    points = [
        Point(
            point.id,
            {DENSE: point.vector, SPARSE: EngineSparse(*point.sparse)},
            point.payload,
        )
        for point in batch
    ]
    return lambda engine: engine.update(UpdateOperation.upsert_points(points))


def deleting(condition: Any) -> "Callable[[EdgeShard], None]":
    """Return the call that deletes the points of a filter."""
    from qdrant_edge import UpdateOperation

    return lambda engine: engine.update(UpdateOperation.delete_points_by_filter(condition))


def indexing(field: str, kind: IndexKind) -> "Callable[[EdgeShard], None]":
    """Return the call that indexes a payload field."""
    from qdrant_edge import PayloadSchemaType, UpdateOperation

    kinds = {
        "keyword": PayloadSchemaType.Keyword,
        "integer": PayloadSchemaType.Integer,
        "float": PayloadSchemaType.Float,
        "bool": PayloadSchemaType.Bool,
    }
    return lambda engine: engine.update(UpdateOperation.create_field_index(field, kinds[kind]))


def searching(
    queries: Mapping[str, list[float] | SparseVector], *, condition: Any, depth: int
) -> "Callable[[EdgeShard], list[list[Scored]]]":
    """Return the call that runs all queries, each of the named vector, in one batch."""
    from qdrant_edge import Query, QueryBatchRequest, QueryRequest
    from qdrant_edge import SparseVector as EngineSparse

    requests = []
    for name, vector in queries.items():
        nearest: Any = EngineSparse(*vector) if isinstance(vector, tuple) else vector
        query = Query.Nearest(nearest, using=name)
        requests.append(
            QueryRequest(limit=depth, query=query, filter=condition, with_payload=False)
        )
    return lambda engine: [
        [Scored(id=str(hit.id), score=hit.score) for hit in hits]
        for hits in engine.query_batch(QueryBatchRequest(requests))
    ]


def fetching(ids: Sequence[str]) -> "Callable[[EdgeShard], list[Hit]]":
    """Return the call that reads points, in the order of `ids`, unknown ones left out."""

    def fetch(engine: "EdgeShard") -> list[Hit]:
        records = engine.retrieve(list(ids), with_payload=True, with_vector=False)
        found = {str(record.id): record for record in records}
        return [_hit(found[identifier]) for identifier in ids if identifier in found]

    return fetch


def scrolling(
    *, condition: Any, offset: Any, limit: int
) -> "Callable[[EdgeShard], tuple[list[Hit], Any]]":
    """Return the call that reads points in the order of ids, and from where to go on."""
    from qdrant_edge import ScrollRequest

    request = ScrollRequest(
        offset=offset, limit=limit, filter=condition, with_payload=True, with_vector=False
    )

    def scroll(engine: "EdgeShard") -> tuple[list[Hit], Any]:
        records, following = engine.scroll(request)
        return [_hit(record) for record in records], following

    return scroll


def counting(condition: Any) -> "Callable[[EdgeShard], int]":
    """Return the call that counts the points of a filter."""
    from qdrant_edge import CountRequest

    return lambda engine: engine.count(CountRequest(exact=True, filter=condition))


def _hit(record: "Record") -> Hit:
    payload = dict(record.payload or {})
    text = payload.pop(TEXT, "")
    return Hit(id=str(record.id), text=str(text), payload=payload, score=0.0)
