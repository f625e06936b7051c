"""What is asked of a server, and what its answers hold.

The calls work on the synchronous client and on the asynchronous one, whose methods are named alike.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from crag_graph.retrieval.bm25 import SparseVector
from crag_graph.retrieval.index import DENSE, SPARSE, Hit, Scored
from crag_graph.retrieval.points import Prepared, point_id

if TYPE_CHECKING:
    from qdrant_client.models import ExtendedPointId

Call = Callable[[Any], Any]

WRITE_SECONDS = 60
"""Time-out of what changes a collection: a busy cluster takes long to acknowledge a large batch."""


def searching(
    collection: str,
    queries: Mapping[str, list[float] | SparseVector],
    *,
    condition: Any,
    depth: int,
) -> Call:
    """Return the call that runs all queries, each of the named vector, in one request."""
    from qdrant_client import models

    requests = []
    for name, vector in queries.items():
        nearest: Any = vector
        if isinstance(vector, tuple):
            nearest = models.SparseVector(indices=vector[0], values=vector[1])
        requests.append(
            models.QueryRequest(
                query=models.NearestQuery(nearest=nearest),
                using=name or None,
                filter=condition,
                limit=depth,
                with_payload=False,
            )
        )
    return lambda client: client.query_batch_points(collection, requests)


def scored(responses: Sequence[Any]) -> list[list[Scored]]:
    """Return the lists of such a batch."""
    return [
        [Scored(id=str(point.id), score=point.score) for point in response.points]
        for response in responses
    ]


def upserting(collection: str, batch: Sequence[Prepared]) -> Call:
    """Return the call that stores a batch and waits until it is there."""
    from qdrant_client import models

    structs = [
        models.PointStruct(
            id=point.id,
            vector={
                DENSE: point.vector,
                SPARSE: models.SparseVector(indices=point.sparse[0], values=point.sparse[1]),
            },
            payload=point.payload,
        )
        for point in batch
    ]
    return lambda client: client.upsert(collection, structs, wait=True, timeout=WRITE_SECONDS)


def deleting(collection: str, condition: Any) -> Call:
    """Return the call that deletes the points of a filter and waits until they are gone."""
    from qdrant_client import models

    selector = models.FilterSelector(filter=condition)
    return lambda client: client.delete(collection, selector, wait=True, timeout=WRITE_SECONDS)


def fetching(collection: str, ids: Sequence[str]) -> Call:
    """Return the call that reads points, each once, in whatever order."""
    wanted: list[ExtendedPointId] = []
    for identifier in dict.fromkeys(ids):
        # A number may be one of another tool's own ids.
        if identifier.isascii() and identifier.isdigit() and len(identifier) < 20:
            wanted.append(int(identifier))
        wanted.append(point_id(identifier))
    return lambda client: client.retrieve(collection, wanted, with_payload=True)


def scrolling(collection: str, *, condition: Any, offset: Any, limit: int) -> Call:
    """Return the call that reads points in the order of ids, and from where to go on."""
    return lambda client: client.scroll(
        collection, scroll_filter=condition, offset=offset, limit=limit, with_payload=True
    )


def counting(collection: str, condition: Any) -> Call:
    """Return the call that counts the points of a filter."""
    return lambda client: client.count(collection, count_filter=condition, exact=True)


def in_order(hits: Sequence[Hit], ids: Sequence[str]) -> list[Hit]:
    """Return `hits` in the order in which `ids` ask for them."""
    found = {hit.id: hit for hit in hits}
    wanted = dict.fromkeys(
        name for identifier in ids for name in (identifier, point_id(identifier))
    )
    return [found[name] for name in wanted if name in found]
