"""A definite order where scores are equal: which of equal chunks is found must not be chance."""

from array import array
from collections.abc import Sequence

from crag_graph.retrieval.index import Scored

# Stores order equal scores at random, also at the end of a list. Reading a little deeper than asked
# shows nearly always where the last group of equals ends; copied boilerplate can make longer ones.
_MARGIN = 8
_DEEPEST = 1024


def first_depth(limit: int) -> int:
    """Return how many hits to ask for when `limit` are wanted."""
    return limit + _MARGIN


def next_depth(lists: Sequence[Sequence[Scored]], *, limit: int, depth: int) -> int | None:
    """Return how many hits to ask for instead, or None when `depth` was deep enough.

    It was not where a list is full and its last score is still that of the `limit`-th hit. Groups
    of more than about 1,000 equals are cut at random all the same.
    """
    if depth >= limit + _DEEPEST:
        return None
    open_end = any(len(hits) >= depth and hits[-1].score == hits[limit - 1].score for hits in lists)
    return min(limit + (depth - limit) * 8, limit + _DEEPEST) if open_end else None


def best(hits: Sequence[Scored], *, limit: int) -> list[Scored]:
    """Return the first `limit` hits, best first, equal scores ordered by id.

    Scores are rounded to single precision, which is what stores compute in: one that sends decimals
    and one that hands over floats then agree to the last bit.
    """
    singles = array("f", [hit.score for hit in hits])
    rounded = [Scored(id=hit.id, score=score) for hit, score in zip(hits, singles, strict=True)]
    rounded.sort(key=lambda hit: (-hit.score, hit.id))
    return rounded[:limit]
