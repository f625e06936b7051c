"""Wikipedia, or any other MediaWiki with the TextExtracts extension."""

import asyncio
import importlib.metadata
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import httpx

from crag_graph.errors import (
    SearchAuthError,
    SearchError,
    SearchQuotaError,
    SearchRequestError,
    SearchUnavailableError,
)
from crag_graph.search.base import SearchResult
from crag_graph.search.failures import detail_of, json_object, retry_after, status_error
from crag_graph.search.http import Asked, HTTPSearch
from crag_graph.search.results import Hit
from crag_graph.wording import counted

_FULL_PAGES = 2
_SHARE_FOR_PAGES = 0.4  # of the search's seconds
# What the API calls a passing failure, https://www.mediawiki.org/wiki/API:Errors_and_warnings
_PASSING = ("maxlag", "readonly", "internal_api_error", "cirrussearch-", "search-error", "timeout")
_LIMITS = ("ratelimited", "request-limit-reached", "actionthrottled", "toomanyrequests")


class WikipediaSearch(HTTPSearch):
    """Searches Wikipedia, in the language of its address, and brings the text of its articles.

    Over httpx: the clients for the MediaWiki API give either the search or the text of one page at
    a time. One request gives the introductions of all the articles found, and one more each the
    whole text of the best two: the API gives no more than one whole text at once. It takes no key,
    but the User-Agent must say who asks (https://foundation.wikimedia.org/wiki/Policy:User-Agent).

    Args:
        user_agent: Who asks, with an address to write to.
        options: As `HTTPSearch` takes them.
    """

    name: str = "wikipedia"
    label: ClassVar[str] = "Wikipedia"
    default_url: ClassVar[str] = "https://en.wikipedia.org"
    url_variable: ClassVar[str] = "WIKIPEDIA_BASE_URL"
    longest_query: ClassVar[int] = 300  # CirrusSearch refuses longer ones

    def __init__(self, *, user_agent: str = "", **options: Any) -> None:
        super().__init__(**options)
        version = importlib.metadata.version("crag-graph")
        self._user_agent = user_agent.strip() or f"crag-graph/{version} httpx/{httpx.__version__}"

    def _headers(self) -> dict[str, str]:
        return {**super()._headers(), "user-agent": self._user_agent}

    async def _ask(self, client: httpx.AsyncClient, asked: Asked) -> SearchResult:
        response = await client.send(self._search(client, asked))
        pages = _pages(json_object(self._place, response.content))
        wanted = pages[:_FULL_PAGES]
        seconds = asked.seconds * _SHARE_FOR_PAGES
        texts = await asyncio.gather(*(self._whole_text(client, page, seconds) for page in wanted))
        for page, text in zip(wanted, texts, strict=True):
            page["text"] = text
        notes = []
        if missing := texts.count(None):
            articles = counted(missing, "article")
            notes.append(f"{articles} of {self._place} could not be read whole")
        if asked.filters.time_range:
            notes.append(f"{self._place} does not search by the age of pages")
        return await self._result({"pages": pages, "notes": notes}, asked)

    async def _whole_text(
        self, client: httpx.AsyncClient, page: Mapping[str, Any], seconds: float
    ) -> str | None:
        """Return the text of the article; None when it cannot be had, and its introduction must do.

        It must not cost the search what it has already, hence the `seconds` of its own.
        """
        params = {"prop": "extracts", "explaintext": "1", "pageids": str(page.get("pageid"))}
        try:
            async with asyncio.timeout(seconds):
                response = await client.send(self._query(client, params))
            found = _pages(json_object(self._place, response.content))
        except (SearchError, httpx.TransportError, TimeoutError):
            return None
        text = found[0].get("extract") if found else None
        return text if isinstance(text, str) else None

    def _search(self, client: httpx.AsyncClient, asked: Asked) -> httpx.Request:
        return self._query(
            client,
            {
                "generator": "search",
                "gsrsearch": asked.query,
                "gsrlimit": str(asked.max_results),
                "gsrnamespace": "0",
                "prop": "extracts|info",
                "inprop": "url",
                "exintro": "1",
                "explaintext": "1",
                "exlimit": "max",
            },
        )

    def _query(self, client: httpx.AsyncClient, params: Mapping[str, str]) -> httpx.Request:
        common = {"action": "query", "format": "json", "formatversion": "2"}
        return client.build_request(
            "GET", f"{self._base_url}/w/api.php", params={**common, **params}
        )

    def _items(self, body: Mapping[str, Any]) -> object:
        return body["pages"]

    def _hit(self, item: Mapping[str, Any]) -> Hit:
        return Hit(
            url=item.get("canonicalurl") or item.get("fullurl"),
            title=item.get("title"),
            page=item.get("text"),
            snippet=item.get("extract"),
        )

    def _notes(self, body: Mapping[str, Any]) -> list[str]:
        return list(body["notes"])

    def _failure(self, response: httpx.Response) -> SearchError | None:
        if response.status_code == 403:
            return SearchAuthError(
                f"{self._place} refuses this client (403): say who you are in WIKIPEDIA_USER_AGENT"
            )
        if failure := status_error(self._place, response):
            return failure
        # Errors of the API come with status 200.
        code, info = detail_of(response, "error", "code"), detail_of(response, "error", "info")
        if not code:
            return None
        message = f"{self._place} cannot search ({code}: {info[:200]})"
        if code.startswith(_LIMITS):
            return SearchQuotaError(message, retry_after=retry_after(response))
        if code.startswith(_PASSING) and "too-long" not in code:
            return SearchUnavailableError(message, retry_after=retry_after(response))
        return SearchRequestError(message)


def _pages(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the pages in the order of the search: in the answer they are ordered by their ids.

    No `query` at all means that nothing was found; pages that are missing have no text.
    """
    query = body.get("query")
    pages: object = query.get("pages") if isinstance(query, Mapping) else None
    if isinstance(pages, Mapping):  # format version 1, which old wikis speak
        pages = list(pages.values())
    found: Sequence[object] = pages if isinstance(pages, list) else []
    known = [dict(page) for page in found if isinstance(page, Mapping)]
    return sorted(known, key=_rank)


def _rank(page: Mapping[str, Any]) -> float:
    index = page.get("index")
    return float(index) if isinstance(index, int | float) else float("inf")
