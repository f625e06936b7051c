"""A definite order where scores are equal: which of equal chunks is found must not be chance."""

import math
from array import array
from collections.abc import Iterable, Sequence

from crag_graph.retrieval.index import Scored

# Stores order equal scores at random, also at the end of a list. Reading a little deeper than asked
# shows nearly always where the last group of equals ends; copied boilerplate can make longer ones.
_MARGIN = 8
# The engine adds up the words of a question in an order that changes from search to search, so that
# the last bits of a score are chance (single precision has 24): what is nearer is equal.
_CLOSE = 2.0**-20
_DEEPEST = 1024


class TiedSearch:
    """A search that is repeated, deeper, until the last group of equal scores is complete.

    Groups of more than about 1,000 equals are cut at random all the same.

    Args:
        names: The lists that are searched for.
        limit: How many hits of each are wanted, from 1.

    Attributes:
        depth: How many hits of each to ask for next; None when the search is done.
    """

    def __init__(self, names: Iterable[str], *, limit: int) -> None:
        self._names = tuple(names)
        self._limit = limit
        self._found: dict[str, list[Scored]] = {}
        self.depth: int | None = limit + _MARGIN if self._names else None

    def take(self, lists: Sequence[Sequence[Scored]]) -> None:
        """Take the lists that the store gave, in the order of the names."""
        depth = self.depth or 0
        self._found = {
            name: _ordered(hits)[: self._limit]
            for name, hits in zip(self._names, lists, strict=True)
        }
        open_end = any(
            len(hits) >= depth and _equal(hits[-1].score, hits[self._limit - 1].score)
            for hits in lists
        )
        self.depth = None
        if open_end and depth < self._limit + _DEEPEST:
            self.depth = self._limit + min((depth - self._limit) * 8, _DEEPEST)

    def found(self, name: str | None) -> list[Scored]:
        """Return a list, at most `limit` long, best first, equal scores ordered by id.

        Scores are rounded to single precision, which is what stores compute in, and those that
        differ by no more than the rounding of their sums are made the same.
        """
        return [] if name is None else self._found.get(name, [])


def _ordered(hits: Sequence[Scored]) -> list[Scored]:
    singles = array("f", [hit.score for hit in hits])
    best_first = sorted(zip(singles, hits, strict=True), key=lambda pair: -pair[0])
    ordered: list[Scored] = []
    previous = level = math.inf
    for score, hit in best_first:
        if not _equal(score, previous):
            level = score
        previous = score
        ordered.append(Scored(id=hit.id, score=level))
    return sorted(ordered, key=lambda hit: (-hit.score, hit.id))


def _equal(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=_CLOSE)
