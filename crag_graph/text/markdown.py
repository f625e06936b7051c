"""Making the Markdown of an answer safe to render."""

import html
import re
import urllib.parse
from collections.abc import Collection

import regex

from crag_graph.text.code import outside_code


def _destination(depth: int) -> str:
    inner = r"\\\S|[^\s()]"
    return rf"(?:{inner}|\({_destination(depth - 1)}\))*+" if depth else rf"(?:{inner})*+"


# CommonMark lets parentheses nest in a destination; 32 levels are as deep as its parsers go.
_POINTED = r"<(?:\\.|[^<>\n\\])*+>"
_TITLE = r"\"(?:\\.|[^\"\\])*+\"|'(?:\\.|[^'\\])*+'|\((?:\\.|[^()\\])*+\)"
TARGET = rf"\(\s*+(?P<url>{_POINTED}|{_destination(32)})(?:\s++(?:{_TITLE}))?+\s*+\)"
"""The `(url "title")` of a Markdown link, as a pattern with the group `url`."""
LINK_TEXT = r"(?:\\.|[^\[\]\\]|\[(?:\\.|[^\[\]\\])*+\])*+"
"""The text of a Markdown link, brackets in it nested once, as a pattern."""

_LINK = regex.compile(rf"(?s)(?P<image>!?)\[(?P<text>{LINK_TEXT})\]{TARGET}")
_TAIL = regex.compile(rf"(?s)(?<=\]){TARGET}")
_DEFINITION = regex.compile(
    r"(?m)^[ \t>*+-]*+\[(?:\\.|[^\[\]\\])++\]:[ \t]*+(?:\n[ \t>]*+)?"
    r"(?P<url><[^<>\n]*+>|\S++)[^\n]*+\n?"
)
_AUTOLINK = regex.compile(r"<(?P<url>[A-Za-z][A-Za-z0-9+.-]*+:[^\s<>]*+)>")
_ATTRIBUTES = r"(?:(?:[^<>\"']|\"[^\"]*+\"|'[^']*+')*+>|[^<>]*+>)"
# Elements that load, link, run or style something, and every other one with attributes.
_TAG = regex.compile(
    r"(?i)<(?P<end>/?)(?:(?:a|area|audio|base|button|embed|form|iframe|img|input|link|math|meta"
    r"|object|picture|script|source|style|svg|video)\b" + _ATTRIBUTES + r"|[a-z][a-z0-9-]*+\s"
    r"[^<>=]*+=" + _ATTRIBUTES + r")"
)
_MARKER = regex.compile(r"[\^#]?\d{1,4}(?:\s*,\s*\d{1,4})*")
_ROUNDS = 20
# Without one of these there is no link, image, definition or tag.
_MAY_LEAD = re.compile(r"\]\s*[(:\[]|<")


def safe_markdown(text: str, *, allowed_urls: Collection[str]) -> tuple[str, int]:
    """Return `text` without links and images that lead elsewhere, and how many there were.

    An image of another URL is dropped, of such a link its text stays, without brackets unless it is
    a citation marker; so with definitions (`[1]: url`) and `<url>`. HTML that loads, links, runs or
    styles something is dropped, its text stays. Code stays as it is, and so do URLs in plain text.

    Args:
        text: Markdown.
        allowed_urls: The sources: http and https URLs, compared without regard to the case of the
            host, a trailing slash or a fragment; or paths, compared as they are. No other scheme is
            ever allowed.
    """
    if not _MAY_LEAD.search(text):
        return text, 0
    cleaner = _Cleaner({key for url in allowed_urls if (key := _key(url)) is not None})
    return outside_code(text, cleaner.clean), cleaner.removed


class _Cleaner:
    """Removes what leads elsewhere, and counts it."""

    def __init__(self, sources: Collection[str]) -> None:
        self._sources = sources
        self.removed = 0

    def clean(self, text: str) -> str:
        # What is dropped can leave behind a link that it was nested in: once more, until it rests.
        for _ in range(_ROUNDS):
            before = text
            text = _AUTOLINK.sub(self._autolink, _TAG.sub(self._tag, text))
            text = _DEFINITION.sub(self._drop, _LINK.sub(self._link, text))
            if text == before:
                text = _TAIL.sub(self._drop, text)  # links whose text nests too deep to be found
            if text == before:
                return text
        return text.replace("](", "] (")

    def _allowed(self, match: regex.Match[str]) -> bool:
        if _key(match["url"]) in self._sources:
            return True
        self.removed += 1
        return False

    def _link(self, match: regex.Match[str]) -> str:
        if self._allowed(match):
            return match[0]
        if match["image"]:
            return ""
        return f"[{match['text']}]" if _MARKER.fullmatch(match["text"]) else match["text"]

    def _drop(self, match: regex.Match[str]) -> str:
        return match[0] if self._allowed(match) else ""

    def _autolink(self, match: regex.Match[str]) -> str:
        if self._allowed(match):
            return match[0]
        return match["url"] if match["url"].lower().startswith(("http://", "https://")) else ""

    def _tag(self, match: regex.Match[str]) -> str:
        self.removed += not match["end"]
        return ""


def _key(url: str) -> str | None:
    """Return what two addresses of the same source have in common; None for what is never safe."""
    url = html.unescape(url.strip().removeprefix("<").removesuffix(">")).strip()
    try:
        parts = urllib.parse.urlsplit(url)
    except ValueError:
        return None
    if parts.scheme in ("http", "https") and parts.netloc:
        query = f"?{parts.query}" if parts.query else ""
        return f"{parts.scheme}://{parts.netloc.lower()}{parts.path.rstrip('/')}{query}"
    return url if url and not parts.scheme and not parts.netloc else None
