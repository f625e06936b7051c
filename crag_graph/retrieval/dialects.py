"""The words in which either store is told a filter."""

from typing import Any


class EdgeDialect:
    """The conditions of the embedded engine."""

    def equals(self, key: str, value: str | int) -> Any:
        """Return a match. The engine reads a Python bool as 0 or 1, numpy's as what it is."""
        import numpy as np
        from qdrant_edge import FieldCondition, MatchValue

        sound: Any = np.bool_(value) if isinstance(value, bool) else value
        return FieldCondition(key=key, match=MatchValue(sound))

    def is_number(self, key: str, value: float) -> Any:
        """Return a range of one number: there is no match of floats."""
        from qdrant_edge import FieldCondition, RangeFloat

        return FieldCondition(key=key, range=RangeFloat(gte=value, lte=value))

    def one_of(self, key: str, values: list[str]) -> Any:
        """Return a match of any."""
        from qdrant_edge import FieldCondition, MatchAny

        return FieldCondition(key=key, match=MatchAny(values))

    def is_empty(self, key: str) -> Any:
        """Return the engine's own condition."""
        from qdrant_edge import IsEmptyCondition

        return IsEmptyCondition(key)

    def nothing(self) -> Any:
        """Return that the id is among none."""
        from qdrant_edge import HasIdCondition

        return HasIdCondition(set())

    def combine(self, *, must: list[Any], should: list[Any], must_not: list[Any]) -> Any:
        """Return a filter; an absent list is not an empty one."""
        from qdrant_edge import Filter as EdgeFilter

        return EdgeFilter(must=must or None, should=should or None, must_not=must_not or None)


class ServerDialect:
    """The conditions of a server."""

    def equals(self, key: str, value: str | int) -> Any:
        """Return a match."""
        from qdrant_client import models

        return models.FieldCondition(key=key, match=models.MatchValue(value=value))

    def is_number(self, key: str, value: float) -> Any:
        """Return a range of one number: there is no match of floats."""
        from qdrant_client import models

        return models.FieldCondition(key=key, range=models.Range(gte=value, lte=value))

    def one_of(self, key: str, values: list[str]) -> Any:
        """Return a match of any."""
        from qdrant_client import models

        return models.FieldCondition(key=key, match=models.MatchAny(any=values))

    def is_empty(self, key: str) -> Any:
        """Return the server's own condition."""
        from qdrant_client import models

        return models.IsEmptyCondition(is_empty=models.PayloadField(key=key))

    def nothing(self) -> Any:
        """Return that the id is among none."""
        from qdrant_client import models

        return models.HasIdCondition(has_id=[])

    def combine(self, *, must: list[Any], should: list[Any], must_not: list[Any]) -> Any:
        """Return a filter; an absent list is not an empty one."""
        from qdrant_client import models

        return models.Filter(must=must or None, should=should or None, must_not=must_not or None)
