"""Reading one score in whatever form a model gives it; what is not clearly a score is unknown.

The rules, in this order:

1. `true`, `false`, `null`, NaN and infinities are unknown; numbers are taken as they are.
2. A text's statement of the scale ("on a scale of 1 to 5") is not a score and is left out.
3. "4/5", "4 out of 5" and "4 of 5" are 4 where 5 is the top of the scale; with another denominator
   they are unknown ("8 out of 10" is neither 10 nor 4), except on 0–1, where the fraction counts.
4. Else a number after a word such as "score", "rating" or "gets a".
5. Else a text that is only a number, or that begins with one and goes on after a full stop, colon,
   dash or bracket: "1. (Not relevant at all.)". A number amid prose is never taken.
6. Two different scores in one text are unknown.
7. A score off the scale is unknown, whatever digits it is made of.
8. Scores between two marks are kept as they are: 4.5 on 1–5 is 4.5, rounded neither up nor down.
"""

import math

import regex

from crag_graph.settings import Scale

_LIMITS: dict[Scale, tuple[float, float]] = {
    "unit": (0.0, 1.0),
    "five_point": (1.0, 5.0),
    "signed": (-1.0, 1.0),
}
_RANGE = r"(?:to|or|[-–—])"
_NUMBER = (
    r"(?<![\w.,])([+\-−–]?(?:\d+(?:[.,]\d+)?|\.\d+)(?:[eE][+-]?\d+)?)(?![\w]|[.,]\d)"
    rf"(?!\s*{_RANGE}\s*\d)"  # "3-4" is a range, not a score
)
_SCALE = regex.compile(
    r"\(?\b(?:on|in|from|using|with|of)?\s*(?:a|the|our)?\s*(?:scale|range)\s*(?:of|from|is|:)?\s*"
    r"-?\d+(?:\.\d+)?\s*(?:to|through|and|-|–|—|\.\.+|…)\s*-?\d+(?:\.\d+)?\)?,?"
    r"|\(\s*-?\d+(?:\.\d+)?\s*(?:to|-|–|—|\.\.+|…)\s*-?\d+(?:\.\d+)?\s*(?:scale)?\s*\)"
    r"|\b\d+\s*[-–]\s*\d+\s+scale\b",
    regex.I,
)
_FRACTION = regex.compile(rf"{_NUMBER}\s*(?:/|out\s+of|\bof\b)\s*(?:a\s+)?(\d+(?:\.\d+)?)", regex.I)
_KEYED = regex.compile(
    r"\b(?:scores?|rat(?:ing|ed|e)|grades?d?|relevan(?:ce|cy)|marks?|gets?|gives?|deserves?|"
    r"assign(?:ed|s)?|worth)\b['\"”]?(?:\s|[:=→>]|[-–—]+(?=[\s>])|\b(?:is|are|was|be|it|this|that|"
    r"the|passage|document|score|at|as|of|an?|only|just)\b)*['\"“]?"
    rf"{_NUMBER}",
    regex.I,
)
_BARE = regex.compile(rf"\W*?{_NUMBER}(?:\s*[.:;)\]\-–—(].*|\W*)", regex.S)
_EMPHASIS = regex.compile(r"[*_`#]+")
_COUNTED = regex.compile(
    r"\s+(?!out\b|of\b|and\b|or\b|for\b|because\b|since\b|as\b|points?\b)\w{3,}"
)
_LONGEST = 2000


def read_score(value: object, scale: Scale) -> float | None:
    """Return the score that `value` stands for, on `scale`, or None where it is not known."""
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return _within(float(value), scale)
    if isinstance(value, str):
        return _read_text(value[:_LONGEST], scale)
    return None


def without_scale(text: str) -> str:
    """Return `text` without statements of the scale, such as "on a scale of 1 to 5"."""
    return _SCALE.sub(" ", text)


def _read_text(text: str, scale: Scale) -> float | None:
    text = without_scale(_EMPHASIS.sub("", text)).strip()
    if fractions := _FRACTION.findall(text):
        return _only({_fraction(_number(a), float(b), scale) for a, b in fractions}, scale)
    if keyed := [match for match in _KEYED.finditer(text) if not _counts(text, match.end())]:
        return _only({_number(match[1]) for match in keyed}, scale)
    match = _BARE.fullmatch(text)
    return _within(_number(match[1]), scale) if match else None


def _counts(text: str, end: int) -> bool:
    """Return whether the number that ends here counts things: "gives 3 reasons"."""
    return _COUNTED.match(text, end) is not None


def _fraction(score: float, top: float, scale: Scale) -> float | None:
    if top == _LIMITS[scale][1]:
        return score
    if scale == "unit" and top > 0 and 0 <= score <= top:
        return score / top
    return None


def _only(found: set[float | None], scale: Scale) -> float | None:
    value = found.pop() if len(found) == 1 else None
    return None if value is None else _within(value, scale)


def _number(digits: str) -> float:
    return float(digits.replace(",", ".").replace("−", "-").replace("–", "-"))


def _within(value: float, scale: Scale) -> float | None:
    low, high = _LIMITS[scale]
    return value if math.isfinite(value) and low <= value <= high else None
