"""A definite order where scores are equal: which of equal chunks is found must not be chance."""

from array import array
from collections.abc import Iterable, Sequence

from crag_graph.retrieval.index import Scored

# Stores order equal scores at random, also at the end of a list. Reading a little deeper than asked
# shows nearly always where the last group of equals ends; copied boilerplate can make longer ones.
_MARGIN = 8
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
            len(hits) >= depth and hits[-1].score == hits[self._limit - 1].score for hits in lists
        )
        self.depth = None
        if open_end and depth < self._limit + _DEEPEST:
            self.depth = self._limit + min((depth - self._limit) * 8, _DEEPEST)

    def found(self, name: str | None) -> list[Scored]:
        """Return a list, at most `limit` long, best first, equal scores ordered by id.

        Scores are rounded to single precision, which is what stores compute in: one that sends
        decimals and one that hands over floats then agree to the last bit.
        """
        return [] if name is None else self._found.get(name, [])


def _ordered(hits: Sequence[Scored]) -> list[Scored]:
    singles = array("f", [hit.score for hit in hits])
    rounded = [Scored(id=hit.id, score=score) for hit, score in zip(hits, singles, strict=True)]
    return sorted(rounded, key=lambda hit: (-hit.score, hit.id))
