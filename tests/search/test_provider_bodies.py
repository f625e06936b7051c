"""Odd, huge and hostile answers of providers, and what becomes of them."""

import gzip

import pytest

from crag_graph.errors import (
    SearchUnavailableError,
)
from crag_graph.search import http
from tests.fakes.web_servers import Reply, Request, WebServer
from tests.fakes.web_servers_wire import (
    PAGE,
    TAVILY,
    WIKIPEDIA,
    WIRES,
    Page,
    Wire,
    impatient,
)

QUERY = "ferry Lund departure"
JSON_WIRES = [wire for wire in WIRES.values() if wire.results is not None]


@pytest.mark.parametrize("wire", JSON_WIRES, ids=lambda wire: wire.name)
@pytest.mark.case(39)
def test_odd_items_are_left_out_and_counted(wire: Wire) -> None:
    good = wire.answer(lambda _: [PAGE])(
        Request(method="", path="", params={"q": ""}, headers={}, body={"query": ""}, at=0)
    )
    (item,) = _find(good.body)
    nameless = dict.fromkeys(item)
    odd = [{"url": "https://a.example"}, nameless, "str", None, 7, [], item]
    assert wire.results is not None
    with WebServer(Reply(body=wire.results(odd))) as server:
        found = wire.build(server.url).search(QUERY, max_results=9, seconds=5)
    assert [document.metadata["source"] for document in found.documents] == [PAGE.url]
    assert found.skipped == {"no text": 1, "no http or https address": 1, "not a result": 4}


def _find(body: dict) -> list:
    return body["results"] if "results" in body else body["web"]["results"]


@pytest.mark.parametrize("wire", JSON_WIRES, ids=lambda wire: wire.name)
@pytest.mark.case(39)
def test_null_for_results_is_nothing_found_and_an_object_is_a_failure(wire: Wire) -> None:
    assert wire.results is not None
    with WebServer(Reply(body=wire.results(None))) as server:
        assert not wire.build(server.url).search(QUERY, max_results=9, seconds=5).documents
    with (
        WebServer(Reply(body=wire.results({"a": 1}))) as server,
        pytest.raises(SearchUnavailableError, match="an object where its results should be"),
    ):
        impatient(wire, server.url).search(QUERY, max_results=9, seconds=5)


@pytest.mark.case(28)
@pytest.mark.case(39)
def test_a_text_in_place_of_results_is_a_failure_and_never_read_by_the_letter() -> None:
    with (
        WebServer(Reply(body={"results": "HTTPError('403 Client Error')"})) as server,
        pytest.raises(SearchUnavailableError, match="a text where its results should be"),
    ):
        impatient(TAVILY, server.url).search(QUERY, max_results=9, seconds=5)


@pytest.mark.case(40)
@pytest.mark.parametrize("wire", JSON_WIRES, ids=lambda wire: wire.name)
def test_an_answer_that_is_too_large_is_given_up_on(wire: Wire, monkeypatch) -> None:
    monkeypatch.setattr(http, "MAX_BODY_BYTES", 100_000)
    bomb = gzip.compress(b" " * 10_000_000)
    with (
        WebServer(Reply(body=bomb, headers={"content-encoding": "gzip"})) as server,
        pytest.raises(SearchUnavailableError, match="sent more than"),
    ):
        wire.build(server.url).search(QUERY, max_results=9, seconds=5)
    assert len(server.requests) == 1


@pytest.mark.case(40)
def test_page_text_falls_back_to_the_snippet_and_huge_pages_are_cut_to_what_matches() -> None:
    filler = "Nothing of interest is said in this sentence. " * 20
    huge = "\n\n".join([*[filler] * 1200, "Valve K7 takes a torque of 9 Nm.", *[filler] * 60])
    items = [
        {"url": "https://a.example", "title": "A", "content": "A snippet.", "raw_content": None},
        {"url": "https://b.example", "title": "B", "content": "Valve", "raw_content": huge},
    ]
    assert len(huge) > 1_150_000
    with WebServer(Reply(body={"results": items})) as server:
        found = TAVILY.build(server.url).search("torque valve K7", max_results=9, seconds=9)
    first, second = found.documents
    assert first.page_content == "A snippet."
    assert len(second.page_content) <= 12_000
    assert "Valve K7 takes a torque of 9 Nm." in second.page_content


