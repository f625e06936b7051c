"""From what a provider sent to cleaned documents, with a count of what was left out."""

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from langchain_core.documents import Document

from crag_graph.errors import SearchUnavailableError
from crag_graph.search.base import SearchFilters, SearchResult
from crag_graph.search.cleaning import is_block_page, readable, without_consent
from crag_graph.search.dates import iso_date
from crag_graph.search.excerpt import excerpt
from crag_graph.search.urls import in_domains, is_private, page_key, web_url
from crag_graph.wording import counted

MAX_RESULT_CHARACTERS = 12_000
"""The most text that is kept of one result, about 3,000 tokens."""
MAX_TOTAL_CHARACTERS = 48_000
"""The most text that is kept of one search."""
_MOST_TITLE = 300
_SCRIPTS = frozenset({"javascript", "vbscript", "data", "blob", "about"})
_PROBE = 60  # characters by which a snippet is found again in its page


@dataclasses.dataclass(frozen=True, kw_only=True)
class Hit:
    """One result as a provider gave it; nothing is taken for granted of any field.

    Attributes:
        url: Where the page is.
        title: Its title.
        page: The text of the page, where the provider sends it.
        snippet: What the provider quotes of it.
        published: When, in whatever form.
    """

    url: object
    title: object = ""
    page: object = None
    snippet: object = None
    published: object = None


def to_result(
    items: object,
    read: Callable[[Mapping[str, Any]], Hit],
    *,
    provider: str,
    query: str,
    max_results: int,
    filters: SearchFilters,
    notes: Sequence[str] = (),
) -> SearchResult:
    """Return the usable ones of `items` as documents, at most `max_results`, in their order.

    Args:
        items: The list of results in the provider's answer; None counts as an empty one.
        read: Makes a hit of one item.
        provider: Its name, for the metadata and for errors.
        query: What was searched for; decides which parts of a long page are kept.
        max_results: From 1.
        filters: Domains are checked here, whatever the provider did about them.
        notes: Handed through.

    Raises:
        SearchUnavailableError: `items` is no list.
    """
    if items is not None and not isinstance(items, list):
        raise SearchUnavailableError(f"{provider} sent {_kind(items)} where its results should be")
    skipped: Counter[str] = Counter()
    documents: list[Document] = []
    seen: set[str] = set()
    room = MAX_TOTAL_CHARACTERS
    for url, hit in _usable(items or (), read, filters, skipped):
        if len(documents) == max_results or room <= 0:
            break
        key = page_key(url)
        if key in seen:
            skipped["the same page twice"] += 1
            continue
        text = _text(hit, query, min(MAX_RESULT_CHARACTERS, room), skipped)
        if text is None:
            continue
        seen.add(key)
        room -= len(text)
        documents.append(_document(url, hit, text, provider))
    private = sum(is_private(document.metadata["source"]) for document in documents)
    warned = [f"{counted(private, 'result')} of {provider} with a private address"] * bool(private)
    return SearchResult(
        documents=documents,
        provider=provider,
        skipped=dict(skipped),
        notes=[*notes, *warned],
    )


def as_result(found: object, *, provider: str) -> SearchResult:
    """Return what any `WebSearch` answered as a result that is safe to go on with.

    A document without text is left out and counted, and so is one whose source is a broken URL or a
    script. A source of another kind is taken for a path in a second corpus.

    Raises:
        SearchUnavailableError: It is not a sequence of documents: a string is an error message that
            was returned where it should have been raised, and never a list of its characters.
    """
    if isinstance(found, SearchResult):
        result = found
    elif isinstance(found, Sequence) and not isinstance(found, str | bytes):
        result = SearchResult(documents=list(found))
    else:
        raise SearchUnavailableError(f"{provider} answered with {_kind(found)} in place of results")
    skipped = Counter(result.skipped)
    documents = []
    for item in result.documents:
        document = _as_document(item)
        if document is None:
            skipped["not a result"] += 1
        elif not document.page_content.strip():
            skipped["no text"] += 1
        elif _unsafe(document):
            skipped["an unsafe address"] += 1
        else:
            documents.append(document)
    return dataclasses.replace(
        result, documents=documents, provider=result.provider or provider, skipped=dict(skipped)
    )


def _usable(
    items: Sequence[object],
    read: Callable[[Mapping[str, Any]], Hit],
    filters: SearchFilters,
    skipped: Counter[str],
) -> Iterator[tuple[str, Hit]]:
    for item in items:
        if not isinstance(item, Mapping):
            skipped["not a result"] += 1
            continue
        hit = read(item)
        url = web_url(hit.url)
        if url is None:
            skipped["no http or https address"] += 1
        elif filters.include_domains and not in_domains(url, filters.include_domains):
            skipped["another domain than asked for"] += 1
        elif in_domains(url, filters.exclude_domains):
            skipped["an excluded domain"] += 1
        else:
            yield url, hit


def _text(hit: Hit, query: str, limit: int, skipped: Counter[str]) -> str | None:
    """Return the text of a hit: its page, else its snippet; None, counted, when it has neither."""
    snippet, page = readable(hit.snippet), readable(hit.page)
    reason = "no text"
    for candidate in (page, snippet):
        if not candidate:
            continue
        if is_block_page(candidate):
            reason = "a block page"
            continue
        text = without_consent(excerpt(candidate, query, limit=limit))
        if not text:
            reason = "a cookie banner"
            continue
        if candidate is page and snippet and not is_block_page(snippet):
            text = _with_snippet(text, without_consent(snippet), limit)
        return text
    skipped[reason] += 1
    return None


def _with_snippet(text: str, snippet: str, limit: int) -> str:
    """Return `text` with the snippet before it where it does not hold it: it matched the query."""
    known = "".join(text.split())
    probe = "".join(snippet.split())[:_PROBE]
    if probe in known or len(snippet) + 2 > limit:
        return text
    return f"{snippet}\n\n{text}"[:limit].rstrip()


def _document(url: str, hit: Hit, text: str, provider: str) -> Document:
    title = " ".join(readable(hit.title).split())[:_MOST_TITLE]
    metadata = {"source": url, "title": title or urlsplit(url).netloc, "provider": provider}
    if published := iso_date(hit.published):
        metadata["published"] = published
    return Document(page_content=text, metadata=metadata)


def _as_document(item: object) -> Document | None:
    if isinstance(item, Document):
        return item
    if isinstance(item, Mapping) and isinstance(item.get("page_content"), str):
        return Document(
            id=item.get("id"),
            page_content=item["page_content"],
            metadata=item.get("metadata") or {},
        )
    return None


def _unsafe(document: Document) -> bool:
    """Return whether the source is a URL that no reader should be sent to."""
    source = str(document.metadata.get("source") or "").strip()
    scheme = source.partition(":")[0].strip().lower()
    return scheme in _SCRIPTS or (scheme in ("http", "https") and web_url(source) is None)


def _kind(value: object) -> str:
    names = {str: "a text", dict: "an object", type(None): "nothing", list: "a list"}
    return names.get(type(value), f"a value of type {type(value).__name__}")
