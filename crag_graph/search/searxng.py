"""SearxNG: a metasearch engine that one runs oneself."""

from collections.abc import Mapping
from typing import Any, ClassVar

import httpx

from crag_graph.errors import SearchError, SearchRequestError, SearchUnavailableError
from crag_graph.search.base import SearchResult
from crag_graph.search.failures import status_error
from crag_graph.search.http import Asked, HTTPSearch
from crag_graph.search.results import Hit


class SearxngSearch(HTTPSearch):
    """Searches with a SearxNG instance, which sends a snippet a page.

    Over httpx, since it has no client of its own. The instance must allow the JSON format
    (`search.formats` in its settings.yml). A user name and password in the address are sent as
    basic authentication. https://docs.searxng.org/dev/search_api.html
    """

    name: str = "searxng"
    label: ClassVar[str] = "SearxNG"
    url_variable: ClassVar[str] = "SEARXNG_URL"

    async def _ask(self, client: httpx.AsyncClient, asked: Asked) -> SearchResult:
        params = {
            "q": asked.query,
            "format": "json",
            "categories": "news" if asked.filters.topic == "news" else "general",
        }
        if asked.filters.time_range:
            params["time_range"] = asked.filters.time_range
        request = client.build_request("GET", f"{self._base_url}/search", params=params)
        return await self._answer(client, request, asked)

    def _items(self, body: Mapping[str, Any]) -> object:
        results, boxes = body.get("results"), body.get("infoboxes")
        silent = _silent(body)
        if not results and not boxes and silent:
            raise SearchUnavailableError(
                f"none of the engines behind {self._place} answered: {', '.join(silent)}"
            )
        if isinstance(results, list) and isinstance(boxes, list):
            return [*boxes, *results]
        return results

    def _hit(self, item: Mapping[str, Any]) -> Hit:
        return Hit(
            url=item.get("url") or item.get("id"),  # an infobox has its page as its id
            title=item.get("title") or item.get("infobox"),
            snippet=item.get("content"),
            published=item.get("publishedDate"),
        )

    def _failure(self, response: httpx.Response) -> SearchError | None:
        if response.status_code == 403:
            return SearchRequestError(
                f"{self._place} does not allow JSON (403): add json to search.formats in its "
                "settings.yml"
            )
        return status_error(self._place, response)

    def _notes(self, body: Mapping[str, Any]) -> list[str]:
        silent = ", ".join(_silent(body))
        return [f"some engines behind {self._place} did not answer: {silent}"] * bool(silent)


def _silent(body: Mapping[str, Any]) -> list[str]:
    """Return the engines that gave no answer, each with its reason, as `engine (reason)`."""
    engines = body.get("unresponsive_engines")
    pairs = (
        [pair for pair in engines if isinstance(pair, list)] if isinstance(engines, list) else []
    )
    return [f"{pair[0]} ({pair[1]})" if len(pair) > 1 else str(pair[0]) for pair in pairs if pair]
