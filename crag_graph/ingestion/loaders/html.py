"""HTML: the main content as Markdown, without navigation, scripts and layout."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from crag_graph.ingestion.loaders.base import LoadedPart, Source
from crag_graph.ingestion.loaders.dates import iso_date
from crag_graph.ingestion.loaders.encodings import decode
from crag_graph.ingestion.loaders.html_layout import unfold_layout

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

# The WHATWG looks for a declared encoding in the first kilobyte; templates often need more.
_DECLARATION = re.compile(rb"(?:charset|encoding)\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{2,40})")
_DECLARATION_WINDOW = 4096

_NEVER_TEXT = (
    "script, style, noscript, template, iframe, object, embed, svg, canvas, audio, video, form, "
    "button, select, input, textarea, dialog, nav, [role=navigation], [role=search], "
    "[role=banner], [role=contentinfo], [aria-hidden=true], [hidden]"
)
# Words in class and id of what is around the content, in the themes of documentation tools
# (Sphinx, DocBook, mdBook, Docusaurus, Doxygen, Javadoc) and of common web sites.
_AROUND = frozenset((
    "nav", "navbar", "navheader", "navfooter", "navigation", "topnav", "subnav", "menu",
    "menubar", "sidebar", "sidebars", "sphinxsidebar", "sphinxsidebarwrapper", "breadcrumb",
    "breadcrumbs", "toc", "toctree", "localtoc", "tocbox", "footer", "sitefooter",
    "pagination", "pager", "cookie", "cookies", "banner", "social", "share", "sharing",
    "advert", "adverts", "related", "headerlink", "permalink", "skip", "skiplink", "popup",
    "modal", "searchbox",
))  # fmt: skip
_WORD = re.compile(r"[a-z]+")
# Where such a word in the class, or in the id alone, means nothing: headings and sections are named
# after their titles, and a chapter on pagination is no pagination.
_NOT_BY_CLASS = frozenset(
    ("html", "body", "main", "article", "section", "h1", "h2", "h3", "h4", "h5", "h6")
)
_NOT_BY_ID = frozenset(("a", "p", "span", "dt", "dl", "pre", "code", "table", "tr", "td", "th"))
_ANCHOR_MARKS = frozenset(("", "¶", "§", "#", "🔗", "\uf0c1", "\ue157"))
_MAIN = ("main", "[role=main]", "article")
# What is taken for the whole content, and what may be dropped as being around it, as shares of the
# text of the page. Between them nothing is certain, and the page stays as it is.
_MAIN_SHARE = 0.4
_AROUND_SHARE = 0.5
_DATES = (
    "meta[property='article:published_time']", "meta[name='date']", "meta[name='dc.date']",
    "meta[name='DC.date']", "meta[name='dcterms.created']", "meta[name='pubdate']",
    "meta[name='citation_publication_date']", "meta[itemprop='datePublished']",
)  # fmt: skip
_BLANK_LINES = re.compile(r"\n{3,}")
_SPACES = re.compile(r"\s+")


def parse_html(source: Source) -> Iterator[LoadedPart]:
    """Yield the main content of a page as Markdown, with its title and date."""
    match = _DECLARATION.search(source.data[:_DECLARATION_WINDOW])
    text, encoding = decode(source, declared=match[1].decode("ascii") if match else None)
    metadata: dict[str, Any] = {} if encoding == "utf-8" else {"encoding": encoding}
    markdown, found = html_to_markdown(text)
    yield LoadedPart(text=markdown, kind="markdown", metadata=metadata | found)


def html_to_markdown(html: str) -> tuple[str, dict[str, Any]]:
    """Return the main content of a page as Markdown, and its `title` and `published` where known.

    Headings, lists, tables and code keep their form. Links keep their text alone: an address says
    little, and costs the tokens of a sentence.
    """
    from html_to_markdown import ConversionOptions, PreprocessingOptions, convert
    from selectolax.lexbor import LexborHTMLParser

    # A NUL would end the text for some parsers; the others drop it anyway.
    tree = LexborHTMLParser(html.replace("\x00", ""))
    metadata = _metadata(tree)
    unfold_layout(tree)
    options = ConversionOptions(
        compact_tables=True,
        skip_images=True,
        extract_metadata=False,
        autolinks=False,
        preprocessing=PreprocessingOptions(enabled=False),
    )
    content = _main_content(tree)
    markdown = convert(content, options).content or ""
    return _BLANK_LINES.sub("\n\n", markdown).strip(), metadata


def _metadata(tree: "LexborHTMLParser") -> dict[str, Any]:
    metadata: dict[str, Any] = {}
    title = tree.css_first("title") or tree.css_first("h1")
    if title is not None and (words := _SPACES.sub(" ", title.text()).strip()):
        metadata["title"] = words
    for selector in _DATES:
        node = tree.css_first(selector)
        published = None if node is None else iso_date(node.attributes.get("content"))
        if published is not None:
            metadata["published"] = published
            break
    return metadata


def _main_content(tree: "LexborHTMLParser") -> str:
    body = tree.body
    if body is None:
        return tree.html or ""
    for node in body.css(_NEVER_TEXT):
        node.decompose()
    total = _size(body)
    for selector in _MAIN:
        nodes = body.css(selector)
        if len(nodes) == 1 and _size(nodes[0]) >= total * _MAIN_SHARE:
            body = nodes[0]
            total = _size(body)
            break
    for node in body.css("[class], [id], header, footer, aside"):
        if _is_around(node) and _size(node) <= total * _AROUND_SHARE:
            node.decompose()
    for link in body.css("a"):
        if link.text(strip=True) in _ANCHOR_MARKS:
            link.decompose()
        elif "href" in link.attributes:
            del link.attrs["href"]
    body.unwrap_tags(["details", "summary"])
    return body.html or ""


def _size(node: "LexborNode") -> int:
    return len(node.text())


def _is_around(node: "LexborNode") -> bool:
    if node.tag in ("header", "footer", "aside"):
        # A header that holds the page's title is content, unless that is all in a banner.
        return node.tag != "header" or node.css_first("h1, h2") is None
    if node.tag in _NOT_BY_CLASS:
        return False
    names = _WORD.findall((node.attributes.get("class") or "").lower())
    if "section" not in names and node.tag not in _NOT_BY_ID:
        names += _WORD.findall((node.attributes.get("id") or "").lower())
    return not _AROUND.isdisjoint(names)
