"""What each search provider speaks: answers that hold pages, and its errors, in its own shapes.

The shapes follow the providers' references: docs.tavily.com, api-dashboard.search.brave.com,
exa.ai/docs, docs.searxng.org, mediawiki.org/wiki/API, and the result page of html.duckduckgo.com.
"""

import dataclasses
import html
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from crag_graph.search.base import WebSearch
from crag_graph.search.brave import BraveSearch
from crag_graph.search.duckduckgo import DuckDuckGoSearch
from crag_graph.search.exa import ExaSearch
from crag_graph.search.searxng import SearxngSearch
from crag_graph.search.tavily import TavilySearch
from crag_graph.search.wikipedia import WikipediaSearch
from tests.fakes.web_servers import Reply, Request, Script

KEY = "tvly-TESTLEAK0123456789"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Page:
    """A page of the fake web."""

    url: str
    title: str = "A page"
    text: str = "The ferry leaves Lund at nine."
    published: str = ""


PAGE = Page(url="https://a.example/ferry", title="Ferry", published="2026-11-12")
Find = Callable[[str], Sequence[Page]]


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


def _tavily_item(page: Page) -> dict[str, Any]:
    item = {
        "url": page.url,
        "title": page.title,
        "content": page.text[:200],
        "score": 0.98,
        "raw_content": page.text,
    }
    return item | ({"published_date": page.published} if page.published else {})


def _tavily_body(items: Any) -> dict[str, Any]:
    return {
        "query": "q",
        "follow_up_questions": None,
        "answer": None,
        "images": [],
        "results": items,
        "response_time": 1.2,
        "request_id": "8d2a",
    }


def _tavily_error(status: int, text: str) -> Reply:
    return Reply(status=status, body={"detail": {"error": text}})


def _brave_item(page: Page) -> dict[str, Any]:
    item = {
        "title": page.title,
        "url": page.url,
        "is_source_local": False,
        "is_source_both": False,
        "description": f"<strong>{html.escape(page.text[:150])}</strong>",
        "language": "en",
        "family_friendly": True,
        "type": "search_result",
        "subtype": "generic",
        "extra_snippets": [html.escape(page.text[150:800])] if page.text[150:] else [],
    }
    return item | (
        {"page_age": f"{page.published}T08:00:00", "age": "2 weeks ago"} if page.published else {}
    )


def _brave_body(items: Any) -> dict[str, Any]:
    return {
        "query": {"original": "q", "more_results_available": True},
        "mixed": {"type": "mixed", "main": [], "top": [], "side": []},
        "type": "search",
        "web": {"type": "search", "results": items, "family_friendly": True},
    }


def _brave(find: Find) -> Script:
    def script(request: Request) -> Reply:
        items = [_brave_item(page) for page in find(request.params["q"])]
        if "/news/" in request.path:
            return Reply(body={"type": "news", "query": {"original": "q"}, "results": items})
        body = _brave_body(items)
        if not items:
            del body["web"]  # kinds without a result are left out
        return Reply(body=body)

    return script


def _brave_error(status: int, code: str, detail: str) -> Reply:
    error = {"id": "d8e0", "status": status, "code": code, "detail": detail, "meta": {}}
    return Reply(status=status, body={"type": "ErrorResponse", "error": error, "time": 1773685964})


def _exa_item(page: Page) -> dict[str, Any]:
    item = {"id": page.url, "url": page.url, "title": page.title, "author": "", "text": page.text}
    return item | ({"publishedDate": f"{page.published}T00:00:00.000Z"} if page.published else {})


def _exa_body(items: Any) -> dict[str, Any]:
    return {
        "requestId": "b5947044",
        "resolvedSearchType": "neural",
        "results": items,
        "costDollars": {"total": 0.005},
    }


def _exa_error(status: int, tag: str, text: str) -> Reply:
    return Reply(status=status, body={"requestId": "b594", "error": text, "tag": tag})


