"""What goes wrong at a provider: its own errors as ours, within the time, and no secret shown."""

import asyncio
import json
import logging

import pytest

from crag_graph.errors import (
    ConfigurationError,
    SearchAuthError,
    SearchError,
    SearchQuotaError,
    SearchRequestError,
    SearchUnavailableError,
)
from crag_graph.search.brave import BraveSearch
from crag_graph.search.duckduckgo import DuckDuckGoSearch
from crag_graph.search.exa import ExaSearch
from crag_graph.search.searxng import SearxngSearch
from crag_graph.search.tavily import TavilySearch
from tests.fakes.web_servers import Reply, WebServer
from tests.fakes.web_servers_wire import (
    KEY,
    PAGE,
    TAVILY,
    WIRES,
    Wire,
    impatient,
)

QUERY = "ferry Lund departure"
EVERY = pytest.mark.parametrize("wire", WIRES.values(), ids=WIRES)
JSON_WIRES = [wire for wire in WIRES.values() if wire.results is not None]
EXPECTED = {
    "auth": SearchAuthError,
    "forbidden": SearchAuthError,
    "rate": SearchQuotaError,
    "quota": SearchQuotaError,
    "paygo": SearchQuotaError,
    "envelope": SearchQuotaError,
    "challenge": SearchQuotaError,
    "blocked": SearchQuotaError,
    "bad request": SearchRequestError,
    "unprocessable": SearchRequestError,
    "not in plan": SearchRequestError,
    "json is off": SearchRequestError,
    "too long": SearchRequestError,
    "redirect": SearchRequestError,
}
FAULTS = [
    pytest.param(wire, fault, id=f"{wire.name}-{fault}")
    for wire in WIRES.values()
    for fault in wire.faults
    if fault != "hangs"
]


@pytest.mark.case(30)
@pytest.mark.case(39)
@pytest.mark.parametrize(("wire", "fault"), FAULTS)
def test_each_failure_has_its_own_type_and_names_provider_and_host(wire: Wire, fault: str) -> None:
    with WebServer(wire.faults[fault]) as server:
        client = impatient(wire, server.url)
        with pytest.raises(EXPECTED.get(fault, SearchUnavailableError)) as caught:
            client.search(QUERY, max_results=3, seconds=5)
        with pytest.raises(type(caught.value)):
            asyncio.run(client.asearch(QUERY, max_results=3, seconds=5))
    assert client.label in caught.value.message  # type: ignore[attr-defined]
    assert server.url.removeprefix("http://") in caught.value.message
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


@EVERY
@pytest.mark.case(42)
def test_a_provider_that_hangs_is_left_when_the_time_is_over(wire: Wire) -> None:
    with WebServer(wire.faults["hangs"]) as server:
        client = wire.build(server.url)
        with pytest.raises(SearchUnavailableError, match=r"within 0\.3 seconds"):
            client.search(QUERY, max_results=3, seconds=0.3)
        with pytest.raises(SearchUnavailableError, match=r"within 0\.3 seconds"):
            asyncio.run(client.asearch(QUERY, max_results=3, seconds=0.3))


@EVERY
@pytest.mark.case(42)
def test_an_answer_that_drips_in_does_not_stretch_the_time(wire: Wire) -> None:
    # Each byte comes in time for a read, and all of them take half an hour.
    with (
        WebServer(Reply(body=json.dumps({"results": ["x" * 9000]}), drip=0.2)) as server,
        pytest.raises(SearchUnavailableError),
    ):
        wire.build(server.url).search(QUERY, max_results=3, seconds=0.5)


@pytest.mark.case(42)
def test_retries_share_the_time_of_the_search() -> None:
    with (
        WebServer(Reply(status=503, body="", headers={"retry-after": "30"})) as server,
        pytest.raises(SearchUnavailableError) as caught,
    ):
        TAVILY.build(server.url).search(QUERY, max_results=3, seconds=2)
    assert caught.value.retry_after == 30
    assert len(server.requests) == 1


