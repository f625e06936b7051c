"""Memory, SQLite and Redis: what they hold, forget and do when they fail."""

import asyncio
import json
import sqlite3
import threading

import pytest
from blockbuster import blockbuster_ctx

from crag_graph.budget import Budget
from crag_graph.errors import ConfigurationError, EvaluationError
from crag_graph.evaluators.cached import cached
from crag_graph.evaluators.cached.backends import BoundedMemory, JSONSerializer
from crag_graph.evaluators.cached.store import grade_store
from crag_graph.evaluators.cascade import CascadeEvaluator
from crag_graph.evaluators.cross_encoder import ScoringEvaluator
from crag_graph.models.scorers.hosted import HostedScorer
from crag_graph.models.scorers.onnx import OnnxScorer
from crag_graph.settings import Settings
from tests.fakes.caching import GRADED, run, scoring
from tests.fakes.grading import (
    QUESTION,
    evaluator,
    passages,
    statuses,
)
from tests.fakes.onnx_models import onnx_folder
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.redis_server import RedisServer


def test_memory_forgets_what_was_used_least_recently():
    cache = BoundedMemory(most=2)
    space = ("n",)
    cache.set({(space, "a"): (1, None), (space, "b"): (2, None)})
    cache.get([(space, "a")])
    cache.set({(space, "c"): (3, None)})
    assert cache.get([(space, key) for key in "abc"]) == {(space, "a"): 1, (space, "c"): 3}
    cache.clear([("other",)])
    assert cache.get([(space, "a")])
    cache.clear()
    assert cache.get([(space, "a")]) == {}
    asyncio.run(cache.aset({(space, "d"): (4, None)}))
    assert asyncio.run(cache.aget([(space, "d")])) == {(space, "d"): 4}
    asyncio.run(cache.aclear())


def test_nothing_but_data_is_read_back():
    serializer = JSONSerializer()
    assert serializer.loads_typed(serializer.dumps_typed({"a": 1})) == {"a": 1}
    with pytest.raises(ValueError, match="msgpack"):
        serializer.loads_typed(("msgpack", b"\xc7"))


def test_sqlite_outlives_the_process_and_holds_no_text(tmp_path):
    path = tmp_path / "deep" / "grades.sqlite"
    inner, _ = scoring()
    run(cached(inner, grade_store(f"sqlite:{path}", home=tmp_path)))
    again, scorer = scoring()
    found = run(cached(again, grade_store(f"sqlite:{path}", home=tmp_path)))
    assert found.usage["cache_hits"] == 3
    assert scorer.calls == []
    raw = b"".join(file.read_bytes() for file in path.parent.iterdir())
    for word in ("ferry", "Lund", "Bicycles", "stub-1"):
        assert word.encode() not in raw


def test_expired_entries_of_sqlite_are_removed_when_it_is_opened(tmp_path):
    path = tmp_path / "grades.sqlite"
    store = grade_store(f"sqlite:{path}", home=tmp_path)
    store.set({"old": 1})
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE cache SET expiry = 1")
    connection.close()
    grade_store(f"sqlite:{path}", home=tmp_path).set({"new": 2})
    with sqlite3.connect(path) as connection:
        keys = connection.execute("SELECT key FROM cache").fetchall()
    connection.close()
    assert keys == [("new",)]


async def test_sqlite_is_not_touched_on_the_event_loop(tmp_path, monkeypatch):
    from langgraph.cache.sqlite import SqliteCache

    seen = set()
    for name in ("__init__", "get", "set"):
        real = getattr(SqliteCache, name)

        def watched(self, *given, real=real, **named):
            seen.add(threading.get_ident())
            return real(self, *given, **named)

        monkeypatch.setattr(SqliteCache, name, watched)
    inner, _ = scoring()
    made = cached(inner, grade_store("sqlite", home=tmp_path))
    for _ in range(2):
        found = await made.aevaluate(QUESTION, passages(), settings=Settings(), budget=Budget())
    assert found.usage["cache_hits"] == 3
    assert seen
    assert threading.get_ident() not in seen
    assert (tmp_path / "cache" / "grades.sqlite").is_file()


def test_a_damaged_file_or_entry_fails_no_question(tmp_path):
    path = tmp_path / "grades.sqlite"
    path.write_bytes(b"this is no database at all" * 100)
    inner, _ = scoring()
    found = run(cached(inner, grade_store(f"sqlite:{path}", home=tmp_path)))
    assert set(statuses(found).values()) == {"scored"}
    assert any(
        "the cache (sqlite) failed and was not used: DatabaseError" in n for n in found.notes
    )


