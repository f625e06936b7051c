"""Sentences with their offsets: by rule, without a model, in linear time whatever the text."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import regex

# The package's root gives type checkers no names, its native module does.
from sentencex.sentencex import get_sentence_boundaries

from crag_graph.text.blocks import BlockKind, find_blocks
from crag_graph.text.clean import grapheme_cut
from crag_graph.text.language import STOP_WORDS, detect_language

# sentencex takes time by the square of the length where text is not ASCII (71 s for 400,000 Han
# characters), so it is given no more than this many characters at once.
_WINDOW = 2000
_SURROGATE = regex.compile(r"[\ud800-\udfff]")
# Where a sentence that is too long is cut, best following.
_STOPS = regex.compile(r"[.!?…][\"'”’)\]]*(?=\s)|[。！？।॥؟۔]|\n")
_CLAUSES = regex.compile(r"[,;:|—–](?=\s)|[、，；：،؛]|[})\];](?=\S)")
_SPACES = regex.compile(r"\s")
# Abbreviations after which a number or a small letter goes on with the sentence, beside those that
# sentencex knows.
_ABBREVIATION = regex.compile(
    r"(?i)\b(?:nos?|nr|figs?|eqs?|secs?|ch|vol|art|pp?|tab|app|approx|cf|vs|ca|al|resp|incl|excl"
    r"|max|min|est|ext|refs?|eds?|abb|bzw)\.$"
)
_NUMBERING = regex.compile(r"\(?(?:\d{1,3}|\p{L})[.)]$")
_CLOSING_TAGS = regex.compile(r"(?:</[a-zA-Z][^<>]*>\s*)+")
_ENDS = re.compile(r"[.!?:;\n\r\v\f\x1c-\x1f]")
_LONE_STOP = regex.compile(r"(?:^|\s)\.$")


class Segment(NamedTuple):
    """A sentence, or what stands for one, and the block that it belongs to.

    Attributes:
        start: Offset of its first visible character.
        end: Offset behind its last visible character.
        kind: The kind of its block.
        block: The position of its block in the text.
    """

    start: int
    end: int
    kind: BlockKind
    block: int


def sentence_spans(text: str, *, max_chars: int = 600) -> list[tuple[int, int]]:
    """Return the offsets of the sentences of `text`: `text[start:end]` is one, trimmed.

    They ascend, do not overlap, and leave out white space alone. A list item, heading or table row
    ends a sentence; a fence of code stays together when it fits. What is longer than `max_chars` is
    cut after a sentence inside of quotes, else after a clause, at a space, or between two
    user-perceived characters.

    Raises:
        ValueError: `max_chars` is not at least 1.
    """
    return [(segment.start, segment.end) for segment in segments(text, max_chars=max_chars)]


def segments(text: str, *, max_chars: int = 600) -> list[Segment]:
    """Return the sentences of `text` as `sentence_spans` does, with the blocks they are from."""
    if max_chars < 1:
        raise ValueError(f"max_chars must be at least 1, not {max_chars}")
    if not text.isascii():
        text = _SURROGATE.sub("\ufffd", text)  # sentencex takes UTF-8; offsets stay
    language = ""
    found: list[Segment] = []
    for number, block in enumerate(find_blocks(text)):
        spans: Iterable[tuple[int, int]]
        if block.kind == "fence":
            spans = _paragraphs(text, block.start, block.end, max_chars)
        elif block.kind not in ("prose", "item"):
            spans = _capped(text, block.start, block.end, max_chars)
        elif block.end - block.start <= max_chars and _is_one(text[block.start : block.end]):
            spans = ((block.start, block.end),)
        else:
            language = language or detect_language(text)
            spans = _sentences(text, block.start, block.end, language, max_chars)
        for start, end in spans:
            trimmed = _trim(text, start, end)
            if trimmed is not None:
                found.append(Segment(*trimmed, block.kind, number))
    return found


def _trim(text: str, start: int, end: int) -> tuple[int, int] | None:
    piece = text[start:end]
    stripped = piece.strip()
    if not stripped:
        return None
    start += len(piece) - len(piece.lstrip())
    return start, start + len(stripped)


def _paragraphs(text: str, start: int, end: int, max_chars: int) -> Iterator[tuple[int, int]]:
    """Yield the code whole, else in pieces between blank lines, as many together as fit."""
    while end - start > max_chars:
        cut = text.rfind("\n\n", start + 1, start + max_chars)
        if cut < 0:
            cut = text.find("\n\n", start + max_chars, end)
            cut = end if cut < 0 else cut
            yield from _capped(text, start, cut, max_chars)
        else:
            yield start, cut
        start = cut
    if start < end:
        yield start, end


def _sentences(
    text: str, start: int, end: int, language: str, max_chars: int
) -> Iterator[tuple[int, int]]:
    sample = text[start : min(end, start + _WINDOW)]
    if not sample.isascii():
        own = detect_language(sample)
        language = own if own not in STOP_WORDS else language
    window = max(_WINDOW, 4 * max_chars)
    while start < end:
        stop = min(end, start + window)
        spans = [
            span
            for sentence in _boundaries(text, start, stop, language)
            for span in _capped(text, *sentence, max_chars)
        ]
        if stop < end:  # the last one may go on behind the window
            stop = spans.pop()[0]
        yield from spans
        start = stop


def _is_one(text: str) -> bool:
    """Return whether `text` surely is one sentence: what ends one is at its end alone."""
    return text.isascii() and not _ENDS.search(text.rstrip().rstrip(".!?"))


def _boundaries(text: str, start: int, end: int, language: str) -> Iterator[tuple[int, int]]:
    """Yield spans that follow on each other from `start` to `end`, a sentence each."""
    piece = text[start:end]
    begin = 0
    for boundary in get_sentence_boundaries(language, piece):
        cut = boundary["start_index"]
        if closing := _CLOSING_TAGS.match(piece, cut):
            cut = closing.end()
        if cut > begin and not _goes_on(piece[begin:cut], piece[cut : cut + 1]):
            yield start + begin, start + cut
            begin = cut
    yield start + begin, end


def _goes_on(sentence: str, following: str) -> bool:
    """Return whether what was cut off as a sentence ends in the middle of one."""
    stripped = sentence.rstrip()
    if not stripped or _NUMBERING.fullmatch(stripped.lstrip()):
        return True
    tail = stripped[-16:]
    if len(stripped) == len(sentence) and tail[-1] == ".":  # no space: .NET, ==1.*
        return not following.isalpha() or _LONE_STOP.search(tail) is not None
    if following.islower() and tail[-1] in "?!" and "\n" not in sentence[len(stripped) :]:
        return True
    return (following.islower() or following.isdigit()) and _ABBREVIATION.search(tail) is not None


def _capped(text: str, start: int, end: int, max_chars: int) -> Iterator[tuple[int, int]]:
    """Yield the span in pieces of at most `max_chars` characters."""
    while end - start > max_chars:
        cut = _cut(text, start, start + max_chars)
        yield start, cut
        start = cut
    yield start, end


def _cut(text: str, start: int, limit: int) -> int:
    """Return the best place to cut in the second half of `start`–`limit`, always behind `start`."""
    half = start + (limit - start) // 2
    for pattern in (_STOPS, _CLAUSES, _SPACES):
        ends = [match.end() for match in pattern.finditer(text, half, limit)]
        if ends:
            return ends[-1]
    length = limit - start
    cut = grapheme_cut(text[start : limit + 64], length)
    return start + (cut or length)
