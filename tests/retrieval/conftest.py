"""The stores that the contract is tested on."""

import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from crag_graph.retrieval.server.index import ServerIndex
from crag_graph.transient import RetryPolicy
from tests.fakes.qdrant_facade import QdrantFacade
from tests.fakes.stores import SCHEMA, Backend, chunk

_SERVER = os.environ.get("QDRANT_URL", "")
_STORES: list[Any] = ["embedded", "loopback"]
if _SERVER:
    _host = urlsplit(_SERVER).hostname or ""
    _STORES.append(pytest.param("server", marks=pytest.mark.allow_hosts([_host])))


@pytest.fixture(params=_STORES)
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    """The embedded store, a server on loopback, and a real one where QDRANT_URL names it."""
    if request.param == "embedded":
        store = Backend(tmp_path)
        yield store
        store.close()
    elif request.param == "loopback":
        with QdrantFacade(tmp_path / "server", strict=True) as facade:
            store = Backend(tmp_path, url=facade.url)
            yield store
            store.close()
    else:
        from qdrant_client import QdrantClient

        store = Backend(tmp_path, url=_SERVER, prefix=f"contract-{uuid.uuid4().hex[:8]}-")
        yield store
        store.close()
        client = QdrantClient(url=_SERVER, api_key=os.environ.get("QDRANT_API_KEY"))
        client.delete_collection(store.schema().name)
        client.close()


@pytest.fixture
def facade(tmp_path: Path) -> Iterator[QdrantFacade]:
    """A server on loopback."""
    with QdrantFacade(tmp_path / "server") as server:
        yield server


@pytest.fixture
def slept() -> list[float]:
    """The pauses that `index` would have slept."""
    return []


@pytest.fixture
def index(facade: QdrantFacade, slept: list[float]) -> Iterator[ServerIndex]:
    """A collection with one chunk on the server."""

    async def asleep(seconds: float) -> None:
        slept.append(seconds)

    policy = RetryPolicy(sleep=slept.append, asleep=asleep, jitter=lambda: 1.0)
    opened = ServerIndex.open(facade.url, "papers", create=SCHEMA, policy=policy)
    opened.upsert([chunk("a", "the tide turns")])
    facade.requests.clear()
    yield opened
    opened.close()
