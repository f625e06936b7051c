"""DuckDuckGo, through ddgs, which reads its result pages."""

import dataclasses
import math
from typing import Any, ClassVar

from crag_graph.errors import (
    ConfigurationError,
    SearchError,
    SearchQuotaError,
    SearchUnavailableError,
)
from crag_graph.search.base import MAX_QUERY_CHARACTERS, SearchFilters, SearchResult
from crag_graph.search.deadline import acall_within, call_within
from crag_graph.search.failures import Place, host_of
from crag_graph.search.results import Hit, to_result
from crag_graph.text.clean import shorten

_AGES = {"day": "d", "week": "w", "month": "m", "year": "y"}
# What DuckDuckGo answers when it takes the client for a robot: 202 with a challenge, or a refusal.
_REFUSALS = frozenset({202, 403, 418, 429})


class DuckDuckGoSearch:
    """Searches with DuckDuckGo, which sends a snippet a page and needs no key.

    Uses the engine of ddgs and not its `DDGS`, which says "No results found." of a refusal as it
    does of an empty page, and waits for all of its threads. DuckDuckGo offers no API for this: it
    refuses clients that ask often, so keep it for small needs and for the end of a chain.

    Args:
        base_url: Where it is asked in place of DuckDuckGo's own address.
        region: Country and language as DuckDuckGo writes them; `wt-wt` is anywhere.
    """

    name: str = "duckduckgo"
    label: ClassVar[str] = "DuckDuckGo"
    default_url: ClassVar[str] = "https://html.duckduckgo.com"
    key_variable: ClassVar[str] = ""
    url_variable: ClassVar[str] = "DUCKDUCKGO_BASE_URL"

    def __init__(self, *, base_url: str = "", region: str = "wt-wt") -> None:
        try:
            from ddgs.engines.duckduckgo import Duckduckgo
        except ImportError:
            raise ConfigurationError(
                "searching with duckduckgo needs ddgs: pip install 'crag-graph[duckduckgo]'"
            ) from None

        class Engine(Duckduckgo):
            """The engine of ddgs, which remembers with what status it was answered."""

            status = 0

            def request(self, *args: Any, **kwargs: Any) -> str:
                response = self.http_client.request(*args, **kwargs)
                self.status = response.status_code
                return str(response.text) if self.status == 200 else ""

        self._engine = Engine
        self._url = (base_url or self.default_url).rstrip("/")
        self._region = region
        self._place = Place(
            label=self.label,
            host=host_of(self._url, self.url_variable),
            key_variable=self.key_variable,
            url_variable=self.url_variable,
        )

    def search(
        self,
        query: str,
        *,
        max_results: int,
        seconds: float,
        filters: SearchFilters | None = None,
    ) -> SearchResult:
        """Return at most `max_results` documents for `query`."""
        return call_within(
            lambda: self._found(query, max_results, seconds, filters or SearchFilters()),
            seconds=seconds,
            what=str(self._place),
        )

    async def asearch(
        self,
        query: str,
        *,
        max_results: int,
        seconds: float,
        filters: SearchFilters | None = None,
    ) -> SearchResult:
        """Return at most `max_results` documents for `query`. ddgs blocks, so in a thread."""
        return await acall_within(
            lambda: self._found(query, max_results, seconds, filters or SearchFilters()),
            seconds=seconds,
            what=str(self._place),
        )

    def _found(
        self, query: str, max_results: int, seconds: float, filters: SearchFilters
    ) -> SearchResult:
        engine = self._engine(timeout=math.ceil(seconds))
        engine.search_url = f"{self._url}/html/"
        failure: SearchError | None = None
        found: Any = None
        asked = shorten(query, MAX_QUERY_CHARACTERS)
        age = _AGES[filters.time_range] if filters.time_range else None
        try:
            found = engine.search(asked, region=self._region, timelimit=age)
        except Exception as error:  # noqa: BLE001 - ddgs raises one type for all, lxml its own
            failure = SearchUnavailableError(
                f"{self._place} cannot be reached or read: {type(error).__name__}"
            )
        if engine.status in _REFUSALS:
            failure = SearchQuotaError(f"{self._place} takes us for a robot ({engine.status})")
        elif engine.status not in (0, 200):
            failure = SearchUnavailableError(f"{self._place} cannot answer ({engine.status})")
        if failure is not None:
            raise failure
        return to_result(
            [dataclasses.asdict(item) for item in found or ()],
            lambda item: Hit(url=item["href"], title=item["title"], snippet=item["body"]),
            provider=self.name,
            query=asked,
            max_results=max_results,
            filters=filters,
        )