def test_a_passing_failure_is_tried_again_once_and_waits_as_it_is_told() -> None:
    busy = Reply(status=503, body="", headers={"retry-after": "0.3"})
    good = TAVILY.answer(lambda _: [PAGE])
    replies = iter([busy])
    with WebServer(lambda request: next(replies, None) or good(request)) as server:
        found = TAVILY.build(server.url).search(QUERY, max_results=3, seconds=5)
    assert len(found.documents) == 1
    first, second = server.requests
    assert second.at - first.at >= 0.3


@pytest.mark.case(30)
@pytest.mark.parametrize("fault", ["quota", "rate", "auth", "bad request"])
def test_what_will_not_pass_is_not_tried_again(fault: str) -> None:
    with WebServer(TAVILY.faults[fault]) as server, pytest.raises(EXPECTED[fault]):
        TAVILY.build(server.url).search(QUERY, max_results=3, seconds=5)
    assert len(server.requests) == 1


def test_a_wait_that_the_provider_names_travels_with_the_error() -> None:
    later = Reply(status=429, body="{}", headers={"retry-after": "17"})
    with WebServer(later) as server, pytest.raises(SearchQuotaError) as caught:
        BraveSearch(api_key=KEY, base_url=server.url).search("q", max_results=1, seconds=5)
    assert caught.value.retry_after == 17


@pytest.mark.case(122)
@pytest.mark.parametrize("fault", ["auth", "server error", "dropped", "hangs", "login page"])
@pytest.mark.parametrize(
    "wire", [w for w in JSON_WIRES if w.name != "searxng"], ids=lambda w: w.name
)
def test_the_key_is_sent_and_shows_up_nowhere_else(wire: Wire, fault: str, caplog, capfd) -> None:
    caplog.set_level(logging.DEBUG)
    with WebServer(wire.faults[fault]) as server:
        client = impatient(wire, server.url)
        with pytest.raises(SearchError) as caught:
            client.search(QUERY, max_results=3, seconds=0.4)
        assert KEY in str(server.requests[0].headers)
    shown = (str(caught.value), repr(caught.value), repr(client), caplog.text, *capfd.readouterr())
    assert "TESTLEAK" not in "".join(shown)


@pytest.mark.case(123)
def test_a_password_in_the_address_is_sent_as_basic_auth_and_never_shown() -> None:
    with WebServer(WIRES["searxng"].faults["auth"]) as server:
        client = SearxngSearch(base_url=server.url.replace("http://", "http://ops:TESTLEAK@"))
        with pytest.raises(SearchAuthError) as caught:
            client.search(QUERY, max_results=3, seconds=5)
    assert server.requests[0].headers["authorization"].startswith("Basic ")
    assert "TESTLEAK" not in f"{caught.value} {client!r}"


@pytest.mark.case(31)
@pytest.mark.parametrize("provider", [TavilySearch, BraveSearch, ExaSearch])
@pytest.mark.parametrize("key", ["", "  "])
def test_without_a_key_there_is_no_client_that_could_ask_anonymously(provider, key) -> None:
    with pytest.raises(ConfigurationError, match=provider.key_variable):
        provider(api_key=key)


def test_a_key_or_an_address_that_cannot_be_is_refused_by_the_name_of_its_variable() -> None:
    with pytest.raises(ConfigurationError, match="EXA_API_KEY holds"):
        ExaSearch(api_key="schlüssel")
    for wrong in ("ftp://a.example", "a.example", "http://", "http://[::1"):
        with pytest.raises(ConfigurationError, match="SEARXNG_URL"):
            SearxngSearch(base_url=wrong)
    with pytest.raises(ConfigurationError, match="SEARXNG_URL"):
        SearxngSearch()
    with pytest.raises(ConfigurationError, match="DUCKDUCKGO_BASE_URL"):
        DuckDuckGoSearch(base_url="nowhere")


@pytest.mark.case(88)
def test_a_proxy_of_the_environment_is_not_used_for_this_machine(monkeypatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with WebServer(WIRES["searxng"].answer(lambda _: [PAGE])) as server:
        found = SearxngSearch(base_url=server.url).search(QUERY, max_results=3, seconds=5)
    assert len(found.documents) == 1


def test_a_host_that_is_not_there_is_unavailable() -> None:
    with WebServer() as server:
        gone = server.url
    with pytest.raises(SearchUnavailableError, match="cannot be reached"):
        impatient(WIRES["exa"], gone).search(QUERY, max_results=3, seconds=5)