def test_redis_keeps_hashed_entries_for_a_month(tmp_path):
    with RedisServer() as server:
        for _ in range(2):
            inner, scorer = scoring()
            found = run(cached(inner, grade_store(server.url, home=tmp_path)))
        assert found.usage["cache_hits"] == 3
        assert scorer.calls == []
        assert found.notes == [f"3 of 3 grades came from the cache (redis at {server.url[8:-2]})"]
        assert set(server.expiries.values()) == {30 * 86_400}
        for key, value in server.data.items():
            assert key.startswith(b"crag-graph:crag:grades:")
            assert json.loads(value.removeprefix(b"json:"))["score"] == 0.5
            assert b"ferry" not in key + value


def test_a_password_of_redis_is_used_and_never_shown(tmp_path):
    with RedisServer(password="TESTLEAKpass") as server:
        inner, _ = scoring()
        store = grade_store(server.url, home=tmp_path)
        assert run(cached(inner, store)).notes == []
        assert "AUTH" in server.commands
        wrong = grade_store(server.url.replace("pass@", "wrong@"), home=tmp_path)
        found = run(cached(inner, wrong))
        assert "failed and was not used" in found.notes[0]
        assert "TESTLEAK" not in f"{found.notes} {store.label}"


def test_a_redis_that_fails_or_is_gone_fails_no_question_and_is_left_alone(tmp_path):
    with RedisServer(broken=True) as server:
        inner, _ = scoring()
        made = cached(inner, grade_store(server.url, home=tmp_path))
        found = run(made)
        assert set(statuses(found).values()) == {"scored"}
        assert "the disk is full" in found.notes[0]
        asked = len(server.commands)
        assert "the disk is full" in run(made).notes[0]
        assert len(server.commands) == asked  # not asked again right away
        url = server.url
    gone = run(cached(scoring()[0], grade_store(url, home=tmp_path)))
    assert "ConnectionError" in gone.notes[0]
    assert set(statuses(gone).values()) == {"scored"}


@pytest.mark.parametrize(("name", "label"), [("off", None), ("", None), ("memory", "memory")])
def test_what_a_cache_is_called(tmp_path, name, label):
    store = grade_store(name, home=tmp_path)
    assert (store and store.label) == label


@pytest.mark.parametrize("name", ["disk", "memory:1", "redis", "http://a", "off:x"])
def test_a_cache_that_does_not_exist_is_named(tmp_path, name):
    with pytest.raises(ConfigurationError, match="CRAG_CACHE"):
        grade_store(name, home=tmp_path)


@pytest.mark.parametrize("name", ["sqlite", "redis://:TESTLEAK@127.0.0.1"])
def test_what_a_cache_needs_is_named_with_its_extra(tmp_path, monkeypatch, name):
    monkeypatch.setattr("importlib.util.find_spec", lambda module: None)
    with pytest.raises(ConfigurationError, match=r"crag-graph\[cache\]") as caught:
        grade_store(name, home=tmp_path)
    assert "TESTLEAK" not in str(caught.value)


@pytest.mark.parametrize("kind", ["memory", "sqlite", "redis"])
def test_nothing_blocks_the_event_loop(tmp_path, kind):
    """As the development server of LangGraph looks for it."""

    async def ask(made):
        with blockbuster_ctx():
            for _ in range(2):
                found = await made.aevaluate(
                    QUESTION, passages(), settings=Settings(), budget=Budget()
                )
        return found

    with RedisServer() as server, OpenAIServer(lambda _: GRADED) as model:
        store = grade_store(server.url if kind == "redis" else kind, home=tmp_path)
        pairs = ScoringEvaluator(OnnxScorer(onnx_folder(tmp_path / "m", {"nine": 0.5}), threads=1))
        hosted = ScoringEvaluator(HostedScorer("m", base_url="http://127.0.0.1:9"))
        cascade = CascadeEvaluator(pairs, cached(evaluator(model), store))
        found = asyncio.run(ask(cascade))
        assert found.decided_by == "llm"
        assert found.usage["cache_hits"] == 3
        assert asyncio.run(ask(cached(pairs, store))).usage["cache_hits"] == 3
        with pytest.raises(EvaluationError):
            asyncio.run(ask(hosted))
