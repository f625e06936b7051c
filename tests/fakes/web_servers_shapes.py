"""The bodies that search providers send: answers that hold pages, and errors, in their own shapes.

The shapes follow the providers' references: docs.tavily.com, api-dashboard.search.brave.com,
exa.ai/docs, docs.searxng.org, mediawiki.org/wiki/API, and the result page of html.duckduckgo.com.
"""

import dataclasses
import html
from collections.abc import Callable, Sequence
from typing import Any

from tests.fakes.web_servers import Reply, Request, Script


@dataclasses.dataclass(frozen=True, kw_only=True)
class Page:
    """A page of the fake web."""

    url: str
    title: str = "A page"
    text: str = "The ferry leaves Lund at nine."
    published: str = ""


PAGE = Page(url="https://a.example/ferry", title="Ferry", published="2026-11-12")
Find = Callable[[str], Sequence[Page]]


def tavily_item(page: Page) -> dict[str, Any]:
    item = {
        "url": page.url,
        "title": page.title,
        "content": page.text[:200],
        "score": 0.98,
        "raw_content": page.text,
    }
    return item | ({"published_date": page.published} if page.published else {})


def tavily_body(items: Any) -> dict[str, Any]:
    return {
        "query": "q",
        "follow_up_questions": None,
        "answer": None,
        "images": [],
        "results": items,
        "response_time": 1.2,
        "request_id": "8d2a",
    }


def tavily_error(status: int, text: str) -> Reply:
    return Reply(status=status, body={"detail": {"error": text}})


def brave_item(page: Page) -> dict[str, Any]:
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


def brave_body(items: Any) -> dict[str, Any]:
    return {
        "query": {"original": "q", "more_results_available": True},
        "mixed": {"type": "mixed", "main": [], "top": [], "side": []},
        "type": "search",
        "web": {"type": "search", "results": items, "family_friendly": True},
    }


def brave(find: Find) -> Script:
    def script(request: Request) -> Reply:
        items = [brave_item(page) for page in find(request.params["q"])]
        if "/news/" in request.path:
            return Reply(body={"type": "news", "query": {"original": "q"}, "results": items})
        body = brave_body(items)
        if not items:
            del body["web"]  # kinds without a result are left out
        return Reply(body=body)

    return script


def brave_error(status: int, code: str, detail: str) -> Reply:
    error = {"id": "d8e0", "status": status, "code": code, "detail": detail, "meta": {}}
    return Reply(status=status, body={"type": "ErrorResponse", "error": error, "time": 1773685964})


def exa_item(page: Page) -> dict[str, Any]:
    item = {"id": page.url, "url": page.url, "title": page.title, "author": "", "text": page.text}
    return item | ({"publishedDate": f"{page.published}T00:00:00.000Z"} if page.published else {})


def exa_body(items: Any) -> dict[str, Any]:
    return {
        "requestId": "b5947044",
        "resolvedSearchType": "neural",
        "results": items,
        "costDollars": {"total": 0.005},
    }


def exa_error(status: int, tag: str, text: str) -> Reply:
    return Reply(status=status, body={"requestId": "b594", "error": text, "tag": tag})


def searxng_item(page: Page) -> dict[str, Any]:
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


def searxng_body(items: Any) -> dict[str, Any]:
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


def wikipedia(find: Find) -> Script:
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


def wikipedia_error(code: str, info: str, **headers: str) -> Reply:
    body = {"error": {"code": code, "info": info, "docref": "See api.php"}, "servedby": "mw1"}
    return Reply(body=body, headers={"mediawiki-api-error": code, **headers})


def duckduckgo(find: Find) -> Script:
    def script(request: Request) -> Reply:
        return Reply(body=duckduckgo_page(find(request.params["q"])))

    return script


def duckduckgo_page(pages: Sequence[Page]) -> str:
    results = "".join(
        '<div class="result results_links"><div class="links_main links_deep result__body">'
        f'<h2 class="result__title"><a class="result__a" href="{html.escape(page.url)}">'
        f"{html.escape(page.title)}</a></h2>"
        f'<a class="result__snippet" href="{html.escape(page.url)}">{html.escape(page.text[:250])}'
        "</a></div></div>"
        for page in pages
    )
    return f"<!DOCTYPE html><html><body><div id='links'>{results}</div></body></html>"


def json_script(item: Callable[[Page], Any], body: Callable[[Any], Any], of: Any) -> Any:
    def answer(find: Find) -> Script:
        return lambda request: Reply(body=body([item(page) for page in find(of(request))]))

    return answer
