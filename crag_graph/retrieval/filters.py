"""Payload filters: checked once, then said in the words of either store."""

import dataclasses
import math
import re
from collections.abc import Sequence
from typing import Any, Literal, Protocol

from crag_graph.errors import InputError
from crag_graph.retrieval.index import Filter
from crag_graph.state import plain

IndexKind = Literal["keyword", "integer", "float", "bool"]
Scalar = str | int | float | bool | None

_PLAIN_SEGMENT = re.compile(r"[\w-]+(?:\[\d*\])*")


@dataclasses.dataclass(frozen=True)
class Clause:
    """One field of a filter, and the values of which it must have one.

    Attributes:
        key: The field as a JSON path of the store.
        values: Finite; none at all matches nothing.
    """

    key: str
    values: tuple[Scalar, ...]

    @property
    def kind(self) -> IndexKind | None:
        """What kind of payload index serves the clause; None where none does."""
        kinds: dict[type, IndexKind] = {
            str: "keyword",
            bool: "bool",
            int: "integer",
            float: "float",
        }
        return next((kinds[type(value)] for value in self.values if value is not None), None)


def clauses(where: Filter | None) -> list[Clause]:
    """Return the clauses of a filter, all of which must hold.

    Raises:
        InputError: A field name is not one, or a value is not a str, int, float, bool, None or a
            list of these.
    """
    return [Clause(_path(key), _values(key, value)) for key, value in (where or {}).items()]


def _path(key: object) -> str:
    segments = key.split(".") if isinstance(key, str) else [""]
    if not all(segments) or any('"' in segment for segment in segments):
        raise InputError(f"filter: {key!r} is not the name of a metadata field")
    return ".".join(
        segment if _PLAIN_SEGMENT.fullmatch(segment) else f'"{segment}"' for segment in segments
    )


def _values(key: object, value: Any) -> tuple[Scalar, ...]:
    given = value if isinstance(value, list | tuple | set | frozenset) else [value]
    values = []
    for item in given:
        clean = item if isinstance(item, float) else plain(item)
        finite = not isinstance(clean, float) or math.isfinite(clean)
        if not finite or not isinstance(clean, str | int | float | bool | None):
            raise InputError(
                f"filter: {key!r} cannot be {item!r}: write a text, a number, true, false, null, "
                "or a list of these"
            )
        values.append(clean)
    return tuple(values)


class Dialect(Protocol):
    """How a store says conditions."""

    def equals(self, key: str, value: str | int) -> Any:
        """Return the condition that the field, or one of its items, has this value."""
        ...

    def is_number(self, key: str, value: float) -> Any:
        """Return the condition that the field has this value as a number."""
        ...

    def one_of(self, key: str, values: list[str]) -> Any:
        """Return the condition that the field has one of these texts."""
        ...

    def is_empty(self, key: str) -> Any:
        """Return the condition that the field is missing, null or an empty list."""
        ...

    def nothing(self) -> Any:
        """Return the condition that no point fulfils."""
        ...

    def combine(self, *, must: list[Any], should: list[Any], must_not: list[Any]) -> Any:
        """Return a filter."""
        ...


def say(must: Sequence[Clause], dialect: Dialect, *, must_not: Sequence[Clause] = ()) -> Any:
    """Return the filter that clauses make in the words of a store; None where there are none."""
    if not must and not must_not:
        return None
    return dialect.combine(
        must=[_condition(clause, dialect) for clause in must],
        should=[],
        must_not=[_condition(clause, dialect) for clause in must_not],
    )


def _condition(clause: Clause, dialect: Dialect) -> Any:
    if not clause.values:
        return dialect.nothing()
    texts = [value for value in clause.values if isinstance(value, str)]
    if len(texts) > 1 and len(texts) == len(clause.values):
        return dialect.one_of(clause.key, texts)
    conditions = [_single(clause.key, value, dialect) for value in clause.values]
    if len(conditions) == 1:
        return conditions[0]
    return dialect.combine(must=[], should=conditions, must_not=[])


def _single(key: str, value: Scalar, dialect: Dialect) -> Any:
    if value is None:
        return dialect.is_empty(key)
    return dialect.is_number(key, value) if isinstance(value, float) else dialect.equals(key, value)
