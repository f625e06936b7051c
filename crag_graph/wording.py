"""Counts in the sentences that people read."""


def counted(number: int, one: str, many: str = "") -> str:
    """Return `number` with what is counted: `1 strip`, `0 strips`, `1,200 strips`.

    Args:
        number: How many.
        one: The word for one of them.
        many: The word for any other number; by default `one` with an s.
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"
