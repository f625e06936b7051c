"""A server that fails: every way of it becomes one error, and what may help is tried again."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from crag_graph.errors import (
    CollectionNotFoundError,
    StoreAuthError,
    StoreError,
    StoreRequestError,
    StoreUnavailableError,
)
from crag_graph.retrieval.server.address import ServerAddress
from crag_graph.retrieval.server.index import ServerIndex
from crag_graph.transient import RetryPolicy
from tests.fakes.qdrant_facade import QdrantFacade
from tests.fakes.stores import SCHEMA, chunk, vector_of

Ask = Callable[[ServerIndex], Any]

ASKS: dict[str, Ask] = {
    "upsert": lambda index: index.upsert([chunk("b", "x")]),
    "delete": lambda index: index.delete_document("a"),
    "rank": lambda index: index.rank(vector=vector_of("x"), text="tide", limit=3),
    "arank": lambda index: asyncio.run(index.arank(vector=vector_of("x"), text="tide", limit=3)),
    "retrieve": lambda index: index.retrieve(["a"]),
    "aretrieve": lambda index: asyncio.run(index.aretrieve(["a"])),
    "scroll": lambda index: list(index.scroll()),
    "count": lambda index: index.count(),
}

HTML = b"<html><body>login at https://user:hunter22@proxy.example</body></html>"

REFUSALS: list[tuple[dict[str, Any], type[StoreError]]] = [
    ({"status": 401}, StoreAuthError),
    ({"status": 403}, StoreAuthError),
    ({"status": 404}, CollectionNotFoundError),
    ({"status": 404, "body": HTML}, CollectionNotFoundError),
    ({"status": 409}, StoreRequestError),
    ({"status": 400}, StoreRequestError),
    ({"status": 413, "body": b""}, StoreRequestError),
    ({"status": 422, "body": b"[]"}, StoreRequestError),
    ({"status": 302, "headers": {"Location": "/login"}}, StoreRequestError),
]

OUTAGES: list[dict[str, Any]] = [
    {"status": 429},
    {"status": 500},
    {"status": 502, "body": HTML},
    {"status": 503, "body": b""},
    {"status": 200, "body": HTML},
    {"status": 200, "body": b'{"result": 7, "status": "ok", "time": 0}'},
    {"cut": True},
    {"short": True},
    {"drop": True},
]


@pytest.mark.parametrize("ask", ASKS)
def test_a_refusal_is_not_repeated(
    index: ServerIndex, facade: QdrantFacade, slept: list[float], ask: str
) -> None:
    for failure, kind in REFUSALS:
        facade.requests.clear()
        facade.fail(**failure)
        with pytest.raises(StoreError) as caught:
            ASKS[ask](index)
        assert type(caught.value) is kind, failure
        assert str(failure["status"]) in caught.value.message or kind is CollectionNotFoundError
        assert len(facade.requests) == 1
    assert slept == []


@pytest.mark.parametrize("ask", ASKS)
def test_an_outage_is_waited_out_and_named_when_it_lasts(
    index: ServerIndex, facade: QdrantFacade, slept: list[float], ask: str
) -> None:
    for failure in OUTAGES:
        facade.requests.clear()
        slept.clear()
        facade.fail(**failure)
        ASKS[ask](index)  # the second attempt succeeds
        assert len(facade.requests) == 2, failure
        facade.requests.clear()
        facade.fail(times=4, **failure)
        with pytest.raises(StoreUnavailableError) as caught:
            ASKS[ask](index)
        assert len(facade.requests) == 4, failure
        assert slept == [0.25, 0.25, 0.5, 1.0]
        assert caught.value.transient
        assert ServerAddress.parse(facade.url).shown in caught.value.message


@pytest.mark.parametrize("ask", ["rank", "arank"])
def test_silence_is_a_time_out(facade: QdrantFacade, ask: str) -> None:
    once = RetryPolicy(attempts=1)
    index = ServerIndex.open(facade.url, "papers", create=SCHEMA, policy=once, seconds=1)
    gate = threading.Event()
    facade.fail(until=gate)
    with pytest.raises(StoreUnavailableError, match=r"did not answer in time \(ReadTimeout\)"):
        ASKS[ask](index)
    gate.set()
    index.close()


@pytest.mark.parametrize("ask", ["count", "arank"])
@pytest.mark.parametrize(
    ("status", "value", "expected"),
    [
        (429, "3", 3.25),
        (503, "2", 2.25),
        (429, "1.5", 1.75),
        (429, "-4", 0.25),
        (429, "soon", 0.25),
    ],
)
def test_retry_after_is_honoured(
    index: ServerIndex,
    facade: QdrantFacade,
    slept: list[float],
    ask: str,
    status: int,
    value: str,
    expected: float,
) -> None:
    facade.fail(status=status, headers={"Retry-After": value})
    ASKS[ask](index)
    assert slept == [pytest.approx(expected)]


def test_retry_after_may_be_a_date(index: ServerIndex, facade: QdrantFacade) -> None:
    facade.fail(status=429, headers={"Retry-After": "Wed, 21 Oct 2043 07:28:00 GMT"})
    with pytest.raises(StoreUnavailableError) as caught:
        index.count()
    assert caught.value.retry_after is not None
    assert caught.value.retry_after > 10**8


def test_a_wait_that_is_too_long_is_not_begun(
    index: ServerIndex, facade: QdrantFacade, slept: list[float]
) -> None:
    facade.fail(status=429, headers={"Retry-After": "3600"})
    with pytest.raises(StoreUnavailableError) as caught:
        index.count()
    assert caught.value.retry_after == 3600
    assert slept == []


def test_a_dead_port_is_unavailable(slept: list[float]) -> None:
    policy = RetryPolicy(attempts=2, sleep=slept.append)
    with pytest.raises(StoreUnavailableError, match="cannot be reached"):
        ServerIndex.open("http://127.0.0.1:9", "papers", policy=policy)
    assert len(slept) == 1
