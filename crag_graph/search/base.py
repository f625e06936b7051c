"""The Protocol of web search: a query in, cleaned documents out."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from langchain_core.documents import Document

from crag_graph.settings import TimeRange, Topic

MAX_QUERY_CHARACTERS = 400
"""The longest query that is sent: what Tavily's and Brave's APIs accept."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class SearchFilters:
    """What a search is narrowed to. A provider that cannot do it itself filters what it gets.

    Attributes:
        topic: `general`, or `news` or `finance` where the provider knows them.
        time_range: How old a page may be; None: any age.
        include_domains: Only pages of these domains and their subdomains.
        exclude_domains: No pages of these.
    """

    topic: Topic = "general"
    time_range: TimeRange | None = None
    include_domains: tuple[str, ...] = ()
    exclude_domains: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class SearchResult:
    """What a search found.

    Attributes:
        documents: Best first. Each has its text, and in its metadata `source` (the http or https
            URL), `title`, `provider`, and `published` (ISO date) where known.
        provider: The name of who answered.
        skipped: Why results were left out → how many.
        notes: Sentences for the decision card: fallbacks taken, parts that failed.
    """

    documents: Sequence[Document]
    provider: str = ""
    skipped: Mapping[str, int] = dataclasses.field(default_factory=dict)
    notes: Sequence[str] = ()


def filtering(filters: SearchFilters | None) -> dict[str, SearchFilters]:
    """Return `filters` as a keyword argument, none where there are none.

    A `WebSearch` that was written without filters in mind is thus only asked for them when a run
    wants any.
    """
    return {} if filters is None or filters == SearchFilters() else {"filters": filters}


@runtime_checkable
class WebSearch(Protocol):
    """Finds text outside the corpus.

    Both methods give the same result. They raise `SearchAuthError`, `SearchQuotaError`,
    `SearchRequestError` or `SearchUnavailableError`, the last also when `seconds` of wall time,
    retries included, are over. The graph passes `filters` only where the run asks for any, and
    accepts a plain sequence of documents in place of a `SearchResult`.
    """

    @property
    def name(self) -> str:
        """What the decision card calls it."""
        ...

    def search(
        self,
        query: str,
        *,
        max_results: int,
        seconds: float,
        filters: SearchFilters | None = None,
    ) -> SearchResult:
        """Return at most `max_results` documents for `query`, at most 400 characters."""
        ...

    async def asearch(
        self,
        query: str,
        *,
        max_results: int,
        seconds: float,
        filters: SearchFilters | None = None,
    ) -> SearchResult:
        """Return at most `max_results` documents for `query`, at most 400 characters."""
        ...
