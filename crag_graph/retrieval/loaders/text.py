"""Plain text, Markdown and source code."""

import re
from collections.abc import Iterator

from crag_graph.retrieval.loaders.base import Heading, LoadedPart, Source
from crag_graph.retrieval.loaders.dates import iso_date
from crag_graph.retrieval.loaders.encodings import decode
from crag_graph.retrieval.loaders.formats import CODE_LANGUAGES
from crag_graph.text.clean import clean_text

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_IMAGE = re.compile(r"!\[([^\]\n]{0,300})\](?:\([^)\n]{0,2000}\)|\[[^\]\n]{0,200}\])")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
# Layout that READMEs carry; it says nothing, and costs tokens. Inline code comes first and is kept.
_LAYOUT = re.compile(
    r"(`+)[^`\n]+\1|</?(?:p|div|span|center|img|picture|source|br|hr|sub|sup|details|summary|h[1-6]|a|b|i|kbd)"
    r"(?:\s[^<>]{0,2000})?/?>",
    re.IGNORECASE,
)
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?\n)(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
# An address this long says nothing, and costs the tokens of a paragraph.
_LONG_LINK = re.compile(r"\[([^\]\n]{1,300})\]\([^)\s]{100,5000}\)")
_TOP_HEADING = re.compile(r"^(?:#[ \t]+([^\n]+?)[ \t#]*|(\S[^\n]*)\n=+[ \t]*)$", re.MULTILINE)
_TOP = 2000
# A title over a line of one punctuation mark (reStructuredText, and most README.txt), or the
# equals signs of AsciiDoc in front of it.
_UNDERLINED = re.compile(
    r"^(?=\S)([^\n]{1,200})\n(([=\-~^\"'`#*+.:_])\3{2,})[ \t]*$|^(={1,6})[ \t]+(\S[^\n]{0,200})$",
    re.MULTILINE,
)
_SPACES = re.compile(r"\s+")


def parse_text(source: Source) -> Iterator[LoadedPart]:
    """Yield the whole of a text file, with the headings that underlines show."""
    text, metadata = _read(source)
    headings = _find_headings(text)
    if headings and not text[: headings[0].start].strip(" \t\n=-~*#"):
        metadata["title"] = headings[0].title
    yield LoadedPart(text=text, kind="prose", metadata=metadata, headings=headings)


def parse_markdown(source: Source) -> Iterator[LoadedPart]:
    """Yield the whole of a Markdown file; front matter gives title and date, layout is dropped."""
    text, metadata = _read(source)
    match = _FRONT_MATTER.match(text)
    if match is not None:
        metadata |= _front_matter(match[1])
        text = text[match.end() :]
    text = tidy_markdown(text)
    first = _TOP_HEADING.search(re.split(r"^ {0,3}(?:```|~~~)", text[:_TOP], flags=re.MULTILINE)[0])
    if "title" not in metadata and first is not None:
        metadata["title"] = first[1] or first[2]
    yield LoadedPart(text=text, kind="markdown", metadata=metadata)


def parse_code(source: Source) -> Iterator[LoadedPart]:
    """Yield the whole of a source file, its language in the metadata."""
    text, metadata = _read(source)
    metadata["language"] = CODE_LANGUAGES.get(source.suffix, source.path.name.lower())
    yield LoadedPart(text=text, kind="code", metadata=metadata)


def tidy_markdown(text: str) -> str:
    """Return Markdown without comments, image addresses and layout tags; code stays as it is."""
    out: list[str] = []
    prose: list[str] = []
    fence: str | None = None
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence is None and mark is not None:
            out.extend(_tidy_prose(prose))
            prose, fence = [], mark[1]
        elif fence is not None and mark is not None and mark[1].startswith(fence):
            out.append(line)
            fence = None
            continue
        (prose if fence is None else out).append(line)
    out.extend(_tidy_prose(prose))
    return "\n".join(out)


def _tidy_prose(lines: list[str]) -> list[str]:
    text = "\n".join(lines)
    if "](" in text or "![" in text:
        text = _LONG_LINK.sub(r"\1", _IMAGE.sub(r"\1", text))
    if "<" in text:
        text = _LAYOUT.sub(_keep_code, _COMMENT.sub("", text))
    return text.split("\n") if lines else []


def _keep_code(match: re.Match[str]) -> str:
    return match[0] if match[1] else ""


def _read(source: Source) -> tuple[str, dict[str, object]]:
    text, encoding = decode(source)
    return clean_text(text), {} if encoding == "utf-8" else {"encoding": encoding}


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


def _front_matter(block: str) -> dict[str, object]:
    import yaml

    try:
        fields = yaml.safe_load(block)
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}
    if not isinstance(fields, dict):
        return {}
    metadata: dict[str, object] = {}
    if isinstance(fields.get("title"), str):
        metadata["title"] = _SPACES.sub(" ", fields["title"])
    published = iso_date(fields.get("date", fields.get("published")))
    if published is not None:
        metadata["published"] = published
    return metadata
