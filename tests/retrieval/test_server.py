"""A collection on a server: made, found again, filtered, asked by many at once."""

import asyncio
import logging
import threading
from pathlib import Path

import pytest

from crag_graph.errors import (
    StoreAuthError,
    StoreError,
    StoreRequestError,
)
from crag_graph.retrieval.index import Point
from crag_graph.retrieval.server import setup
from crag_graph.retrieval.server.address import ServerAddress
from crag_graph.retrieval.server.connection import ServerConnection
from crag_graph.retrieval.server.index import ServerIndex
from tests.fakes.qdrant_facade import CLIENT_VERSION, QdrantFacade
from tests.fakes.stores import SCHEMA, chunk, vector_of

MAJOR, MINOR = (int(part) for part in CLIENT_VERSION.split(".")[:2])


@pytest.mark.case(68)
async def test_cancelling_stops_the_repeating(index: ServerIndex, facade: QdrantFacade) -> None:
    gate = threading.Event()
    facade.fail(until=gate, status=503, times=9)
    asking = asyncio.create_task(index.arank(vector=vector_of("x"), text=None, limit=3))
    assert await asyncio.to_thread(facade.wait_for, 1)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    gate.set()
    facade.failures.clear()
    assert (await index.arank(vector=vector_of("x"), text=None, limit=3)).dense
    assert len(facade.requests) == 2, "the cancelled one was sent once, and the client goes on"


async def test_questions_do_not_wait_for_each_other(
    index: ServerIndex, facade: QdrantFacade
) -> None:
    gate = threading.Event()
    facade.fail(until=gate, times=40)
    asking = [
        asyncio.create_task(index.arank(vector=vector_of("x"), text=None, limit=3))
        for _ in range(40)
    ]
    assert await asyncio.to_thread(facade.wait_for, 40), "each is sent before any is answered"
    gate.set()
    assert all(found.dense for found in await asyncio.gather(*asking))


@pytest.mark.case(73)
@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_strict_server_gets_the_indexes_that_it_wants(
    tmp_path: Path, *, asynchronous: bool
) -> None:
    with QdrantFacade(tmp_path, strict=True) as facade:
        index = ServerIndex.open(facade.url, "papers", create=SCHEMA)
        assert set(facade.collections["papers"].indexed) == {"document_id", "source", "version"}
        index.upsert([chunk("a", "x", year=2020), chunk("b", "y", year=2021)])
        facade.requests.clear()
        where = {"year": 2021, "source": "b.md"}
        query = {"vector": vector_of("x"), "text": None, "limit": 5, "where": where}
        ask = (lambda: asyncio.run(index.arank(**query))) if asynchronous else index.rank
        found = ask() if asynchronous else index.rank(**query)
        assert len(found.dense) == 1
        assert facade.collections["papers"].indexed["year"] == "integer"
        facade.requests.clear()
        index.rank(**query)
        assert facade.paths() == ["POST /collections/papers/points/query/batch"]
        index.close()


@pytest.mark.case(73)
def test_an_index_that_must_not_be_made_is_an_error_and_not_an_empty_list(tmp_path: Path) -> None:
    with QdrantFacade(tmp_path, strict=True) as facade:
        index = ServerIndex.open(facade.url, "papers", create=SCHEMA)
        facade.fail(status=403, on="/index")
        with pytest.raises(StoreAuthError):
            index.search_dense(vector_of("x"), limit=3, where={"year": 2021})
        index.close()


@pytest.mark.case(75)
def test_requests_stay_below_what_a_server_takes(tmp_path: Path, facade: QdrantFacade) -> None:
    schema = type(SCHEMA)(name="wide", embedding_model="stub", dimension=1536)
    index = ServerIndex.open(facade.url, "wide", create=schema)
    facade.requests.clear()
    vector = vector_of("x", dimension=1536)
    points = [
        Point(id=str(n), vector=vector, text="x", payload={"blob": "é" * 40_000})
        for n in range(300)
    ]
    index.upsert(points)
    sizes = [seen.size for seen in facade.requests]
    assert len(sizes) > 3
    assert max(sizes) < 10 * 2**20
    assert index.count() == 300
    index.close()


@pytest.mark.case(79)
@pytest.mark.parametrize(
    ("version", "warned"),
    [
        (f"{MAJOR}.{MINOR - 5}.4", True),
        (f"{MAJOR + 1}.0.0", True),
        (f"{MAJOR}.{MINOR - 1}.9", False),
        (f"{MAJOR}.{MINOR + 1}.0-rc1", False),
        ("dev", False),
    ],
)
def test_a_version_skew_is_logged_once(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    version: str,
    *,
    warned: bool,
) -> None:
    monkeypatch.setattr(setup, "_warned", set())  # an earlier test's server may have had the port
    with QdrantFacade(tmp_path, version=version) as facade, caplog.at_level(logging.WARNING):
        ServerIndex.open(facade.url, "papers", create=SCHEMA).close()
        ServerIndex.open(facade.url, "papers").close()
        told = [record.message for record in caplog.records if "runs Qdrant" in record.message]
        assert len(told) == int(warned)
        assert facade.paths().count("GET /") == 1


def test_making_an_index_sends_nothing(facade: QdrantFacade) -> None:
    connection = ServerConnection(ServerAddress.parse(facade.url), collection="papers")
    index = ServerIndex(connection, SCHEMA)
    assert facade.requests == []
    index.close()
    assert facade.requests == []


def test_a_server_that_forgets_the_schema_is_refused(tmp_path: Path) -> None:
    with (
        QdrantFacade(tmp_path, keeps_metadata=False) as facade,
        pytest.raises(StoreError, match=r"Qdrant 1\.16"),
    ):
        ServerIndex.open(facade.url, "papers", create=SCHEMA)


def test_a_creation_that_was_cut_off_is_completed(facade: QdrantFacade) -> None:
    facade.fail(status=400, on="/index")
    with pytest.raises(StoreRequestError):
        ServerIndex.open(facade.url, "papers", create=SCHEMA)
    ServerIndex.open(facade.url, "papers", create=SCHEMA).close()
    assert set(facade.collections["papers"].indexed) == {"document_id", "source", "version"}


def test_another_process_may_be_faster_in_making_it(facade: QdrantFacade) -> None:
    ServerIndex.open(facade.url, "papers", create=SCHEMA).close()
    facade.fail(status=200, body=b'{"result":{"exists":false},"status":"ok"}', on="/exists")
    ServerIndex.open(facade.url, "papers", create=SCHEMA).close()