def _searxng_item(page: Page) -> dict[str, Any]:
    return {
        "url": page.url,
        "title": page.title,
        "content": page.text[:300],
        "publishedDate": f"{page.published}T00:00:00" if page.published else None,
        "engine": "startpage",
        "template": "default.html",
        "parsed_url": ["https", "a.example", "/ferry", "", "", ""],
        "engines": ["startpage", "brave"],
        "positions": [1],
        "score": 1.0,
        "category": "general",
    }


def _searxng_body(items: Any) -> dict[str, Any]:
    return {
        "query": "q",
        "number_of_results": 0,
        "results": items,
        "answers": [],
        "corrections": [],
        "infoboxes": [],
        "suggestions": [],
        "unresponsive_engines": [],
    }


def _wikipedia(find: Find) -> Script:
    texts: dict[str, Page] = {}

    def script(request: Request) -> Reply:
        if "pageids" in request.params:
            page = texts[request.params["pageids"]]
            found = {"pageid": 1, "ns": 0, "title": page.title, "extract": page.text}
            return Reply(body={"batchcomplete": True, "query": {"pages": [found]}})
        pages = list(find(request.params["gsrsearch"]))[: int(request.params["gsrlimit"])]
        if not pages:
            return Reply(body={"batchcomplete": True})  # no "query" at all
        items = []
        for index, page in enumerate(pages, start=1):
            number = 10_000 * (1 + len(texts)) + 9_000 - index  # by id, not by rank
            texts[str(number)] = page
            items.append(
                {
                    "pageid": number,
                    "ns": 0,
                    "title": page.title,
                    "index": index,
                    "extract": page.text[:250],
                    "contentmodel": "wikitext",
                    "pagelanguage": "en",
                    "touched": "2026-11-01T00:00:00Z",
                    "lastrevid": 1,
                    "length": len(page.text),
                    "fullurl": page.url,
                    "editurl": f"{page.url}?action=edit",
                    "canonicalurl": page.url,
                }
            )
        items.sort(key=lambda item: item["pageid"])
        body = {
            "batchcomplete": True,
            "continue": {"gsroffset": len(items), "continue": "gsroffset||"},
            "warnings": {"extracts": {"warnings": "HTML may be malformed and/or unbalanced."}},
            "query": {"pages": items},
        }
        return Reply(body=body)

    return script


def _wikipedia_error(code: str, info: str, **headers: str) -> Reply:
    body = {"error": {"code": code, "info": info, "docref": "See api.php"}, "servedby": "mw1"}
    return Reply(body=body, headers={"mediawiki-api-error": code, **headers})


def _duckduckgo(find: Find) -> Script:
    def script(request: Request) -> Reply:
        return Reply(body=_duckduckgo_page(find(request.params["q"])))

    return script


def _duckduckgo_page(pages: Sequence[Page]) -> str:
    results = "".join(
        '<div class="result results_links"><div class="links_main links_deep result__body">'
        f'<h2 class="result__title"><a class="result__a" href="{html.escape(page.url)}">'
        f"{html.escape(page.title)}</a></h2>"
        f'<a class="result__snippet" href="{html.escape(page.url)}">{html.escape(page.text[:250])}'
        "</a></div></div>"
        for page in pages
    )
    return f"<!DOCTYPE html><html><body><div id='links'>{results}</div></body></html>"


def impatient(wire: Wire, url: str) -> WebSearch:
    """The wire's client, which does not try again."""
    client = wire.build(url)
    client.__dict__["_retries"] = 0
    return client


