"""The units of a text that a chunk takes or leaves: sentences, list items, rows, bits of code."""

import dataclasses
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from crag_graph.ingestion.loaders.base import LoadedPart
from crag_graph.text.blocks import BlockKind
from crag_graph.text.sentences import segments

UnitKind = Literal["prose", "heading", "row", "fence", "code", "record"]

# Characters of a token at most, in prose: bounds what the sentence splitter calls one sentence.
_CHARACTERS_PER_TOKEN = 4
# A repeated header or heading may take so much of a chunk.
_PREFIX_SHARE = 3
_ATX = re.compile(r"\s{0,3}(#{1,6})(?:\s+|$)")
_MARKS = re.compile(r"[*`]+|(?<!\w)_+|_+(?!\w)")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_CAPTION = re.compile(r"\W*(?:table|tab\.|figure|fig\.|listing|example)\s+[\w.]*\d", re.IGNORECASE)
_LEADING = re.compile(r"(?:[:：]|\bfollowing\.?)[*_)\s]*$")
_LINES = re.compile(r"[^\n]+")
_PROSE_SEPARATORS = ["\n\n", "\n", "。", "！", "？", ". ", "; ", ", ", " ", ""]
_CODE_SEPARATORS = ["\n\n", "\n", " ", ""]

Count = Callable[[str], int]
Span = tuple[int, int]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A stretch of a part's text that is not torn: `text[start:end]`, visible at both ends.

    Attributes:
        start: Offset of its first character.
        end: Offset behind its last.
        tokens: Its size.
        kind: What it is.
        group: Number of the table or fence that it is a piece of; None elsewhere.
        prefix: What a chunk that begins with it repeats: a table's header, the line that opens a
            fence. Empty for the first piece.
        leads: Whether it announces what follows it: a caption, or a sentence that ends in a colon.
        path: The headings in force, outermost first; a heading's own is the last.
        section: Number of the section, which a heading after text begins.
        heading: The line of the section's last heading, to be repeated where the section goes on.
    """

    start: int
    end: int
    tokens: int
    kind: UnitKind
    group: int | None = None
    prefix: str = ""
    leads: bool = False
    path: tuple[str, ...] = ()
    section: int = 0
    heading: str = ""


def find_units(part: LoadedPart, *, size: int, count: Count) -> list[Unit]:
    """Return the units of a part in order, none of them with more than `size` tokens."""
    if part.kind == "code":
        separators = _separators_of(str(part.metadata.get("language", "")))
        return list(_split(part.text, 0, len(part.text), separators, size, count, "code"))
    if part.kind == "records":
        return [
            unit
            for line in _LINES.finditer(part.text)
            for unit in _fitted(part.text, line.start(), line.end(), size, count, "record")
        ]
    return _Outline(part, size=size, count=count).units()


class _Outline:
    """Walks over the blocks of a text and keeps the headings and the table in force."""

    def __init__(self, part: LoadedPart, *, size: int, count: Count) -> None:
        self._part = part
        self._size = size
        self._count = count
        self._found: list[Unit] = []
        self._path: list[tuple[int, str]] = []
        self._heading = ""
        self._section = 0
        self._group = 0
        self._table: str | None = None  # the header of the table in force; None outside of one

    def units(self) -> list[Unit]:
        """Return the units of the whole part."""
        at = 0
        for heading in self._part.headings:
            self._stretch(at, heading.start)
            self._enter(heading.level, heading.title, (heading.start, heading.end))
            at = heading.end
        self._stretch(at, len(self._part.text))
        return self._found

    def _stretch(self, start: int, end: int) -> None:
        limit = self._size * _CHARACTERS_PER_TOKEN
        found = segments(self._part.text[start:end], max_chars=limit)
        for _, block in itertools.groupby(found, key=lambda segment: segment.block):
            pieces = list(block)
            spans = [(start + piece.start, start + piece.end) for piece in pieces]
            self._block(pieces[0].kind, spans)

    def _block(self, kind: BlockKind, spans: list[Span]) -> None:
        text = self._part.text
        if kind == "row":
            if self._table is None:  # a table without a header
                self._group += 1
                self._table = ""
            self._add(spans, "row", group=self._group, prefix=self._table)
            return
        self._table = None
        if kind == "heading" and self._part.kind == "markdown":
            self._enter(*_markdown_heading(text[spans[0][0] : spans[-1][1]]), *spans)
        elif kind == "head":
            self._group += 1
            self._table = self._repeatable(text[spans[0][0] : spans[-1][1]])
            self._add(spans, "row", group=self._group)
        elif kind == "fence":
            self._group += 1
            opening = text[spans[0][0] : spans[0][1]].partition("\n")[0]
            self._add(spans[:1], "fence", group=self._group)
            self._add(spans[1:], "fence", group=self._group, prefix=self._repeatable(opening))
        else:
            self._add_prose(spans)

    def _add_prose(self, spans: list[Span]) -> None:
        text = self._part.text
        if _CAPTION.match(text[spans[0][0] : spans[0][1]]):
            self._add(spans, "prose", leads=True)
            return
        self._add(spans[:-1], "prose")
        last = spans[-1]
        self._add([last], "prose", leads=bool(_LEADING.search(text[last[0] : last[1]])))

    def _enter(self, level: int, title: str, *spans: Span) -> None:
        self._table = None
        self._path = [entry for entry in self._path if entry[0] < level]
        if title:
            self._path.append((level, title))
        self._heading = self._repeatable(self._part.text[spans[0][0] : spans[-1][1]])
        if self._found and self._found[-1].kind != "heading":
            self._section += 1
        self._add([span for span in spans if span[0] < span[1]], "heading")

    def _add(
        self,
        spans: Sequence[Span],
        kind: UnitKind,
        *,
        group: int | None = None,
        prefix: str = "",
        leads: bool = False,
    ) -> None:
        for start, end in spans:
            for piece in _fitted(self._part.text, start, end, self._size, self._count, kind):
                self._found.append(
                    dataclasses.replace(
                        piece,
                        group=group,
                        prefix=prefix,
                        leads=leads,
                        path=tuple(title for _, title in self._path),
                        section=self._section,
                        heading=self._heading,
                    )
                )

    def _repeatable(self, text: str) -> str:
        fits = self._count(text) * _PREFIX_SHARE <= self._size
        return f"{text}\n" if text and fits else ""


def _markdown_heading(line: str) -> tuple[int, str]:
    """Return level and title of a heading line with `#` in front, or with an underline."""
    match = _ATX.match(line)
    if match is not None:
        return len(match[1]), _plain_title(line[match.end() :].rstrip().rstrip("#"))
    title, _, underline = line.rstrip().rpartition("\n")
    return (1 if underline.strip().startswith("=") else 2), _plain_title(title)


def _plain_title(title: str) -> str:
    """Return a title without the marks of emphasis, code and links."""
    return " ".join(_MARKS.sub("", _LINK.sub(r"\1", title)).split())


def _fitted(
    text: str, start: int, end: int, size: int, count: Count, kind: UnitKind
) -> Iterator[Unit]:
    """Yield the span as one unit where it fits, else in pieces that do."""
    tokens = count(text[start:end])
    if tokens <= size:
        yield Unit(start=start, end=end, tokens=tokens, kind=kind)
    else:
        separators = _CODE_SEPARATORS if kind == "fence" else _PROSE_SEPARATORS
        yield from _split(text, start, end, separators, size, count, kind)


def _split(
    text: str, start: int, end: int, separators: list[str], size: int, count: Count, kind: UnitKind
) -> Iterator[Unit]:
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    splitter = RecursiveCharacterTextSplitter(
        separators,
        # Code is cut before `def`, prose behind a full stop.
        keep_separator="end" if separators is _PROSE_SEPARATORS else "start",
        strip_whitespace=False,  # kept inside, where offsets depend on it
        chunk_size=size,
        chunk_overlap=0,
        length_function=count,
    )
    for piece in splitter.split_text(text[start:end]):
        visible = piece.strip()
        if not visible:
            continue
        # Looked for behind the piece before it: white space counts no tokens, so that the splitter
        # takes some of it for overlap, and gives it twice.
        begin = text.index(visible, start)
        if kind in ("code", "fence"):  # the indentation of its first line is a part of code
            line = text.rfind("\n", start, begin) + 1
            begin, visible = (line, text[line:begin] + visible) if line else (begin, visible)
        start = begin + len(visible)
        yield Unit(start=begin, end=start, tokens=count(visible), kind=kind)


def _separators_of(language: str) -> list[str]:
    from langchain_text_splitters import Language, RecursiveCharacterTextSplitter

    try:
        return RecursiveCharacterTextSplitter.get_separators_for_language(Language(language))
    except ValueError:
        return _CODE_SEPARATORS
