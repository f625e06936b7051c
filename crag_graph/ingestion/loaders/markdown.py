"""Markdown, and the little of it that other loaders write."""

import re
from collections.abc import Iterator, Sequence

from crag_graph.ingestion.loaders.base import LoadedPart, Source
from crag_graph.ingestion.loaders.dates import iso_date
from crag_graph.ingestion.loaders.encodings import read_text
from crag_graph.ingestion.loaders.html import html_to_markdown

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_IMAGE = re.compile(r"!\[([^\]\n]{0,300})\](?:\([^)\n]{0,2000}\)|\[[^\]\n]{0,200}\])")
# Layout that READMEs carry; it says nothing, and costs tokens. Inline code comes first and is kept.
_LAYOUT = re.compile(
    r"(`++)[^`\n]++\1|</?(?:p|div|span|center|img|picture|source|br|hr|sub|sup|details|summary"
    r"|h[1-6]|a|b|i|kbd)(?:\s[^<>]{0,2000})?/?>",
    re.IGNORECASE,
)
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?\n)(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
# An address this long says nothing, and costs the tokens of a paragraph.
_LONG_LINK = re.compile(r"\[([^\]\n]{1,300})\]\([^)\s]{100,5000}\)")
_TOP_HEADING = re.compile(
    r"^(?=[^\n]*[^\W_])(?:#[ \t]+([^\n]+?)[ \t#]*|(\S[^\n]*)\n=+[ \t]*)$", re.MULTILINE
)
_CODE = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)
_TOP = 2000
_RULE = re.compile(r"([=\-~_*#^+])\1{6,}")
_SPACES = re.compile(r"\s+")


def parse_markdown(source: Source) -> Iterator[LoadedPart]:
    """Yield the whole of a Markdown file; front matter gives title and date, layout is dropped."""
    text, metadata = read_text(source)
    match = _FRONT_MATTER.match(text)
    if match is not None:
        metadata |= _front_matter(match[1])
        text = text[match.end() :]
    text = tidy_markdown(text)
    before_code = _CODE.split(text[:_TOP], maxsplit=1)[0]
    first = _TOP_HEADING.search(before_code)
    if "title" not in metadata and first is not None:
        metadata["title"] = first[1] or first[2]
    yield LoadedPart(text=text, kind="markdown", metadata=metadata)


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
    text = shorten_rules(text)
    if "<" in text:
        text = _LAYOUT.sub(_keep_code, _with_tables(_without_comments(text)))
    return text.split("\n") if lines else []


def _with_tables(text: str) -> str:
    """Return the text with tables in HTML as tables in Markdown."""
    out = []
    at = 0
    while (start := text.find("\n<table", at)) >= 0 and (end := text.find("</table>", start)) >= 0:
        end += len("</table>")
        out += [text[at:start], "\n\n", html_to_markdown(text[start:end])[0], "\n"]
        at = end
    return "".join([*out, text[at:]])


def _without_comments(text: str) -> str:
    out = []
    at = 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start)) >= 0:
        out.append(text[at:start])
        at = end + len("-->")
    return "".join([*out, text[at:]])


def _keep_code(match: re.Match[str]) -> str:
    return match[0] if match[1] else ""


def shorten_rules(text: str) -> str:
    """Return prose with rules and borders of three marks: each mark costs a token."""
    return _RULE.sub(r"\1\1\1", text)


def table_lines(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a table as lines of Markdown, the first row as its header; cells on one line each."""
    if not rows:
        return []
    width = max(map(len, rows))
    lines = [
        "| " + " | ".join(_cell(cell) for cell in [*row, *[""] * (width - len(row))]) + " |"
        for row in rows
    ]
    return [lines[0], "|" + " --- |" * width, *lines[1:]]


def _cell(text: str) -> str:
    return _SPACES.sub(" ", text).strip().replace("|", "\\|")


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