def _json_script(item: Callable[[Page], Any], body: Callable[[Any], Any], of: Any) -> Any:
    def answer(find: Find) -> Script:
        return lambda request: Reply(body=body([item(page) for page in find(of(request))]))

    return answer


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
    answer=_json_script(_tavily_item, _tavily_body, lambda request: request.body["query"]),
    query_of=lambda request: request.body["query"],
    results=_tavily_body,
    faults={
        **_EVERYWHERE,
        **_JSON,
        "auth": _tavily_error(401, "Unauthorized: missing or invalid API key."),
        "forbidden": _tavily_error(403, "Forbidden."),
        "rate": _tavily_error(429, "Your request has been blocked due to excessive requests."),
        "quota": _tavily_error(432, "This request exceeds your plan's set usage limit."),
        "paygo": _tavily_error(433, "This request exceeds the pay-as-you-go limit."),
        "bad request": _tavily_error(400, "Query is too long. Max query length is 400 characters."),
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
    answer=_brave,
    query_of=lambda request: request.params["q"],
    results=_brave_body,
    faults={
        **_EVERYWHERE,
        **_JSON,
        "auth": _brave_error(422, "SUBSCRIPTION_TOKEN_INVALID", "The token is invalid."),
        "forbidden": _brave_error(403, "RESOURCE_NOT_ALLOWED", "Not allowed."),
        "rate": _brave_error(429, "RATE_LIMITED", "Request rate limit exceeded for plan."),
        "quota": _brave_error(429, "QUOTA_LIMITED", "Request quota limit exceeded for plan."),
        "bad request": _brave_error(422, "VALIDATION", "Unable to validate request parameter(s)"),
        "not in plan": _brave_error(400, "OPTION_NOT_IN_PLAN", "Not subscribed in the plan."),
    },
)
EXA = Wire(
    name="exa",
    build=lambda url: ExaSearch(api_key=KEY, base_url=url),
    answer=_json_script(_exa_item, _exa_body, lambda request: request.body["query"]),
    query_of=lambda request: request.body["query"],
    results=_exa_body,
    faults={
        **_EVERYWHERE,
        **_JSON,
        "auth": _exa_error(401, "INVALID_API_KEY", "Invalid API key"),
        "forbidden": _exa_error(403, "ACCESS_DENIED", "Not on your plan"),
        "quota": _exa_error(402, "NO_MORE_CREDITS", "You have exceeded your credits limit."),
        "rate": Reply(status=429, body={"error": "You've exceeded your Exa rate limit of 10"}),
        "bad request": _exa_error(400, "INVALID_REQUEST_BODY", "query is required"),
    },
)
SEARXNG = Wire(
    name="searxng",
    build=lambda url: SearxngSearch(base_url=url),
    answer=_json_script(_searxng_item, _searxng_body, lambda request: request.params["q"]),
    query_of=lambda request: request.params["q"],
    results=_searxng_body,
    faults={
        **_EVERYWHERE,
        **_JSON,
        "json is off": Reply(status=403, body="<html>403 Forbidden</html>"),
        "auth": Reply(status=401, body="<html>401 Authorization Required</html>"),
        "rate": Reply(status=429, body="<html>Too Many Requests</html>"),
        "bad request": Reply(status=400, body="<html>Bad Request</html>"),
        "no engine": Reply(
            body=_searxng_body([])
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
    answer=_wikipedia,
    query_of=lambda request: request.params["gsrsearch"],
    faults={
        **_EVERYWHERE,
        **_JSON,
        "auth": Reply(status=403, body="Please set a user-agent and respect our robot policy."),
        "rate": Reply(status=429, body="<html>Too many requests</html>"),
        "quota": _wikipedia_error("ratelimited", "You've exceeded your rate limit."),
        "bad request": _wikipedia_error("badinteger", 'Invalid value "x" for "gsrlimit".'),
        "too long": _wikipedia_error(
            "cirrussearch-query-too-long", "Search request is longer than the maximum."
        ),
        "lag": _wikipedia_error("maxlag", "Waiting for db1: 5 seconds lagged."),
        "busy": _wikipedia_error("cirrussearch-too-busy-error", "Search is too busy."),
    },
)
DUCKDUCKGO = Wire(
    name="duckduckgo",
    build=lambda url: DuckDuckGoSearch(base_url=url),
    answer=_duckduckgo,
    query_of=lambda request: request.params["q"],
    faults={
        **_EVERYWHERE,
        "challenge": Reply(status=202, body="<html><body>anomaly-modal</body></html>"),
        "rate": Reply(status=429, body="<html></html>"),
        "blocked": Reply(status=403, body="<html>403</html>"),
    },
)
WIRES = {wire.name: wire for wire in (TAVILY, BRAVE, EXA, SEARXNG, WIKIPEDIA, DUCKDUCKGO)}
