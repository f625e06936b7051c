"""Brave Search."""

from collections.abc import Mapping
from typing import Any, ClassVar

import httpx

from crag_graph.errors import SearchAuthError, SearchError
from crag_graph.search.base import SearchResult
from crag_graph.search.failures import detail_of, status_error
from crag_graph.search.http import Asked, HTTPSearch
from crag_graph.search.results import Hit

_FRESHNESS = {"day": "pd", "week": "pw", "month": "pm", "year": "py"}
_MOST_WORDS = 50  # https://api-dashboard.search.brave.com/app/documentation/web-search/query


class BraveSearch(HTTPSearch):
    """Searches with Brave, which sends up to six snippets a page.

    Over httpx, since Brave publishes no client for Python.
    https://api-dashboard.search.brave.com/app/documentation/web-search
    """

    name: str = "brave"
    label: ClassVar[str] = "Brave Search"
    default_url: ClassVar[str] = "https://api.search.brave.com"
    key_variable: ClassVar[str] = "BRAVE_API_KEY"
    url_variable: ClassVar[str] = "BRAVE_BASE_URL"

    def _headers(self) -> dict[str, str]:
        return {**super()._headers(), "x-subscription-token": self._api_key}

    async def _ask(self, client: httpx.AsyncClient, asked: Asked) -> SearchResult:
        kind = "news" if asked.filters.topic == "news" else "web"
        # Brave filters no domains, so there must be something left when we have.
        filtered = asked.filters.include_domains or asked.filters.exclude_domains
        params: dict[str, str | int] = {
            "q": " ".join(asked.query.split()[:_MOST_WORDS]),
            "count": self.most_results if filtered else asked.max_results,
            "text_decorations": "false",
            "extra_snippets": "true",  # left out of the answer by plans that do not include them
        }
        if asked.filters.time_range:
            params["freshness"] = _FRESHNESS[asked.filters.time_range]
        url = f"{self._base_url}/res/v1/{kind}/search"
        return await self._answer(client, client.build_request("GET", url, params=params), asked)

    def _items(self, body: Mapping[str, Any]) -> object:
        # News are at the top; pages of the web are one kind among others, left out when empty.
        found = body.get("web", body)
        return found.get("results") if isinstance(found, Mapping) else found

    def _hit(self, item: Mapping[str, Any]) -> Hit:
        extra = item.get("extra_snippets")
        snippets = [item.get("description"), *(extra if isinstance(extra, list) else [])]
        return Hit(
            url=item.get("url"),
            title=item.get("title"),
            snippet="\n\n".join(text for text in snippets if isinstance(text, str)),
            published=item.get("page_age") or item.get("age"),
        )

    def _failure(self, response: httpx.Response) -> SearchError | None:
        code, detail = detail_of(response, "error", "code"), detail_of(response, "error", "detail")
        if response.status_code == 422 and code.startswith("SUBSCRIPTION_TOKEN"):
            return SearchAuthError(f"{self._place} refuses the key: check {self.key_variable}")
        return status_error(self._place, response, " ".join(filter(None, (code, detail))))