@pytest.mark.case(41)
def test_the_same_page_under_several_addresses_is_one_result() -> None:
    urls = (
        "https://Site.example/a",
        "https://site.example/a/",
        "http://site.example/a#top",
        "https://site.example/a?utm_source=x",
        "https://site.example/a?id=2",
    )
    with WebServer(TAVILY.answer(lambda _: [Page(url=url) for url in urls])) as server:
        found = TAVILY.build(server.url).search(QUERY, max_results=9, seconds=5)
    assert [document.metadata["source"] for document in found.documents] == [
        "https://site.example/a",
        "https://site.example/a?id=2",
    ]
    assert found.skipped == {"the same page twice": 3}


@pytest.mark.case(105)
@pytest.mark.case(124)
def test_only_http_addresses_become_sources_and_private_ones_are_reported() -> None:
    urls = (
        "file:///etc/passwd",
        "javascript:alert(1)",
        "http://169.254.169.254/latest",
        "http://localhost:6333",
        "http://10.0.0.5",
    )
    with WebServer(TAVILY.answer(lambda _: [Page(url=url) for url in urls])) as server:
        found = TAVILY.build(server.url).search(QUERY, max_results=9, seconds=5)
        assert len(server.requests) == 1  # no page is fetched
    assert len(found.documents) == 3
    assert found.skipped == {"no http or https address": 2}
    assert found.notes == ["3 results of tavily with a private address"]


def test_searxng_uses_its_infoboxes_and_names_engines_that_did_not_answer() -> None:
    body = {
        "results": [],
        "infoboxes": [
            {"infobox": "Lund", "id": "https://w.example/Lund", "content": "A town in Sweden."}
        ],
        "unresponsive_engines": [["google", "timeout"]],
    }
    with WebServer(Reply(body=body)) as server:
        found = WIRES["searxng"].build(server.url).search(QUERY, max_results=4, seconds=5)
    (document,) = found.documents
    assert document.metadata["title"] == "Lund"
    assert "google (timeout)" in found.notes[0]


def test_the_best_two_articles_of_wikipedia_are_read_whole_and_the_rest_by_their_beginning() -> (
    None
):
    tail = "At the end of the article stands the answer."
    pages = [
        Page(url=f"https://w.example/{n}", title=f"T{n}", text=f"Article {n}. " + "x " * 200 + tail)
        for n in range(4)
    ]
    with WebServer(WIKIPEDIA.answer(lambda _: pages)) as server:
        found = WIKIPEDIA.build(server.url).search(QUERY, max_results=4, seconds=5)
    assert [document.metadata["title"] for document in found.documents] == ["T0", "T1", "T2", "T3"]
    assert [tail in document.page_content for document in found.documents] == [
        True,
        True,
        False,
        False,
    ]
    assert len(server.requests) == 3


@pytest.mark.case(45)
@pytest.mark.parametrize("failure", [Reply(status=500), Reply(delay=60), Reply(body="[]")])
def test_an_article_that_cannot_be_read_whole_is_used_by_its_beginning(failure) -> None:
    good = WIKIPEDIA.answer(lambda _: [PAGE])

    def script(request: Request) -> Reply:
        return failure if "pageids" in request.params else good(request)

    with WebServer(script) as server:
        found = WIKIPEDIA.build(server.url).search(QUERY, max_results=4, seconds=1)
    assert [document.page_content for document in found.documents] == [PAGE.text]
    assert "1 article of Wikipedia" in found.notes[0]
