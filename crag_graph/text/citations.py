"""Checking the citation markers of an answer against the sources that it was given."""

import dataclasses
import unicodedata

import regex

from crag_graph.text.code import outside_code
from crag_graph.text.markdown import LINK_TEXT, TARGET, safe_markdown

__all__ = ["CheckedAnswer", "check_citations", "safe_markdown"]

_LABEL = (
    r"(?:(?i:sources?|refs?|references?|citations?|cites?|documents?|docs?|passages?|evidence|quellen?"
    r"|fuentes?|fonti|fonte|出典|来源|資料)\s*[:：.]?\s*)"
)
_NUMBER = r"[#^]?\s*\d{1,6}"
_RANGE = rf"{_NUMBER}(?:\s*(?:[-–—−~〜～]|\.\.|\bto\b)\s*{_NUMBER})?"
_BETWEEN = r"(?:\s*[,;&、，；]\s*(?:and\s+)?|\s+and\s+|\s+)"
_LIST = rf"{_LABEL}?{_RANGE}(?:{_BETWEEN}{_LABEL}?{_RANGE})*+"
# Square brackets of any width around numbers; round ones only with a word that says what they are,
# since (1) numbers steps. 【1†source】 is how some hosted models cite.
_MARKER = regex.compile(
    rf"(?<![ \t\u3000])(?P<space>[ \t\u3000]*+)(?<!\\)(?:"
    rf"\[\[\s*(?P<list>{_LIST})\s*\]\]"
    rf"|\[\s*(?P<list>{_LIST})\s*\](?P<target>{TARGET})?+"
    rf"|［\s*(?P<list>{_LIST})\s*］"
    rf"|【\s*(?P<list>{_LIST})\s*(?:†[^】\n]*+)?】"
    rf"|[(（]\s*(?P<list>{_LABEL}{_RANGE}(?:{_BETWEEN}{_LABEL}?{_RANGE})*+)\s*[)）]"
    rf")"
    # A link's text, and an image's, is not a citation.
    rf"|!?\[{LINK_TEXT}\]{TARGET}"
)
_SPAN = regex.compile(r"(\d+)(?:\D*?(?:[-–—−~〜～]|\.\.|to)\D*?(\d+))?")

# Stands where a marker was, until the space around it is mended: a noncharacter (Unicode 23.7),
# which no text has.
_REMOVED = "\ufdd0"
_LINE_START = regex.compile(rf"(?m)^{_REMOVED}+[ \t]*")


@dataclasses.dataclass(frozen=True, kw_only=True)
class CheckedAnswer:
    """An answer whose every marker names a source.

    Attributes:
        text: The answer; its markers are `[1]`, `[1][2]`, numbered from 1 by first mention.
        cited: The numbers that the sources were given under, in the order of first mention.
        removed: How many numbers named no source and were removed.
        numbers: The number that a source was given under → its number in `text`.
    """

    text: str
    cited: list[int]
    removed: int
    numbers: dict[int, int]


def check_citations(answer: str, *, count: int) -> CheckedAnswer:
    """Return `answer` with its markers checked against sources numbered 1 to `count`.

    Read are `[1]`, `[1, 2]`, `[1][2]`, `[1-3]`, `[^1]`, `[[1]]`, `[source 1]`, `(source 1)`,
    `【1】` and `［１］`, with digits of any script. Code and Markdown links stay as they are, but
    for links whose text is a marker. A range that reaches beyond the sources counts as one number
    removed.
    """
    numbers: dict[int, int] = {}
    removed = 0

    def renumber(match: regex.Match[str]) -> str:
        nonlocal removed
        inner = match["list"]
        if inner is None:
            return match[0]
        known, unknown = _read(inner, count)
        removed += unknown
        for number in known:
            numbers.setdefault(number, len(numbers) + 1)
        target = match["target"] or ""
        markers = "".join(f"[{numbers[number]}]{target}" for number in known)
        return match["space"] + markers if markers else _REMOVED

    def change(text: str) -> str:
        return _LINE_START.sub("", _MARKER.sub(renumber, text)).replace(_REMOVED, "")

    text = outside_code(answer.replace(_REMOVED, ""), change)
    return CheckedAnswer(text=text, cited=list(numbers), removed=removed, numbers=numbers)


def _read(inner: str, count: int) -> tuple[list[int], int]:
    """Return the sources that a marker names, each once, and how many others it names."""
    known: dict[int, None] = {}
    unknown = 0
    for match in _SPAN.finditer(unicodedata.normalize("NFKC", inner)):
        ends = sorted((int(match[1]), int(match[2] or match[1])))
        inside = range(max(1, ends[0]), min(count, ends[1]) + 1)
        known.update(dict.fromkeys(inside))
        unknown += len(inside) < ends[1] - ends[0] + 1
    return list(known), unknown
