"""A text whose own footnote marks and references do not read as citations of ours."""

import regex

from crag_graph.text.code import outside_code

_LIST = r"\^?\d{1,3}(?:\s?[,;–—-]\s?\d{1,3})*+"
_MARK = regex.compile(
    rf"(?P<space>\s?)(?P<mark>\[\^?(?P<number>\d{{1,3}})(?:\s?[,;–—-]\s?\d{{1,3}})*+\]"
    rf"(?:\[{_LIST}\])*+|［{_LIST}］|【{_LIST}】)(?!\()"
)
_ONE = regex.compile(rf"[\[［【]\^?({_LIST})[\]］】]")
# Of a link that leads elsewhere only the text is shown in the end.
_LINKED = regex.compile(rf"\[({_LIST})\]\(")
_OPENING = regex.compile(r"[\[［【]")
_WORD = regex.compile(r"[\p{L}\p{N}_]+$")
_IDENTIFIER = regex.compile(r"[a-z_]\w*", regex.A)
_ASSIGNED = regex.compile(r"\s?[-+*/|&]?=")
_PUNCTUATION = frozenset(".,;:!?…)\"'”’»。，；：！？）」")
_LONGEST_WORD = 60


def without_footnotes(text: str, *, around: str = "") -> str:
    """Return `text` without marks such as `[3]`; code and indices such as `x[3]` stay.

    A mark that touches the word or the sentence that it belongs to is left out. One that stands by
    itself may be a word of the sentence, as in `according to [3]`, and is put into round brackets:
    `(3)`. So is the text of a link. Lists such as `[3, 5]` are one mark; `[0, 1]` is an interval,
    and stays.

    A number in brackets behind a word is an index where it is 0, where a value is assigned to it,
    and where the word looks like an identifier, unless `around` has such marks behind different
    words or behind punctuation, as a text with footnotes has.

    Args:
        text: What is quoted.
        around: The text that it is from, or more of it.
    """
    if not _OPENING.search(text):
        return text
    footnoted: bool | None = None

    def strip(match: regex.Match[str]) -> str:
        nonlocal footnoted
        if match["number"] is None or match["space"] or match.start("mark") == 0:
            return _rounded(match)
        word = _before(match)
        if not word:
            if _is_open(match):
                return ""
            # Of an address, say, it is a part.
            return _rounded(match) if match.string[match.start("mark") - 1] == "(" else match[0]
        if match["number"] == "0" or _ASSIGNED.match(match.string, match.end()):
            return match[0]
        if footnoted is None:
            footnoted = _has_footnotes(around or text)
        return match[0] if _IDENTIFIER.fullmatch(word) and not footnoted else ""

    return outside_code(text, lambda piece: _LINKED.sub(r"[(\1)](", _MARK.sub(strip, piece)))


def _rounded(match: regex.Match[str]) -> str:
    """Return the mark in round brackets, or in those that are around it; an interval as it is."""
    if match["number"] == "0":
        return match[0]
    text, start, end = match.string, match.start("mark"), match.end()
    inside = text[max(0, start - 1) : start] == "(" and text[end : end + 1] == ")"
    numbers = [found[1] for found in _ONE.finditer(match["mark"])]
    told = ", ".join(number.removeprefix("^") for number in numbers)
    return match["space"] + (told if inside else f"({told})")


def _has_footnotes(text: str) -> bool:
    words = {
        word
        for match in _MARK.finditer(text)
        if (word := _before(match)) or (not match["space"] and _is_open(match))
    }
    return len(words) > 1 or words == {""}


def _is_open(match: regex.Match[str]) -> bool:
    """Return whether the mark stands at the beginning or behind the punctuation of a sentence."""
    start = match.start("mark")
    return start == 0 or match.string[start - 1] in _PUNCTUATION


def _before(match: regex.Match[str]) -> str:
    """Return the word that the mark stands behind; empty behind anything else."""
    start = match.start("mark")
    found = _WORD.search(match.string, max(0, start - _LONGEST_WORD), start)
    return found[0] if found else ""
