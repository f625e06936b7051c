"""What each provider is asked, and how a search is narrowed."""

import pytest

from crag_graph.search.base import SearchFilters
from crag_graph.search.wikipedia import WikipediaSearch
from tests.fakes.web_servers import Request, WebServer
from tests.fakes.web_servers_wire import (
    KEY,
    PAGE,
    TAVILY,
    WIKIPEDIA,
    WIRES,
    Page,
    Wire,
)

QUERY = "ferry Lund departure"
EVERY = pytest.mark.parametrize("wire", WIRES.values(), ids=WIRES)
FILTERS = SearchFilters(
    topic="news",
    time_range="week",
    include_domains=("a.example",),
    exclude_domains=("bad.a.example",),
)


@EVERY
@pytest.mark.parametrize("topic", ["general", "news"])
def test_domains_are_filtered_whatever_the_provider_does(wire: Wire, topic) -> None:
    pages = [
        Page(url=f"https://{host}/x", text=f"{host} says so.")
        for host in ("a.example", "www.a.example", "bad.a.example", "nota.example", "b.example")
    ]
    filters = SearchFilters(
        topic=topic, include_domains=FILTERS.include_domains, exclude_domains=("bad.a.example",)
    )
    with WebServer(wire.answer(lambda _: pages)) as server:
        found = wire.build(server.url).search(QUERY, max_results=9, seconds=5, filters=filters)
    hosts = {document.metadata["source"] for document in found.documents}
    assert hosts == {"https://a.example/x", "https://www.a.example/x"} or hosts == {
        "https://a.example/x"
    }
    assert found.skipped["another domain than asked for"] == 2
    assert found.skipped["an excluded domain"] == 1


def sent(wire: Wire, filters: SearchFilters | None, max_results: int = 4) -> Request:
    with WebServer(wire.answer(lambda _: [])) as server:
        wire.build(server.url).search(QUERY, max_results=max_results, seconds=5, filters=filters)
    return server.requests[0]


def test_what_tavily_is_asked() -> None:
    plain = sent(TAVILY, None)
    assert plain.headers["authorization"] == f"Bearer {KEY}"
    assert "x-tavily-access-mode" not in plain.headers
    assert plain.body == {
        "query": QUERY,
        "search_depth": "basic",
        "topic": "general",
        "max_results": 4,
        "include_raw_content": "markdown",
    }
    narrowed = sent(TAVILY, FILTERS).body
    assert narrowed["topic"] == "news"
    assert narrowed["time_range"] == "week"
    assert narrowed["include_domains"] == ["a.example"]
    assert narrowed["exclude_domains"] == ["bad.a.example"]


def test_what_brave_is_asked() -> None:
    plain = sent(WIRES["brave"], None)
    assert plain.path == "/res/v1/web/search"
    assert plain.headers["x-subscription-token"] == KEY
    assert plain.params["count"] == "4"
    assert "freshness" not in plain.params
    narrowed = sent(WIRES["brave"], FILTERS)
    assert narrowed.path == "/res/v1/news/search"
    assert narrowed.params["freshness"] == "pw"
    assert narrowed.params["count"] == "20"  # it filters no domains itself


def test_what_exa_is_asked() -> None:
    plain = sent(WIRES["exa"], None)
    assert plain.headers["x-api-key"] == KEY
    assert plain.body["numResults"] == 4
    assert plain.body["contents"] == {"text": {"maxCharacters": 12_000}}
    narrowed = sent(WIRES["exa"], FILTERS).body
    assert narrowed["category"] == "news"
    assert narrowed["startPublishedDate"].endswith("Z")
    assert narrowed["includeDomains"] == ["a.example"]
    assert narrowed["excludeDomains"] == ["bad.a.example"]


def test_what_searxng_is_asked() -> None:
    params = sent(WIRES["searxng"], FILTERS).params
    assert params == {"q": QUERY, "format": "json", "categories": "news", "time_range": "week"}


def test_what_duckduckgo_is_asked() -> None:
    params = sent(WIRES["duckduckgo"], FILTERS).params
    assert params["q"] == QUERY
    assert params["df"] == "w"


def test_what_wikipedia_is_asked_and_by_whom() -> None:
    request = sent(WIKIPEDIA, None)
    assert request.path == "/w/api.php"
    assert request.params["gsrlimit"] == "4"
    assert request.headers["user-agent"].startswith("crag-graph/")
    with WebServer(WIKIPEDIA.answer(lambda _: [])) as server:
        client = WikipediaSearch(base_url=server.url, user_agent="library/1 (mail@a.example)")
        client.search(QUERY, max_results=1, seconds=5)
    assert server.requests[0].headers["user-agent"] == "library/1 (mail@a.example)"


@pytest.mark.case(32)
@pytest.mark.case(33)
@EVERY
@pytest.mark.parametrize(
    "query", ["ferry " * 150, "京" * 390 + "👩‍👩‍👧‍👦" * 20, "a" * 401], ids=["words", "cjk", "one"]
)
def test_a_query_is_cut_to_what_the_provider_takes(wire: Wire, query: str) -> None:
    with WebServer(wire.answer(lambda _: [PAGE])) as server:
        found = wire.build(server.url).search(query, max_results=4, seconds=5)
    asked = wire.query_of(server.requests[0])
    assert len(found.documents) == 1
    assert 0 < len(asked) <= (300 if wire.name == "wikipedia" else 400)
    assert query.startswith(asked)
    assert not asked.endswith("\u200d")
