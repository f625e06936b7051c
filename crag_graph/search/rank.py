"""The order of web results over all searches of a run."""

import datetime
from collections.abc import Sequence
from urllib.parse import urlsplit

from langchain_core.documents import Document

from crag_graph.search.base import SearchResult
from crag_graph.search.results import MAX_RESULT_CHARACTERS, MAX_TOTAL_CHARACTERS
from crag_graph.search.urls import page_key, web_url

_CONSTANT = 60  # of reciprocal rank fusion, as in Cormack et al. 2009 (SIGIR, pages 758–759)
_AGES = (7, 31, 366)  # days: news of the week, of the month, of the year, and all the rest


def document_key(document: Document) -> str:
    """Return what tells web results apart: the page, or the passage of a second corpus."""
    source = str(document.metadata.get("source") or "")
    url = web_url(source)
    if url is not None:
        return page_key(url)
    # Several passages of a second corpus share a source, so their texts tell them apart.
    return f"{source}\n{document.page_content}"


def merge(results: Sequence[SearchResult]) -> list[Document]:
    """Return the documents of all results, each page once, those first that several searches found.

    Ranks are fused (reciprocal rank fusion). Of a page that was found twice, each time cut to what
    matched the query, all parts are kept, up to the cap of a result.
    """
    scores: dict[str, float] = {}
    pages: dict[str, Document] = {}
    for result in results:
        for rank, document in enumerate(result.documents, start=1):
            key = document_key(document)
            scores[key] = scores.get(key, 0.0) + 1 / (_CONSTANT + rank)
            pages[key] = _joined(pages[key], document) if key in pages else document
    return [pages[key] for key in sorted(pages, key=lambda key: -scores[key])]


def order(
    documents: Sequence[Document], *, today: datetime.date, wikipedia: bool, recent: bool
) -> list[Document]:
    """Return `documents` in the order in which they are judged, cut to the cap of a search.

    Args:
        documents: Best first.
        today: What ages count from.
        wikipedia: Whether Wikipedia comes first, as in section 4.5 of Yan et al. 2024
            (arXiv:2401.15884).
        recent: Whether pages of the last week, month and year come before older and undated ones.
    """
    ranked = sorted(
        documents,
        key=lambda document: (
            wikipedia and not _is_wikipedia(document),
            _age(document, today) if recent else 0,
        ),
    )
    kept: list[Document] = []
    room = MAX_TOTAL_CHARACTERS
    for document in ranked:
        room -= len(document.page_content)
        if room < 0 and kept:
            break
        kept.append(document)
    return kept


def _joined(first: Document, second: Document) -> Document:
    known = first.page_content
    new = [part for part in second.page_content.split("\n\n") if part not in known]
    text = "\n\n".join([known, *new])
    if not new or len(text) > MAX_RESULT_CHARACTERS:
        return first
    return Document(id=first.id, page_content=text, metadata=first.metadata)


def _is_wikipedia(document: Document) -> bool:
    host = urlsplit(str(document.metadata.get("source") or "")).hostname or ""
    return host == "wikipedia.org" or host.endswith(".wikipedia.org")


def _age(document: Document, today: datetime.date) -> int:
    """Return which of `_AGES` the document falls into; undated ones count as the oldest."""
    try:
        published = datetime.date.fromisoformat(str(document.metadata.get("published") or ""))
    except ValueError:
        return len(_AGES)
    days = (today - published).days
    return sum(days > limit for limit in _AGES)
