"""The code in a Markdown text: found in linear time, and kept out of what is done to the rest."""

from collections import defaultdict
from collections.abc import Callable, Iterator

import regex

_FENCE = regex.compile(r"(?m)^[ ]{0,3}(?P<mark>`{3,}|~{3,})(?P<info>[^\n]*)$")
_TICKS = regex.compile(r"`+")
_PARAGRAPH_END = regex.compile(r"\n[ \t]*(?=\n)")
_PRIVATE_USE = range(0xE000, 0xF900)


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """Return `text` changed by `change`, its code blocks and inline code as they were.

    `change` sees each piece of code as a number between two private-use characters; where it drops
    one, the code is dropped.
    """
    if "`" not in text and "~~~" not in text:
        return change(text)
    mark = next((chr(code) for code in _PRIVATE_USE if chr(code) not in text), None)
    if mark is None:  # all 6,400 of them: not a text that anybody wrote
        return change(text)
    pieces: list[str] = []
    kept: list[str] = []
    position = 0
    for start, end in code_spans(text):
        pieces += [text[position:start], f"{mark}{len(kept)}{mark}"]
        kept.append(text[start:end])
        position = end
    changed = change("".join([*pieces, text[position:]]))
    return regex.sub(f"{mark}(\\d+){mark}", lambda match: kept[int(match[1])], changed)


def code_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of fenced blocks and of inline code, ascending, as CommonMark reads them.

    A fence closes with at least as many marks as it opened with (4.5), and runs to the end when it
    does not; inline code closes with exactly as many, within its paragraph (6.1).
    """
    position = 0
    for start, end in _fences(text):
        yield from _inline(text, position, start)
        yield start, end
        position = end
    yield from _inline(text, position, len(text))


def _fences(text: str) -> Iterator[tuple[int, int]]:
    start, mark = -1, ""
    for match in _FENCE.finditer(text):
        if start < 0:
            if match["mark"][0] == "~" or "`" not in match["info"]:
                start, mark = match.start(), match["mark"]
        elif match["mark"].startswith(mark) and not match["info"].strip():
            yield start, match.end()
            start = -1
    if start >= 0:
        yield start, len(text)


def _inline(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    breaks = [match.start() for match in _PARAGRAPH_END.finditer(text, start, end)]
    for paragraph_end in [*breaks, end]:
        yield from _inline_in_paragraph(text, start, paragraph_end)
        start = paragraph_end


def _inline_in_paragraph(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    runs = [match.span() for match in _TICKS.finditer(text, start, end)]
    by_length: defaultdict[int, list[int]] = defaultdict(list)
    for index in reversed(range(len(runs))):
        by_length[runs[index][1] - runs[index][0]].append(index)
    index = 0
    while index < len(runs):
        opening, opening_end = runs[index]
        # A backslash takes the first mark away from what opens; what closes has no such escape.
        before = text[max(start, opening - 64) : opening]
        opening += (len(before) - len(before.rstrip("\\"))) % 2
        closers = by_length.get(opening_end - opening, [])
        while closers and closers[-1] <= index:
            closers.pop()
        if opening < opening_end and closers:
            index = closers[-1]
            yield opening, runs[index][1]
        index += 1
