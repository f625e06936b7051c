"""A text without its own footnote marks, which would read as citations of ours."""

import regex

from crag_graph.text.code import outside_code

_MARK = regex.compile(r"(?P<space>\s?)(?P<mark>\[(?P<number>\d{1,3})\](?:\[\d{1,3}\])*+)(?!\()")
_WORD = regex.compile(r"[\p{L}\p{N}_]+$")
_IDENTIFIER = regex.compile(r"[a-z_]\w*", regex.A)
_ASSIGNED = regex.compile(r"\s?[-+*/|&]?=")
_PUNCTUATION = frozenset(".,;:!?…)\"'”’»。，；：！？）」")
_LONGEST_WORD = 60


def without_footnotes(text: str, *, around: str = "") -> str:
    """Return `text` without marks such as `[3]`; code and indices such as `x[3]` stay.

    A number in brackets behind a word is an index where it is 0, where a value is assigned to it,
    and where the word looks like an identifier, unless `around` has such marks behind different
    words or behind punctuation, as a text with footnotes has.

    Args:
        text: What is quoted.
        around: The text that it is from, or more of it.
    """
    if "[" not in text:
        return text
    footnoted: bool | None = None

    def strip(match: regex.Match[str]) -> str:
        nonlocal footnoted
        word = _before(match)
        if not word:
            return "" if match["space"] or _is_open(match) else match[0]
        if match["number"] == "0" or _ASSIGNED.match(match.string, match.end()):
            return match[0]
        if footnoted is None:
            footnoted = _has_footnotes(around or text)
        return match[0] if _IDENTIFIER.fullmatch(word) and not footnoted else ""

    return outside_code(text, lambda piece: _MARK.sub(strip, piece))


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
