"""What a label says: words, 0/1, grades and actions as one of three classes."""

import dataclasses
import math
from collections.abc import Collection
from typing import Any, Literal, get_args

from crag_graph.state import Action

LabelScale = Literal["auto", "binary", "unit", "0-2", "0-3", "1-5", "signed"]
LABEL_SCALES: tuple[str, ...] = get_args(LabelScale)

# (correct from here, incorrect down to here); what lies between is ambiguous.
_CUTS: dict[LabelScale, tuple[float, float]] = {
    "binary": (1, 0),
    "unit": (2 / 3, 1 / 3),
    "0-2": (2, 0),
    "0-3": (2, 0),  # the cut of TREC Deep Learning: 2 is highly relevant, 1 only related
    "1-5": (4, 2),  # as the profile five_point
    "signed": (1 / 3, -1 / 3),
}
_BOUNDS: dict[LabelScale, tuple[float, float]] = {
    "binary": (0, 1), "unit": (0, 1), "0-2": (0, 2), "0-3": (0, 3), "1-5": (1, 5),
    "signed": (-1, 1),
}  # fmt: skip
_WORDS: dict[Action, tuple[str, ...]] = {
    "correct": (
        "correct", "relevant", "highly relevant", "fully relevant", "perfectly relevant", "perfect",
        "yes", "y", "true", "t", "good", "positive", "answerable", "answer", "supported", "ja",
    ),
    "ambiguous": (
        "ambiguous", "partial", "partially relevant", "partly relevant", "somewhat relevant",
        "partially correct", "partly", "partially", "related", "maybe", "unclear", "unsure",
        "marginal", "both",
    ),
    "incorrect": (
        "incorrect", "irrelevant", "not relevant", "non relevant", "nonrelevant", "unrelated", "no",
        "n", "false", "f", "bad", "wrong", "negative", "unanswerable", "not answerable", "refuse",
        "unsupported", "none", "nein",
    ),
}  # fmt: skip
_BY_WORD: dict[str, Action] = {word: action for action, words in _WORDS.items() for word in words}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Meaning:
    """How the labels of a file are read."""

    scale: LabelScale
    three_way: bool


def as_number(value: Any) -> float | None:
    """Return a label as a number, with a point or a comma in it; None where it is none."""
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, int | float):
        return float(value) if math.isfinite(value) else None
    try:
        number = float(str(value).strip().replace(",", "."))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def detect_scale(numbers: Collection[float]) -> LabelScale:
    """Return the scale that the numeric labels of a file are on.

    Raises:
        ValueError: It cannot be told; the message says between which.
    """
    if not numbers:
        return "binary"
    low, high = min(numbers), max(numbers)
    whole = all(number == int(number) for number in numbers)
    if low < -1 or high > 5:
        raise ValueError(f"labels from {low:g} to {high:g} are on no known scale")
    if low < 0:
        if high <= 1:
            return "signed"
        raise ValueError(f"labels from {low:g} to {high:g} are on no known scale")
    if high <= 1:
        return "binary" if whole else "unit"
    if low == 0:
        if high <= 3:
            return "0-2" if high <= 2 else "0-3"
        raise ValueError(f"labels from 0 to {high:g} are on no known scale")
    if high > 3:
        return "1-5"
    raise ValueError(
        f"labels from {low:g} to {high:g} could be grades 0-3 or 1-5; say which with --label-scale"
    )


def as_class(value: Any, scale: LabelScale) -> Action:
    """Return the class that a label stands for.

    Words mean what they say on every scale; 0 and 1 beside words are no and yes.

    Raises:
        ValueError: It is neither a number on the scale nor a known word.
    """
    number = as_number(value)
    if number is None:
        word = " ".join(str(value).replace("_", " ").replace("-", " ").lower().split())
        if word in _BY_WORD:
            return _BY_WORD[word]
        raise ValueError(
            f"the label {str(value)[:40]!r} is neither a number nor a word such as correct, "
            "ambiguous, incorrect, relevant, irrelevant, yes or no"
        )
    low, high = _BOUNDS[scale]
    if not low <= number <= high:
        raise ValueError(f"the label {number:g} is not between {low:g} and {high:g} ({scale})")
    upper, lower = _CUTS[scale]
    if number >= upper:
        return "correct"
    return "incorrect" if number <= lower else "ambiguous"
