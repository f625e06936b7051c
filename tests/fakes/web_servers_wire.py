"""Each search provider as a wire: how its client is built, how it answers, and how it fails."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from crag_graph.search.base import WebSearch
from crag_graph.search.brave import BraveSearch
from crag_graph.search.duckduckgo import DuckDuckGoSearch
from crag_graph.search.exa import ExaSearch
from crag_graph.search.searxng import SearxngSearch
from crag_graph.search.tavily import TavilySearch
from crag_graph.search.wikipedia import WikipediaSearch
from tests.fakes.web_servers import Reply, Request, Script
from tests.fakes.web_servers_shapes import (
    PAGE as PAGE,
)
from tests.fakes.web_servers_shapes import (
    Find,
    brave,
    brave_body,
    brave_error,
    duckduckgo,
    exa_body,
    exa_error,
    exa_item,
    json_script,
    searxng_body,
    searxng_item,
    tavily_body,
    tavily_error,
    tavily_item,
    wikipedia,
    wikipedia_error,
)
from tests.fakes.web_servers_shapes import (
    Page as Page,
)

KEY = "tvly-TESTLEAK0123456789"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Wire:
    """A provider: how its client is built, how it answers, and how it fails.

    Attributes:
        name: As `CRAG_WEB_SEARCH` calls it.
        build: Makes the real client for a base URL.
        answer: Makes a script that finds pages for a query.
        query_of: Takes the query out of a request.
        faults: What goes wrong → the provider's own answer.
        results: Puts odd items where the results are; None where there are none to be odd.
    """

    name: str
    build: Callable[[str], WebSearch]
    answer: Callable[[Find], Script]
    query_of: Callable[[Request], str]
    faults: Mapping[str, Reply]
    results: Callable[[Any], Any] | None = None


def impatient(wire: Wire, url: str) -> WebSearch:
    """The wire's client, which does not try again."""
    client = wire.build(url)
    client.__dict__["_retries"] = 0
    return client


_EVERYWHERE: Mapping[str, Reply] = {
    "server error": Reply(status=500, body="<html>Internal Server Error</html>"),
    "gateway": Reply(status=502, body=""),
    "overloaded": Reply(status=503, body="", headers={"retry-after": "0"}),
    "dropped": Reply(drop=True),
    "hangs": Reply(delay=120),
}
_JSON: Mapping[str, Reply] = {
    "login page": Reply(body="<html><body>Please log in</body></html>"),
    "a list": Reply(body=[]),
    "a text": Reply(body='"error"'),
    "cut off": Reply(body='{"results": [{"url": "https://a.example", "content"', cut=20),
    "not unicode": Reply(body=b'{"results": "\xff\xfe"}'),
    "deep": Reply(body="[" * 200_000),
    "redirect": Reply(status=301, headers={"location": "https://elsewhere.example/"}),
}

