"""What the real client of every provider makes of a good answer on the wire."""

import asyncio

import pytest

from tests.fakes.web_servers import WebServer
from tests.fakes.web_servers_wire import (
    PAGE,
    WIRES,
    Page,
    Wire,
)

QUERY = "ferry Lund departure"
EVERY = pytest.mark.parametrize("wire", WIRES.values(), ids=WIRES)


@EVERY
async def test_both_entries_find_the_same_pages_with_their_text(wire: Wire) -> None:
    other = Page(url="https://b.example/boats", title="Boats", text="Boats sail at ten.")
    with WebServer(wire.answer(lambda _: [PAGE, other])) as server:
        client = wire.build(server.url)
        found = client.search(QUERY, max_results=5, seconds=5)
        awaited = await client.asearch(QUERY, max_results=5, seconds=5)
    assert [document.metadata["source"] for document in found.documents] == [PAGE.url, other.url]
    assert [document.metadata["title"] for document in found.documents] == ["Ferry", "Boats"]
    assert [document.page_content for document in found.documents] == [PAGE.text, other.text]
    assert found.provider == client.name == wire.name
    assert awaited == found
    assert {wire.query_of(r) for r in server.requests if "pageids" not in r.params} == {QUERY}


@EVERY
def test_the_publication_date_is_kept_where_the_provider_gives_one(wire: Wire) -> None:
    with WebServer(wire.answer(lambda _: [PAGE])) as server:
        (document,) = wire.build(server.url).search(QUERY, max_results=5, seconds=5).documents
    dated = wire.name not in ("wikipedia", "duckduckgo")
    assert document.metadata.get("published") == ("2026-11-12" if dated else None)


@EVERY
def test_no_more_results_than_asked_for(wire: Wire) -> None:
    pages = [Page(url=f"https://a.example/{n}", text=f"Page {n} says this.") for n in range(12)]
    with WebServer(wire.answer(lambda _: pages)) as server:
        found = wire.build(server.url).search(QUERY, max_results=3, seconds=5)
    assert [document.metadata["source"][-1] for document in found.documents] == ["0", "1", "2"]


@EVERY
@pytest.mark.case(38)
def test_nothing_found_is_an_empty_result_and_no_failure(wire: Wire) -> None:
    with WebServer(wire.answer(lambda _: [])) as server:
        found = wire.build(server.url).search(QUERY, max_results=3, seconds=5)
    assert list(found.documents) == []
    assert found.skipped == {}


@EVERY
async def test_one_client_serves_many_searches_at_once(wire: Wire) -> None:
    def answer(query: str) -> list[Page]:
        return [Page(url=f"https://a.example/{query.split()[0]}", text=f"About {query}.")]

    with WebServer(wire.answer(answer)) as server:
        client = wire.build(server.url)
        found = await asyncio.gather(
            *(client.asearch(f"n{n} ferry", max_results=2, seconds=20) for n in range(8))
        )
    assert [item.documents[0].page_content for item in found] == [
        f"About n{n} ferry." for n in range(8)
    ]


@EVERY
def test_a_search_works_where_an_event_loop_runs_already(wire: Wire) -> None:
    async def notebook() -> int:
        return len(wire.build(server.url).search(QUERY, max_results=2, seconds=5).documents)

    with WebServer(wire.answer(lambda _: [PAGE])) as server:
        assert asyncio.run(notebook()) == 1


@EVERY
async def test_cancelling_a_search_ends_it(wire: Wire) -> None:
    with WebServer(wire.faults["hangs"]) as server:
        task = asyncio.create_task(wire.build(server.url).asearch(QUERY, max_results=2, seconds=60))
        await asyncio.to_thread(server.wait_for_request)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
