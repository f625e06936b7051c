"""Counts and lists in the sentences that people read."""

from collections.abc import Iterable

_LONGEST_NAME = 40


def counted(number: int, one: str, many: str = "") -> str:
    """Return `number` with what is counted: `1 strip`, `0 strips`, `1,200 strips`.

    Args:
        number: How many.
        one: The word for one of them.
        many: The word for any other number; by default `one` with an s.
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def named(names: Iterable[object], most: int = 8) -> str:
    """Return names one behind the other, `none` where there are none.

    Args:
        names: The names; long ones are cut, since they may be the rows of a file without a header.
        most: How many are told; of the others it is said how many they are.
    """
    words = [" ".join(str(name).split()) or "(without a name)" for name in names]
    shown = [word if len(word) <= _LONGEST_NAME else f"{word[:_LONGEST_NAME]}…" for word in words]
    rest = len(shown) - most
    return ", ".join(shown[:most]) + (f" and {rest:,} more" if rest > 0 else "") or "none"