TAVILY = Wire(
    name="tavily",
    build=lambda url: TavilySearch(api_key=KEY, base_url=url),
    answer=json_script(tavily_item, tavily_body, lambda request: request.body["query"]),
    query_of=lambda request: request.body["query"],
    results=tavily_body,
    faults={
        **_EVERYWHERE,
        **_JSON,
        "auth": tavily_error(401, "Unauthorized: missing or invalid API key."),
        "forbidden": tavily_error(403, "Forbidden."),
        "rate": tavily_error(429, "Your request has been blocked due to excessive requests."),
        "quota": tavily_error(432, "This request exceeds your plan's set usage limit."),
        "paygo": tavily_error(433, "This request exceeds the pay-as-you-go limit."),
        "bad request": tavily_error(400, "Query is too long. Max query length is 400 characters."),
        "unprocessable": Reply(status=422, body={"detail": [{"loc": ["body"], "msg": "bad"}]}),
        "envelope": Reply(
            body={
                "error": {
                    "code": "keyless_limit",
                    "message": "Limit reached.",
                    "retry_after_seconds": 60,
                },
                "results": [],
            }
        ),
    },
)
BRAVE = Wire(
    name="brave",
    build=lambda url: BraveSearch(api_key=KEY, base_url=url),
    answer=brave,
    query_of=lambda request: request.params["q"],
    results=brave_body,
    faults={
        **_EVERYWHERE,
        **_JSON,
        "auth": brave_error(422, "SUBSCRIPTION_TOKEN_INVALID", "The token is invalid."),
        "forbidden": brave_error(403, "RESOURCE_NOT_ALLOWED", "Not allowed."),
        "rate": brave_error(429, "RATE_LIMITED", "Request rate limit exceeded for plan."),
        "quota": brave_error(429, "QUOTA_LIMITED", "Request quota limit exceeded for plan."),
        "bad request": brave_error(422, "VALIDATION", "Unable to validate request parameter(s)"),
        "not in plan": brave_error(400, "OPTION_NOT_IN_PLAN", "Not subscribed in the plan."),
    },
)
EXA = Wire(
    name="exa",
    build=lambda url: ExaSearch(api_key=KEY, base_url=url),
    answer=json_script(exa_item, exa_body, lambda request: request.body["query"]),
    query_of=lambda request: request.body["query"],
    results=exa_body,
    faults={
        **_EVERYWHERE,
        **_JSON,
        "auth": exa_error(401, "INVALID_API_KEY", "Invalid API key"),
        "forbidden": exa_error(403, "ACCESS_DENIED", "Not on your plan"),
        "quota": exa_error(402, "NO_MORE_CREDITS", "You have exceeded your credits limit."),
        "rate": Reply(status=429, body={"error": "You've exceeded your Exa rate limit of 10"}),
        "bad request": exa_error(400, "INVALID_REQUEST_BODY", "query is required"),
    },
)
SEARXNG = Wire(
    name="searxng",
    build=lambda url: SearxngSearch(base_url=url),
    answer=json_script(searxng_item, searxng_body, lambda request: request.params["q"]),
    query_of=lambda request: request.params["q"],
    results=searxng_body,
    faults={
        **_EVERYWHERE,
        **_JSON,
        "json is off": Reply(status=403, body="<html>403 Forbidden</html>"),
        "auth": Reply(status=401, body="<html>401 Authorization Required</html>"),
        "rate": Reply(status=429, body="<html>Too Many Requests</html>"),
        "bad request": Reply(status=400, body="<html>Bad Request</html>"),
        "no engine": Reply(
            body=searxng_body([])
            | {
                "unresponsive_engines": [
                    ["google", "Suspended: CAPTCHA"],
                    ["duckduckgo", "timeout"],
                ]
            }
        ),
    },
)
WIKIPEDIA = Wire(
    name="wikipedia",
    build=lambda url: WikipediaSearch(base_url=url),
    answer=wikipedia,
    query_of=lambda request: request.params["gsrsearch"],
    faults={
        **_EVERYWHERE,
        **_JSON,
        "auth": Reply(status=403, body="Please set a user-agent and respect our robot policy."),
        "rate": Reply(status=429, body="<html>Too many requests</html>"),
        "quota": wikipedia_error("ratelimited", "You've exceeded your rate limit."),
        "bad request": wikipedia_error("badinteger", 'Invalid value "x" for "gsrlimit".'),
        "too long": wikipedia_error(
            "cirrussearch-query-too-long", "Search request is longer than the maximum."
        ),
        "lag": wikipedia_error("maxlag", "Waiting for db1: 5 seconds lagged."),
        "busy": wikipedia_error("cirrussearch-too-busy-error", "Search is too busy."),
    },
)
DUCKDUCKGO = Wire(
    name="duckduckgo",
    build=lambda url: DuckDuckGoSearch(base_url=url),
    answer=duckduckgo,
    query_of=lambda request: request.params["q"],
    faults={
        **_EVERYWHERE,
        "challenge": Reply(status=202, body="<html><body>anomaly-modal</body></html>"),
        "rate": Reply(status=429, body="<html></html>"),
        "blocked": Reply(status=403, body="<html>403</html>"),
    },
)
WIRES = {wire.name: wire for wire in (TAVILY, BRAVE, EXA, SEARXNG, WIKIPEDIA, DUCKDUCKGO)}
