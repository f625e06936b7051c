"""Plain text and source code."""

import re
from collections.abc import Iterator

from crag_graph.retrieval.loaders.base import Heading, LoadedPart, Source
from crag_graph.retrieval.loaders.encodings import read_text
from crag_graph.retrieval.loaders.formats import CODE_LANGUAGES

# A title over a line of one punctuation mark (reStructuredText, and most README.txt), or the
# equals signs of AsciiDoc in front of it.
_UNDERLINED = re.compile(
    r"^(?=\S)([^\n]{1,200})\n(([=\-~^\"'`#*+.:_])\3{2,})[ \t]*$|^(={1,6})[ \t]+(\S[^\n]{0,200})$",
    re.MULTILINE,
)


def parse_text(source: Source) -> Iterator[LoadedPart]:
    """Yield the whole of a text file, with the headings that underlines show."""
    text, metadata = read_text(source)
    headings = _find_headings(text)
    if headings and not text[: headings[0].start].strip(" \t\n=-~*#"):
        metadata["title"] = headings[0].title
    yield LoadedPart(text=text, kind="prose", metadata=metadata, headings=headings)


def parse_code(source: Source) -> Iterator[LoadedPart]:
    """Yield the whole of a source file, its language in the metadata."""
    text, metadata = read_text(source)
    metadata["language"] = CODE_LANGUAGES.get(source.suffix, source.path.name.lower())
    yield LoadedPart(text=text, kind="code", metadata=metadata)


def _find_headings(text: str) -> tuple[Heading, ...]:
    """Return the underlined titles; the level of a mark is the order in which marks appear."""
    levels: dict[str, int] = {}
    found = []
    for match in _UNDERLINED.finditer(text):
        title, line, mark, equals, asciidoc = match.groups()
        if title is None:
            title, level = asciidoc.rstrip(" ="), len(equals)
        elif any(map(str.isalnum, title)) and len(line) >= min(4, len(title.strip())):
            level = levels.setdefault(mark, len(levels) + 1)
        else:
            continue
        found.append(
            Heading(start=match.start(), end=match.end(), level=level, title=title.strip())
        )
    return tuple(found)
