"""Recomposing kept strips, and giving a strip the context that its offsets leave out."""

import bisect
import dataclasses
import functools
from collections.abc import Sequence

from crag_graph.state import Strip
from crag_graph.text.blocks import find_blocks

GAP = " … "
# The widest white space between two strips that follow on each other, when the text is not at hand.
_WIDEST = 6
_LINE_STARTS = ("|", "- ", "* ", "```", "#")


@dataclasses.dataclass(frozen=True, slots=True)
class _Heading:
    start: int
    level: int
    title: str
    parent: int | None


@dataclasses.dataclass(frozen=True, slots=True)
class _Table:
    start: int
    header_end: int
    end: int


@dataclasses.dataclass(frozen=True, slots=True)
class _Outline:
    headings: tuple[_Heading, ...]
    tables: tuple[_Table, ...]


def strip_context(document_text: str, strip: Strip) -> str:
    """Return what a reader of `strip` must know beside it: its headings and its table's header.

    The headings above it are one line, outermost first, joined by ` > `; the header row of the
    table that it is a row of is the next. What the strip itself holds is not repeated. Empty when
    there is neither.
    """
    outline = _outline(document_text)
    if not outline.headings and not outline.tables:
        return ""
    lines = [" > ".join(_path(outline.headings, strip["start"]))]
    table = _table_around(outline.tables, strip)
    if table is not None:
        lines.append(document_text[table.start : table.header_end].splitlines()[0].strip())
    return "\n".join(line for line in lines if line)


def _path(headings: Sequence[_Heading], start: int) -> list[str]:
    """Return the titles over what starts at `start`; a heading is not over itself."""
    position = bisect.bisect_left(headings, start, key=lambda heading: heading.start)
    here = position < len(headings) and headings[position].start == start
    above = headings[position].parent if here else position - 1 if position else None
    path: list[str] = []
    while above is not None:
        path.append(headings[above].title)
        above = headings[above].parent
    return [title for title in reversed(path) if title]


def recompose(strips: Sequence[Strip], *, text: str | None = None) -> str:
    """Return the kept strips of one document as one text, in the order of the document.

    Strips that follow on each other are joined as in the document, others by ` … `.

    Args:
        strips: All strips of the document, or the kept ones.
        text: The document's text, where it is at hand: white space is then exactly its own, and
            table rows whose header is not among the kept strips get it back before them.
    """
    tables = () if text is None else _outline(text).tables
    if not tables and len(strips) == 1:
        return strips[0]["text"] if strips[0]["kept"] else ""
    parts: list[str] = []
    headed: set[_Table] = set()
    previous: Strip | None = None
    passed_over = False
    for strip in sorted(strips, key=lambda strip: strip["start"]):
        if not strip["kept"]:
            passed_over = True
            continue
        if previous is not None:
            parts.append(_between(previous, strip, text, passed_over=passed_over))
        table = _table_around(tables, strip)
        if text is not None and table is not None and table not in headed:
            headed.add(table)
            parts.append(text[table.start : table.header_end].strip() + "\n")
        headed.update(_tables_within(tables, strip))
        parts.append(strip["text"])
        previous, passed_over = strip, False
    return "".join(parts)


def _between(previous: Strip, strip: Strip, text: str | None, *, passed_over: bool) -> str:
    start, end = previous["end"], strip["start"]
    own_line = strip["text"].startswith(_LINE_STARTS)
    between = " " * (end - start) if text is None else text[start:end]
    if passed_over or between.strip() or (text is None and end - start > _WIDEST):
        return GAP + "\n" if own_line else GAP
    if text is not None or end <= start:
        return between
    if end - start == 1:
        return "\n" if own_line else " "
    return "\n\n"


def _table_around(tables: Sequence[_Table], strip: Strip) -> _Table | None:
    """Return the table that `strip` is inside of, beneath its header."""
    position = bisect.bisect_right(tables, strip["start"], key=lambda table: table.start) - 1
    if position < 0:
        return None
    table = tables[position]
    return table if table.header_end <= strip["start"] < table.end else None


def _tables_within(tables: Sequence[_Table], strip: Strip) -> Sequence[_Table]:
    """Return the tables whose header `strip` holds."""
    first = bisect.bisect_left(tables, strip["start"], key=lambda table: table.start)
    last = bisect.bisect_right(tables, strip["end"], key=lambda table: table.header_end)
    return tables[first:last]


@functools.lru_cache(maxsize=32)
def _outline(text: str) -> _Outline:
    headings: list[_Heading] = []
    tables: list[_Table] = []
    open_path: list[int] = []
    for block in find_blocks(text):
        if block.kind == "heading":
            level, title = _heading(text[block.start : block.end])
            while open_path and headings[open_path[-1]].level >= level:
                open_path.pop()
            parent = open_path[-1] if open_path else None
            open_path.append(len(headings))
            start = block.start + _indent(text[block.start : block.end])
            headings.append(_Heading(start, level, title, parent))
        elif block.kind == "head":
            tables.append(_Table(block.start, block.end, block.end))
        elif block.kind == "row" and tables and not text[tables[-1].end : block.start].strip():
            tables[-1] = dataclasses.replace(tables[-1], end=block.end)
    return _Outline(tuple(headings), tuple(tables))


def _heading(text: str) -> tuple[int, str]:
    """Return the level of the heading, from 1, and its title."""
    title, _, underline = text.strip().partition("\n")
    if underline:
        return (1 if "=" in underline else 2), title.strip()
    return len(title) - len(title.lstrip("#")), title.strip("#").strip()


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())
