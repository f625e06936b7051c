"""Keys and addresses: sent only where that is safe, shown nowhere."""

import asyncio
import logging
import pickle
import subprocess
import sys
import textwrap
import traceback
from pathlib import Path

import pytest

from crag_graph.errors import ConfigurationError, StoreAuthError, StoreError
from crag_graph.retrieval.server.address import ServerAddress
from crag_graph.retrieval.server.connection import ServerConnection
from crag_graph.retrieval.server.index import ServerIndex
from crag_graph.retrieval.store import open_index
from crag_graph.transient import RetryPolicy
from tests.fakes.qdrant_facade import QdrantFacade
from tests.fakes.stores import SCHEMA, chunk, vector_of

KEY = "TESTLEAK-0123456789"


@pytest.mark.parametrize(
    ("url", "shown", "loopback"),
    [
        ("http://localhost:6333", "http://localhost:6333", True),
        ("localhost", "http://localhost:6333", True),
        ("http://127.0.0.2:80/", "http://127.0.0.2:80", True),
        ("http://[::1]:7", "http://[::1]:7", True),
        ("http://qdrant.localhost", "http://qdrant.localhost:6333", True),
        ("qdrant:6333", "http://qdrant:6333", False),
        ("https://x.cloud.example/q/", "https://x.cloud.example:6333/q", False),
        ("  https://10.0.0.5:1  ", "https://10.0.0.5:1", False),
        ("http://localhost.evil.example", "http://localhost.evil.example:6333", False),
        ("http://u:p%40ss@host", "http://host:6333", False),
    ],
)
def test_addresses(url: str, shown: str, *, loopback: bool) -> None:
    address = ServerAddress.parse(url)
    assert (address.shown, address.is_loopback) == (shown, loopback)


def test_user_and_password_are_read_from_the_address() -> None:
    assert ServerAddress.parse("https://u:p%40ss@host").user == ("u", "p@ss")


@pytest.mark.parametrize(
    "url",
    ["", "ftp://host", "https://", "https://host:99999", "http://[::1", f"https://h?api-key={KEY}"],
)
def test_what_is_no_address_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(ConfigurationError, match="QDRANT_URL") as caught:
        ServerAddress.parse(url)
    assert KEY not in str(caught.value)


@pytest.mark.case(123)
@pytest.mark.parametrize("url", ["http://qdrant.example", f"http://user:{KEY}@qdrant.example"])
def test_a_key_never_travels_unencrypted(tmp_path: Path, url: str) -> None:
    key = None if KEY in url else KEY
    with pytest.raises(ConfigurationError, match="unencrypted: use https") as caught:
        open_index(home=tmp_path, collection="papers", url=url, api_key=key)
    assert KEY not in str(caught.value)


@pytest.mark.case(123)
@pytest.mark.parametrize("said", ["", " ", "1", "no"])
def test_only_the_word_allows_a_key_over_plain_http(
    monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    address = ServerAddress.parse("http://qdrant:6333")
    monkeypatch.setenv("CRAG_QDRANT_PLAIN_HTTP", said)
    with pytest.raises(ConfigurationError, match="CRAG_QDRANT_PLAIN_HTTP=allow"):
        address.require_safe(KEY)
    monkeypatch.setenv("CRAG_QDRANT_PLAIN_HTTP", "allow")
    ServerConnection(address, collection="c", api_key=KEY).close()


def test_without_a_key_plain_http_is_fine() -> None:
    connection = ServerConnection(ServerAddress.parse("http://qdrant.example"), collection="c")
    connection.close()


def test_a_key_may_go_to_this_machine_unencrypted(tmp_path: Path) -> None:
    with QdrantFacade(tmp_path, api_key=KEY) as facade:
        index = ServerIndex.open(facade.url, "papers", create=SCHEMA, api_key=KEY)
        index.upsert([chunk("a", "x")])
        assert asyncio.run(index.arank(vector=vector_of("x"), text=None, limit=1)).dense
        assert {seen.headers.get("api-key") for seen in facade.requests} == {KEY}
        index.close()


def test_user_and_password_are_sent_as_basic_authentication(tmp_path: Path) -> None:
    with QdrantFacade(tmp_path) as facade:
        url = facade.url.replace("http://", f"http://user:{KEY}@")
        ServerIndex.open(url, "papers", create=SCHEMA).close()
        assert all(seen.headers["authorization"].startswith("Basic ") for seen in facade.requests)


@pytest.mark.case(88)
def test_loopback_is_asked_past_any_proxy(
    facade: QdrantFacade, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    index = ServerIndex.open(facade.url, "papers", create=SCHEMA)
    index.upsert([chunk("a", "x")])
    assert asyncio.run(index.arank(vector=vector_of("x"), text=None, limit=1)).dense
    index.close()


@pytest.mark.case(122)
@pytest.mark.case(123)
def test_no_failure_shows_a_key(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    shown: list[str] = []
    with QdrantFacade(tmp_path, api_key=KEY) as facade:
        url = facade.url.replace("http://", f"http://user:{KEY}@")
        policy = RetryPolicy(attempts=1)
        index = ServerIndex.open(url, "papers", create=SCHEMA, api_key=KEY, policy=policy)
        echo = f'{{"status": {{"error": "api-key: {KEY} at http://u:{KEY}@h"}}}}'.encode()
        for failure in (
            {"status": 401, "body": echo},
            {"status": 500, "body": echo},
            {"status": 400, "body": echo},
            {"drop": True},
            {"cut": True},
        ):
            for ask in (
                index.count,
                lambda: asyncio.run(index.arank(vector=vector_of("x"), text=None, limit=1)),
            ):
                facade.fail(**failure)
                with pytest.raises(StoreError) as caught:
                    ask()
                error = caught.value
                assert error.__cause__ is None
                shown += [str(error), repr(error), repr(error.__dict__)]
                shown += traceback.format_exception(error)
                shown.append(str(pickle.dumps(error.args)))
        shown += [repr(index), repr(index._connection), repr(index._connection.address)]
        index.close()
        with pytest.raises(StoreAuthError, match="check QDRANT_API_KEY") as refused:
            ServerIndex.open(facade.url, "papers", api_key=f"{KEY}-wrong")
        shown.append(str(refused.value))
    assert shown
    assert KEY not in "\n".join([*shown, caplog.text])


@pytest.mark.case(84)
@pytest.mark.parametrize("close", ["index.close()", "pass"])
def test_a_process_ends_without_noise(tmp_path: Path, close: str) -> None:
    script = f"""
        import asyncio, sys
        from crag_graph.retrieval.server.index import ServerIndex
        from tests.fakes.stores import SCHEMA, chunk, vector_of
        index = ServerIndex.open(sys.argv[1], "papers", create=SCHEMA, api_key=sys.argv[2])
        index.upsert([chunk("a", "x")])
        async def ask():
            return await index.arank(vector=vector_of("x"), text="x", limit=1)
        print(len(asyncio.run(ask()).dense), len(asyncio.run(ask()).dense))
        {close}
        sys.exit(3)
        """
    with QdrantFacade(tmp_path) as facade:
        done = subprocess.run(
            [
                sys.executable,
                *("-W", "always", "-c"),
                textwrap.dedent(script),
                facade.url,
                KEY,
            ],
            capture_output=True,
            text=True,
            timeout=60,
            cwd=Path(__file__).parents[2],
            check=False,
        )
    assert (done.returncode, done.stdout, done.stderr) == (3, "1 1\n", "")
