"""Exa."""

import datetime
from collections.abc import Mapping
from typing import Any, ClassVar

import httpx

from crag_graph.errors import SearchError
from crag_graph.search.base import SearchResult
from crag_graph.search.failures import detail_of, status_error
from crag_graph.search.http import Asked, HTTPSearch
from crag_graph.search.results import MAX_RESULT_CHARACTERS, Hit

_DAYS = {"day": 1, "week": 7, "month": 31, "year": 366}
_CATEGORIES = {"news": "news", "finance": "financial report"}


class ExaSearch(HTTPSearch):
    """Searches with Exa, which sends the text of the pages along.

    Over httpx: the official client raises a `ValueError` for every status, with the body in its
    message, reads answers of any size, and loads OpenAI's client. https://exa.ai/docs/reference/search
    """

    name: str = "exa"
    label: ClassVar[str] = "Exa"
    default_url: ClassVar[str] = "https://api.exa.ai"
    key_variable: ClassVar[str] = "EXA_API_KEY"
    url_variable: ClassVar[str] = "EXA_BASE_URL"

    def _headers(self) -> dict[str, str]:
        return {**super()._headers(), "x-api-key": self._api_key}

    async def _ask(self, client: httpx.AsyncClient, asked: Asked) -> SearchResult:
        filters = asked.filters
        body: dict[str, Any] = {
            "query": asked.query,
            "numResults": asked.max_results,
            "type": "auto",
            "contents": {"text": {"maxCharacters": MAX_RESULT_CHARACTERS}},
        }
        if filters.topic in _CATEGORIES:
            body["category"] = _CATEGORIES[filters.topic]
        if filters.time_range:
            age = datetime.timedelta(days=_DAYS[filters.time_range])
            start = datetime.datetime.now(datetime.UTC) - age
            body["startPublishedDate"] = start.strftime("%Y-%m-%dT%H:%M:%S.000Z")
        if filters.include_domains:
            body["includeDomains"] = list(filters.include_domains)
        if filters.exclude_domains:
            body["excludeDomains"] = list(filters.exclude_domains)
        request = client.build_request("POST", f"{self._base_url}/search", json=body)
        return await self._answer(client, request, asked)

    def _items(self, body: Mapping[str, Any]) -> object:
        return body.get("results")

    def _hit(self, item: Mapping[str, Any]) -> Hit:
        return Hit(
            url=item.get("url"),
            title=item.get("title"),
            page=item.get("text"),
            snippet=item.get("summary"),
            published=item.get("publishedDate"),
        )

    def _failure(self, response: httpx.Response) -> SearchError | None:
        tag, detail = detail_of(response, "tag"), detail_of(response, "error")
        return status_error(self._place, response, " ".join(filter(None, (tag, detail))))
