"""Checking the citation markers of an answer against the sources that it was given."""

import dataclasses
import re
import unicodedata
from collections.abc import Sequence

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

_OPENING = regex.compile(r"[\[［【(（]")
# A marker as we ask for it, where it can be nothing else.
_PLAIN = re.compile(r"(?:(?<=[\s.,;:!?)\"'])|(?<=\])|^)\[([1-9]\d{0,2})\]")
_ASSIGNED = regex.compile(r"\s?[-+*/|&]?=[^=]")
_BEFORE = regex.compile(r"[^\s\[\]]{1,40}+$")
_AFTER = regex.compile(r"\s?[\p{L}\p{N}_]{1,40}")
_NAME = regex.compile(r"[\p{L}\p{N}_]+$")
# Beyond any number that evidence is given under; years and standards begin here.
_IMPLAUSIBLE = 1000

# Stands where a marker was, until the space around it is mended: a noncharacter (Unicode 23.7),
# which no text has.
_REMOVED = "\ufdd0"
_LINE_START = regex.compile(rf"(?m)^{_REMOVED}+[ \t]*")


@dataclasses.dataclass(frozen=True, kw_only=True)
class CheckedAnswer:
    """An answer whose every marker names a source.

    Attributes:
        text: The answer; its markers are `[1]`, `[1][3]`, with the numbers that they were given.
        cited: The numbers of the sources that it cites, in the order of first mention.
        removed: How many numbers named no source and were removed.
    """

    text: str
    cited: list[int]
    removed: int


def check_citations(answer: str, *, count: int, quoted: Sequence[str] = ()) -> CheckedAnswer:
    """Return `answer` with its markers checked against sources numbered 1 to `count`.

    Read are `[1]`, `[1, 2]`, `[1][2]`, `[1-3]`, `[^1]`, `[[1]]`, `[source 1]`, `(source 1)`,
    `【1】` and `［１］`, with digits of any script. Code and Markdown links stay as they are, but
    for links whose text is a marker. A range that reaches beyond the sources counts as one number
    removed. Numbers in plain brackets that are no marker stay as well: a year or the number of a
    standard (1,000 and more), an index (`x[0]`, `x[3] = 1`), and what stands so in the sources:
    `x[3]` with its name, the number of another source with the word before or behind it.

    Args:
        answer: Text with markers.
        count: How many sources there are.
        quoted: Their texts.
    """
    plain = _plain(answer, count)
    if plain is not None:
        return CheckedAnswer(text=answer, cited=plain, removed=0)
    if not _OPENING.search(answer):
        return CheckedAnswer(text=answer.replace(_REMOVED, ""), cited=[], removed=0)
    check = _Check(count, quoted)
    text = outside_code(answer.replace(_REMOVED, ""), check.change)
    return CheckedAnswer(text=text, cited=list(check.cited), removed=check.removed)


def _plain(answer: str, count: int) -> list[int] | None:
    """Return the sources cited where every bracket is a plain marker of one of them, else None."""
    if not answer.isascii() or "(" in answer or "`" in answer or "~~~" in answer:
        return None
    markers = _PLAIN.findall(answer)
    numbers = [int(marker) for marker in markers]
    if len(markers) != answer.count("[") or max(numbers, default=0) > count:
        return None
    return list(dict.fromkeys(numbers))


class _Check:
    """What is found in one answer."""

    def __init__(self, count: int, quoted: Sequence[str]) -> None:
        self.cited: dict[int, None] = {}
        self.removed = 0
        self._count = count
        self._quoted = quoted
        self._sources: str | None = None

    def change(self, text: str) -> str:
        """Return `text` with its markers checked."""
        text = _MARKER.sub(self._checked, text)
        return _LINE_START.sub("", text).replace(_REMOVED, "") if _REMOVED in text else text

    def _checked(self, match: regex.Match[str]) -> str:
        inner = match["list"]
        if inner is None:
            return match[0]
        numbers = _numbers(inner)
        known, unknown = _known(numbers, self._count)
        if self._is_text(match, numbers, known):
            return match[0]
        self.removed += unknown
        self.cited.update(dict.fromkeys(known))
        target = match["target"] or ""
        markers = "".join(f"[{number}]{target}" for number in known)
        return match["space"] + markers if markers else _REMOVED

    def _is_text(
        self, match: regex.Match[str], numbers: Sequence[tuple[int, int]], known: Sequence[int]
    ) -> bool:
        """Return whether the bracket is part of what is said rather than a marker."""
        bracket = match[0][len(match["space"]) :]
        if bracket[0] != "[" or not bracket[1:2].isdigit() or match["target"]:
            return False
        if all(first >= _IMPLAUSIBLE for first, _ in numbers):
            return True
        string, start, end = match.string, match.start(), match.end()
        before = _BEFORE.search(string, max(0, start - 40), start)
        if not match["space"] and before and (name := _NAME.search(before[0])):
            if numbers[0][0] == 0 or _ASSIGNED.match(string, end):
                return True
            if self._stands(name[0] + bracket):
                return True
        if known:
            return False
        after = _AFTER.match(string, end)
        around = [before[0] + match[0]] if before else []
        around += [bracket + after[0]] if after else []
        return any(self._stands(piece) for piece in around or [bracket])

    def _stands(self, piece: str) -> bool:
        """Return whether `piece` stands so in a source, white space aside."""
        if self._sources is None:
            self._sources = " ".join(" ".join(self._quoted).split())
        return " ".join(piece.split()) in self._sources


def _numbers(inner: str) -> list[tuple[int, int]]:
    """Return what a marker names, as first and last numbers."""
    if inner.isascii() and inner.isdigit():
        return [(int(inner), int(inner))]
    found = _SPAN.finditer(unicodedata.normalize("NFKC", inner))
    spans = [(int(match[1]), int(match[2] or match[1])) for match in found]
    return [(min(span), max(span)) for span in spans]


def _known(numbers: Sequence[tuple[int, int]], count: int) -> tuple[list[int], int]:
    """Return the sources that are named, each once, and how many others are."""
    known: dict[int, None] = {}
    unknown = 0
    for first, last in numbers:
        inside = range(max(1, first), min(count, last) + 1)
        known.update(dict.fromkeys(inside))
        unknown += len(inside) < last - first + 1
    return list(known), unknown
