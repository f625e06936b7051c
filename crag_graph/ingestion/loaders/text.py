"""Plain text and source code."""

import re
from collections.abc import Iterator

from crag_graph.ingestion.loaders.base import Heading, LoadedPart, Source
from crag_graph.ingestion.loaders.encodings import read_text
from crag_graph.ingestion.loaders.formats import CODE_LANGUAGES
from crag_graph.ingestion.loaders.markdown import shorten_rules

# A line longer than this was not written by hand; minified files are mostly such lines.
_LONG_LINE = 1000
_MINIFIED = frozenset(("js", "ts", "css"))
# A title over a line of one punctuation mark, or between two (reStructuredText, and most
# README.txt), or with the equals signs of AsciiDoc in front of it.
_UNDERLINED = re.compile(
    r"^(?:([=\-~^\"'`#*+.:_])\1{2,}[ \t]*\n)?[ ]?(?=\S)([^\n]{1,200})\n"
    r"(([=\-~^\"'`#*+.:_])\4{2,})[ \t]*$|^(={1,6})[ \t]+(\S[^\n]{0,200})$",
    re.MULTILINE,
)


def parse_text(source: Source) -> Iterator[LoadedPart]:
    """Yield the whole of a text file, with the headings that lines under them show.

    The lines themselves go: a token for every mark in them is more than the title takes.
    """
    raw, metadata = read_text(source)
    pieces: list[str] = []
    headings: list[Heading] = []
    levels: dict[str, int] = {}
    at = length = 0
    for match in _UNDERLINED.finditer(raw):
        found = _title(match, levels)
        if found is None:
            continue
        before = shorten_rules(raw[at : match.start()])
        start = length + len(before)
        length = start + len(found[1])
        headings.append(Heading(start=start, end=length, level=found[0], title=found[1]))
        pieces += [before, found[1]]
        at = match.end()
    text = "".join([*pieces, shorten_rules(raw[at:])])
    if headings and not text[: headings[0].start].strip():
        metadata["title"] = headings[0].title
    yield LoadedPart(text=text, kind="prose", metadata=metadata, headings=tuple(headings))


def _title(match: re.Match[str], levels: dict[str, int]) -> tuple[int, str] | None:
    """Return level and title; the level of a mark is the order in which marks appear."""
    over, title, line, mark, equals, asciidoc = match.groups()
    if title is None:
        return len(equals), asciidoc.rstrip(" =")
    title = title.strip()
    if not any(map(str.isalnum, title)) or len(line) < min(4, len(title)):
        return None
    return levels.setdefault(f"{over or ''}{mark}", len(levels) + 1), title


def parse_code(source: Source) -> Iterator[LoadedPart]:
    """Yield the whole of a source file, its language in the metadata."""
    text, metadata = read_text(source)
    metadata["language"] = CODE_LANGUAGES.get(source.suffix, source.path.name.lower())
    yield LoadedPart(text=text, kind="code", metadata=metadata)


def is_mere_output(suffix: str, data: bytes) -> bool:
    """Return whether a source file is nothing to read, since a program minified it."""
    if CODE_LANGUAGES.get(suffix) not in _MINIFIED or not data:
        return False
    long = sum(len(line) for line in data.split(b"\n") if len(line) > _LONG_LINE)
    return long > len(data) / 2
