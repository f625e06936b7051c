import time

import pytest
from langchain_core.documents import Document

from crag_graph.errors import (
    ConfigurationError,
    SearchAuthError,
    SearchError,
    SearchQuotaError,
    SearchRequestError,
    SearchUnavailableError,
)
from crag_graph.search.base import SearchFilters, SearchResult
from crag_graph.search.chain import SearchChain
from tests.fakes.web_servers import WebServer
from tests.fakes.web_servers_wire import PAGE, TAVILY, WIRES


class Provider:
    def __init__(self, name: str, answer: object) -> None:
        self.name = name
        self.answer = answer
        self.seconds: list[float] = []
        self.filters: SearchFilters | None = None

    def search(self, query, *, max_results, seconds, filters=None) -> SearchResult:
        self.seconds.append(seconds)
        self.filters = filters
        if isinstance(self.answer, SearchError):
            raise self.answer
        return self.answer  # type: ignore[return-value]

    async def asearch(self, query, *, max_results, seconds, filters=None) -> SearchResult:
        return self.search(query, max_results=max_results, seconds=seconds, filters=filters)


FOUND = SearchResult(
    documents=[Document(page_content="x", metadata={"source": "https://a.example"})], provider="b"
)


async def both(chain: SearchChain, **options) -> SearchResult:
    found = chain.search("q", max_results=3, seconds=9, **options)
    assert await chain.asearch("q", max_results=3, seconds=9, **options) == found
    return found


@pytest.mark.parametrize(
    "failure",
    [
        SearchQuotaError("a has no quota left"),
        SearchAuthError("a refuses the key"),
        SearchRequestError("a refuses the request"),
        SearchUnavailableError("a is down"),
    ],
    ids=lambda failure: type(failure).__name__,
)
async def test_the_next_provider_answers_where_one_fails_and_the_card_says_so(failure):
    last = Provider("c", FOUND)
    chain = SearchChain([Provider("a", failure), Provider("b", FOUND), last])
    found = await both(chain)
    assert found.provider == "b"
    assert found.notes == [f"{failure.message}, so b was asked"]
    assert last.seconds == []


async def test_finding_nothing_is_an_answer():
    second = Provider("b", FOUND)
    found = await both(SearchChain([Provider("a", SearchResult(documents=[])), second]))
    assert list(found.documents) == []
    assert second.seconds == []


async def test_an_answer_that_is_none_counts_as_a_failure():
    found = await both(SearchChain([Provider("a", "HTTPError(403)"), Provider("b", FOUND)]))
    assert found.provider == "b"
    assert "a answered with a text" in found.notes[0]


async def test_when_all_fail_each_is_named_and_a_passing_failure_counts():
    chain = SearchChain(
        [
            Provider("a", SearchQuotaError("a has no quota left", retry_after=60)),
            Provider("b", SearchUnavailableError("b is down", retry_after=2)),
        ]
    )
    for _ in range(2):
        with pytest.raises(
            SearchUnavailableError, match="a has no quota left; b is down"
        ) as caught:
            chain.search("q", max_results=3, seconds=9)
        assert caught.value.retry_after == 2
    only = SearchChain([Provider("a", SearchQuotaError("x")), Provider("b", SearchAuthError("y"))])
    with pytest.raises(SearchQuotaError, match="x; y"):
        await only.asearch("q", max_results=3, seconds=9)


@pytest.mark.case(42)
def test_each_provider_gets_its_share_of_the_time_and_the_last_all_that_is_left():
    first, second = Provider("a", SearchQuotaError("x")), Provider("b", FOUND)
    SearchChain([first, second]).search("q", max_results=3, seconds=10)
    assert first.seconds[0] == pytest.approx(5, abs=0.5)
    assert second.seconds[0] == pytest.approx(10, abs=0.5)


@pytest.mark.case(42)
@pytest.mark.case(45)
def test_a_provider_that_hangs_leaves_time_for_the_next():
    with (
        WebServer(TAVILY.faults["hangs"]) as slow,
        WebServer(WIRES["brave"].answer(lambda _: [PAGE])) as good,
    ):
        chain = SearchChain([TAVILY.build(slow.url), WIRES["brave"].build(good.url)])
        started = time.monotonic()
        found = chain.search("q", max_results=3, seconds=1)
    assert found.provider == "brave"
    assert "within 0.5 seconds, so brave was asked" in found.notes[0]
    assert time.monotonic() - started < 5


async def test_filters_reach_every_provider():
    first, second = Provider("a", SearchQuotaError("x")), Provider("b", FOUND)
    filters = SearchFilters(topic="news")
    await both(SearchChain([first, second]), filters=filters)
    assert first.filters == second.filters == filters


async def test_a_provider_that_knows_no_filters_is_not_asked_for_them_in_vain():
    class Simple:
        name = "simple"

        def search(self, query, *, max_results, seconds):
            return list(FOUND.documents)

        async def asearch(self, query, *, max_results, seconds):
            return self.search(query, max_results=max_results, seconds=seconds)

    chain = SearchChain([Provider("a", SearchQuotaError("x")), Simple()])  # type: ignore[list-item]
    assert (await both(chain)).documents == FOUND.documents
    assert (await both(chain, filters=SearchFilters())).documents == FOUND.documents


def test_a_chain_of_nobody_is_refused_and_a_chain_is_named_by_its_providers():
    with pytest.raises(ConfigurationError):
        SearchChain([])
    assert SearchChain([Provider("a", FOUND), Provider("b", FOUND)]).name == "a, b"
