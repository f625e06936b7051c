"""The blocks of a text in Markdown or plain form, found line by line, in linear time."""

import re
from typing import Literal, NamedTuple

BlockKind = Literal["prose", "heading", "item", "head", "row", "fence"]

_FENCE = re.compile(r"[ \t]{0,3}(?P<mark>`{3,}|~{3,})(?P<info>[^`]*)$")
# A heading says something: a line of marks is the border of a comment.
_HEADING = re.compile(r"[ ]{0,3}#{1,6}\s[\W_]*[^\W_]")
_UNDERLINE = re.compile(r"[ ]{0,3}(?:={3,}|-{3,})\s*$")
_BULLET = re.compile(r"\s*[-*+•‣◦▪·]\s+\S")
_ORDERED = re.compile(r"\s*\(?(?P<number>\d{1,3}|[a-z])[.)]\s+\S")
_PAIR = re.compile(r"\s*[\w./()-]+(?: [\w./()-]+){0,3}:(?:\s|$)")
# A line longer than any at which text is wrapped by hand is a paragraph of its own.
_WRAPPED = 120


class Block(NamedTuple):
    """A run of lines that belong together.

    Attributes:
        start: Offset of its first line.
        end: Offset behind its last line, without the line end.
        kind: `prose`, `heading`, `item` (of a list, or one `key: value` line), `head` (a table's
            header row with the row of dashes), `row` (of a table), `fence` (of code).
    """

    start: int
    end: int
    kind: BlockKind


class _Line(NamedTuple):
    start: int
    end: int
    text: str

    @property
    def blank(self) -> bool:
        return not self.text or self.text.isspace()


def find_blocks(text: str) -> list[Block]:
    """Return the blocks of `text`, ascending, none overlapping, together all of its visible text.

    Blocks end at blank lines, and before headings, list items, table rows, fences of code and
    `key: value` lines in a row. A heading with an underline includes it. A fence that is never
    closed reaches to the end when it names its language, and is an ordinary line when it does not
    (the end of a fence whose beginning is in another chunk).
    """
    lines = _lines(text)
    blocks: list[Block] = []
    position = 0
    while position < len(lines):
        line = lines[position]
        if line.blank:
            position += 1
            continue
        kind, last = _block(lines, position, blocks)
        blocks.append(Block(line.start, lines[last].end, kind))
        position = last + 1
    return blocks


def _lines(text: str) -> list[_Line]:
    lines: list[_Line] = []
    start = 0
    for raw in text.splitlines(keepends=True):
        content = raw.rstrip("\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029")
        lines.append(_Line(start, start + len(content), content))
        start += len(raw)
    return lines


def _fence_end(lines: list[_Line], position: int) -> int | None:
    """Return the index of the line that ends the fence which starts at `position`, if one does."""
    opening = _FENCE.match(lines[position].text)
    if opening is None:
        return None
    mark = opening["mark"]
    for index in range(position + 1, len(lines)):
        stripped = lines[index].text.strip()
        if len(stripped) >= len(mark) and stripped == mark[0] * len(stripped):
            return index
    return len(lines) - 1 if opening["info"].strip() else None


def _block(lines: list[_Line], position: int, before: list[Block]) -> tuple[BlockKind, int]:
    """Return the kind of the block that starts at `position`, and the index of its last line."""
    line = lines[position]
    marked = not line.text[0].isalpha()  # a fence and a heading begin with a mark
    closing = _fence_end(lines, position) if marked else None
    if closing is not None:
        return "fence", closing
    following = lines[position + 1] if position + 1 < len(lines) else None
    if marked and _HEADING.match(line.text):
        return "heading", position
    if following is not None and "|" in line.text and _delimits(following.text):
        return "head", position + 1
    if _is_row(lines, position, before):
        return "row", position
    kind: BlockKind = "item" if _starts_item(lines, position) else "prose"
    last = position
    while last + 1 < len(lines) and not _breaks(lines, last + 1):
        last += 1
        if _UNDERLINE.match(lines[last].text) and _is_title(lines[last - 1].text):
            # Only the line over the underline is the heading; what is before it is not.
            return ("heading", last) if last - 1 == position else (kind, last - 2)
    return kind, last


def _is_title(text: str) -> bool:
    """Return whether the line may be a heading rather than a paragraph above a ruled line."""
    return (
        len(text) <= _WRAPPED
        and not text.rstrip().endswith((".", "。"))
        and any(map(str.isalnum, text))
    )


def _delimits(text: str) -> bool:
    """Return whether the line is the row of dashes under a table's header."""
    return "|" in text and "-" in text and not text.strip("|-: \t")


def _is_row(lines: list[_Line], position: int, before: list[Block]) -> bool:
    stripped = lines[position].text.strip()
    if stripped.startswith("|") and stripped.count("|") > 1:
        return True
    in_table = (
        bool(before)
        and before[-1].kind in ("head", "row")
        and before[-1].end == lines[position - 1].end
    )
    return in_table and "|" in stripped


def _starts_item(lines: list[_Line], position: int) -> bool:
    text = lines[position].text
    if text[0].isalpha() and text[1:2] not in (".", ")"):  # neither a bullet nor a number
        return _is_pair(lines, position)
    return (
        _BULLET.match(text) is not None
        or _ORDERED.match(text) is not None
        or _is_pair(lines, position)
    )


def _is_pair(lines: list[_Line], position: int) -> bool:
    """Return whether the line is one of several `key: value` lines in a row."""
    if ":" not in lines[position].text or len(lines) == 1:
        return False
    if _PAIR.match(lines[position].text) is None:
        return False
    around = lines[max(0, position - 1) : position] + lines[position + 1 : position + 2]
    return any(_PAIR.match(line.text) for line in around)


def _breaks(lines: list[_Line], position: int) -> bool:
    """Return whether the line at `position` cannot go on with the block of the line before it."""
    line, previous = lines[position], lines[position - 1]
    if line.blank or len(previous.text) > _WRAPPED:
        return True
    if _HEADING.match(line.text) or _FENCE.match(line.text) or _BULLET.match(line.text):
        return True
    if line.text.lstrip().startswith("|") or _is_pair(lines, position):
        return True
    if position + 1 < len(lines) and "|" in line.text and _delimits(lines[position + 1].text):
        return True
    ordered = _ORDERED.match(line.text)
    # Only a list that starts at 1, or goes on, may interrupt a paragraph (CommonMark 5.3): a
    # wrapped line can begin with a number and a full stop.
    return ordered is not None and (
        ordered["number"] in ("1", "a") or _ORDERED.match(previous.text) is not None
    )
