"""Tavily, through its official client."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import httpx

from crag_graph.errors import SearchAuthError, SearchError, SearchQuotaError
from crag_graph.search.base import SearchResult
from crag_graph.search.failures import detail_of, json_object, status_error
from crag_graph.search.http import Asked, HTTPSearch
from crag_graph.search.results import Hit


class TavilySearch(HTTPSearch):
    """Searches with Tavily, which sends the text of the pages along.

    Without a key the official client asks anonymously instead of failing, so there is no
    `TavilySearch` without one. The client is lent our own HTTP client: its exceptions lose the
    status of an answer, so that a refused key (403) and a used-up plan (432, 433) look alike, and
    it reads answers of any size. https://docs.tavily.com/documentation/api-reference/endpoint/search

    Args:
        depth: `basic`, or `advanced` at twice the price.
        options: As `HTTPSearch` takes them.
    """

    name: str = "tavily"
    label: ClassVar[str] = "Tavily"
    default_url: ClassVar[str] = "https://api.tavily.com"
    key_variable: ClassVar[str] = "TAVILY_API_KEY"
    url_variable: ClassVar[str] = "TAVILY_BASE_URL"

    def __init__(self, *, depth: Literal["basic", "advanced"] = "basic", **options: Any) -> None:
        super().__init__(**options)
        import tavily  # half a second, here and not in the first search

        self._make_client = tavily.AsyncTavilyClient
        self._depth = depth

    async def _ask(self, client: httpx.AsyncClient, asked: Asked) -> SearchResult:
        official = self._make_client(
            api_key=self._api_key, client=client, api_base_url=self._base_url
        )
        # Where an option is None, the client leaves it out, though its annotations do not say so.
        options: dict[str, Any] = {
            "search_depth": self._depth,
            "time_range": asked.filters.time_range,
            "include_domains": list(asked.filters.include_domains) or None,
            "exclude_domains": list(asked.filters.exclude_domains) or None,
        }
        body = await official.search(
            asked.query,
            topic=asked.filters.topic,
            max_results=asked.max_results,
            include_raw_content="markdown",
            timeout=120,  # a read's; the whole search's is kept around this call
            **options,
        )
        return await self._result(body, asked)

    def _items(self, body: Mapping[str, Any]) -> object:
        return body.get("results")

    def _hit(self, item: Mapping[str, Any]) -> Hit:
        return Hit(
            url=item.get("url"),
            title=item.get("title"),
            page=item.get("raw_content"),
            snippet=item.get("content"),
            published=item.get("published_date"),
        )

    def _failure(self, response: httpx.Response) -> SearchError | None:
        detail = detail_of(response, "detail", "error") or detail_of(response, "error", "message")
        if failure := status_error(self._place, response, detail):
            return failure
        body = json_object(self._place, response.content)
        if isinstance(body.get("error"), dict):  # a refusal in the form of a success
            return _envelope(body["error"], f"{self._place} refuses to search: {detail}")
        return None


def _envelope(error: Mapping[str, Any], message: str) -> SearchError:
    code = str(error.get("code", "")).lower()
    if "auth" in code or "invalid" in code:
        return SearchAuthError(message)
    seconds = error.get("retry_after_seconds")
    wait = float(seconds) if isinstance(seconds, int | float) else None
    return SearchQuotaError(message, retry_after=wait)
