import asyncio
import dataclasses
import datetime
import json
import sqlite3
import threading

import pytest
from blockbuster import blockbuster_ctx

from crag_graph.budget import Budget
from crag_graph.errors import ConfigurationError, EvaluationError
from crag_graph.evaluators.base import QueryRewriter, RetrievalEvaluator, StripJudge, asks_model
from crag_graph.evaluators.cached import cached
from crag_graph.evaluators.cached.backends import BoundedMemory, JSONSerializer
from crag_graph.evaluators.cached.grades import CachedEvaluator
from crag_graph.evaluators.cached.store import GradeStore, grade_store
from crag_graph.evaluators.cascade import CascadeEvaluator
from crag_graph.evaluators.cross_encoder import ScoringEvaluator
from crag_graph.evaluators.local import LocalEvaluator
from crag_graph.graph import build_graph
from crag_graph.models.scorers.hosted import HostedScorer
from crag_graph.models.scorers.onnx import OnnxScorer
from crag_graph.prompting import Prompts
from crag_graph.settings import Settings
from tests.fakes.collaborators import StubEvaluator, services
from tests.fakes.grading import (
    QUESTION,
    TEXTS,
    chat,
    evaluator,
    fused,
    passages,
    scores,
    statuses,
)
from tests.fakes.onnx_models import onnx_folder
from tests.fakes.openai_server import OpenAIServer, as_json
from tests.fakes.redis_server import RedisServer
from tests.fakes.scorers import StubScorer

GRADED = as_json(fused(("P1", 5, [1]), ("P2", 2, []), ("P3", 1, [])))


def memory():
    return GradeStore(BoundedMemory, label="memory", days=None)


def run(made, given=None, question=QUESTION, **settings):
    given = passages() if given is None else given
    return made.evaluate(question, given, settings=Settings(**settings), budget=Budget())


def arun(made, given=None, question=QUESTION, **settings):
    given = passages() if given is None else given
    knobs = Settings(**settings)
    return asyncio.run(made.aevaluate(question, given, settings=knobs, budget=Budget()))


def scoring(score=lambda text: 0.5, **more):
    scorer = StubScorer(score, **more)
    return ScoringEvaluator(scorer), scorer


@pytest.mark.parametrize("evaluate", [run, arun])
def test_the_same_question_costs_one_call_and_says_the_same(evaluate):
    with OpenAIServer(lambda _: GRADED) as server:
        made = cached(evaluator(server), memory())
        first, second = evaluate(made), evaluate(made)
        assert len(server.requests) == 1
    assert isinstance(made, RetrievalEvaluator)
    assert made.name == "llm"
    assert asks_model(made)
    assert second.grades == first.grades
    assert second.strip_scores == first.strip_scores
    assert second.search_query == first.search_query == "ferry Lund timetable"
    assert first.usage["llm_calls"] == 1
    assert "cache_hits" not in first.usage
    assert second.usage == {"cache_hits": 3}
    assert second.notes == ["3 of 3 grades came from the cache (memory)"]


def test_ids_and_order_do_not_matter_but_texts_titles_and_strips_do():
    with OpenAIServer(lambda _: GRADED) as server:
        made = cached(evaluator(server), memory())
        run(made)
        renamed = {f"x{at}": text for at, text in enumerate(reversed(TEXTS.values()))}
        found = run(made, passages(renamed))
        assert scores(found) == {"x2": 1.0, "x1": 0.25, "x0": 0.0}
        assert all(key.startswith("x") for key in found.strip_scores)
        assert len(server.requests) == 1
        changed = [
            [dataclasses.replace(passages()[0], title="T"), *passages()[1:]],
            [dataclasses.replace(passages()[0], strips=()), *passages()[1:]],
            [dataclasses.replace(passages()[0], origin="web"), *passages()[1:]],
            passages(TEXTS | {"D1": TEXTS["D1"] + " No more."}),
        ]
        for given in changed:
            before = len(server.requests)
            run(made, given)
            assert len(server.requests) > before


def test_a_model_that_reads_passages_together_is_cached_by_their_set():
    with OpenAIServer(lambda _: GRADED) as server:
        made = cached(evaluator(server), memory())
        run(made)
        server.script(lambda _: as_json(fused(("P1", 3, [1]), ("P2", 3, []))))
        found = run(made, passages({"D1": TEXTS["D1"], "D2": TEXTS["D2"]}))
        assert scores(found) == {"D1": 0.5, "D2": 0.5}
        assert len(server.requests) == 2


def test_a_scorer_of_pairs_is_asked_for_what_is_new_alone():
    inner, scorer = scoring()
    made = cached(inner, memory())
    assert not asks_model(made)
    run(made, passages({"a": "One.", "b": "Two."}))
    found = run(made, passages({"b": "Two.", "c": "Three."}))
    assert scorer.calls == [["One.", "Two."], ["Three."]]
    assert scores(found) == {"b": 0.5, "c": 0.5}
    assert len(found.strip_scores) == 2
    assert found.usage["cache_hits"] == 1
    assert "1 of 2 grades came from the cache (memory)" in found.notes


CHANGES = [
    {"evaluation_mode": "staged"},
    {"evaluation_mode": "per_passage"},
    {"prompt_evaluate": "Grade.\n<!-- user -->\n$passages $question $fence"},
    {"passage_tokens": 200},
    {"batch_passages": 2},
    {"sub_queries": 2},
    {"withhold_instructions": False},
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: next(iter(change)))
def test_settings_that_change_what_a_model_sees_change_the_key(change):
    with OpenAIServer() as server:
        inner = evaluator(server)
        assert inner.cache_key(Settings(**change)) != inner.cache_key(Settings())


@pytest.mark.parametrize("change", [{"upper": 0.9}, {"strip_floor": 0.1}, {"top_k": 3}], ids=str)
def test_settings_that_do_not_change_a_grade_keep_the_entries(change):
    with OpenAIServer(lambda _: GRADED) as server:
        made = cached(evaluator(server), memory())
        run(made)
        run(made, **change)
        assert len(server.requests) == 1


def test_another_model_or_prompt_or_temperature_or_fallback_is_another_key(tmp_path):
    (tmp_path / "refine.md").write_text("$question $passages\n<!-- user -->\n$question $passages")
    with OpenAIServer() as server:
        from crag_graph.evaluators.llm import LLMEvaluator

        made = [
            LLMEvaluator(chat(server)),
            LLMEvaluator(chat(server, "other")),
            LLMEvaluator(chat(server, temperature=0.7)),
            LLMEvaluator(chat(server), fallback=chat(server, "other")),
        ]
        keys = {each.cache_key(Settings()) for each in made}
        assert len(keys) == 4
        assert "TESTLEAK" not in str(keys)
        staged = Settings(evaluation_mode="staged")
        own = LLMEvaluator(chat(server), prompts=Prompts(tmp_path))
        assert own.cache_key(staged) != made[0].cache_key(staged)


def test_another_model_of_a_scorer_is_another_key():
    store = memory()
    run(cached(scoring()[0], store))
    other, scorer = scoring(lambda text: 0.7, key="stub-2")
    assert set(scores(run(cached(other, store))).values()) == {0.7}
    assert len(scorer.calls) == 1


def test_what_failed_or_is_unknown_is_asked_for_again():
    answers = [None, 0.4]
    inner, scorer = scoring(lambda text: answers[0] if "nine" in text else 0.2)
    made = cached(inner, memory())
    assert statuses(run(made))["D1"] == "unknown"
    answers[0] = 0.4
    found = run(made)
    assert scores(found)["D1"] == 0.4
    assert found.usage["cache_hits"] == 2
    assert all("nine" in scorer.calls[1][at] for at in range(1))


def test_a_set_of_which_one_failed_is_not_kept():
    gap = as_json(fused(("P1", 5, [1]), ("P2", 2, [])))
    nothing = as_json(fused())
    with OpenAIServer([gap, nothing, nothing, nothing]) as server:
        made = cached(evaluator(server), memory())
        assert "unknown" in statuses(run(made)).values()
        before = len(server.requests)
        server.script(lambda _: GRADED)
        assert set(statuses(run(made)).values()) == {"scored"}
        assert len(server.requests) == before + 1


def test_errors_pass_and_leave_nothing_behind():
    made = cached(StubEvaluator(EvaluationError("gone", reason="transport")), memory())
    with pytest.raises(EvaluationError, match="gone"):
        run(made)


def test_blank_passages_are_unknown_and_keep_nobody_from_the_cache():
    with OpenAIServer(lambda _: GRADED) as server:
        made = cached(evaluator(server), memory())
        given = [*passages(), *passages({"blank": " "})]
        assert statuses(run(made, given))["blank"] == "unknown"
        again = run(made, given)
        assert statuses(again)["blank"] == "unknown"
        assert again.usage["cache_hits"] == 3
        assert len(server.requests) == 1


def test_a_question_for_what_is_current_is_cached_for_the_day():
    day = [datetime.date(2026, 11, 30)]
    inner, scorer = scoring()
    made = CachedEvaluator(inner, memory(), today=lambda: day[0])
    for question in ("Who is the current mayor?", QUESTION):
        run(made, question=question)
    day[0] += datetime.timedelta(days=1)
    before = len(scorer.calls)
    run(made, question=QUESTION)
    assert len(scorer.calls) == before
    run(made, question="Who is the current mayor?")
    assert len(scorer.calls) == before + 1


def test_an_evaluator_that_says_nothing_of_itself_counts_as_joint():
    made = cached(LocalEvaluator(), memory())
    first = run(made)
    assert run(made).grades == first.grades
    assert run(made).usage["cache_hits"] == 3
    subset = run(made, passages()[:2])
    assert "cache_hits" not in subset.usage
    assert "cache_hits" not in run(made, strip_floor=0.1).usage
    assert made.fingerprint(Settings()).startswith("local:")


def test_steps_of_their_own_are_cached_where_the_evaluator_has_them():
    inner = Steps()
    made = cached(inner, memory())
    assert isinstance(made, StripJudge)
    assert isinstance(made, QueryRewriter)
    assert not isinstance(cached(scoring()[0], memory()), StripJudge)
    knobs, budget = Settings(evaluation_mode="staged"), Budget()
    for _ in range(2):
        refined = made.refine(QUESTION, passages(), settings=knobs, budget=budget)
        rewritten = made.rewrite(QUESTION, settings=knobs, budget=budget)
        arefined = asyncio.run(made.arefine(QUESTION, passages(), settings=knobs, budget=budget))
        arewritten = asyncio.run(made.arewrite(QUESTION, settings=knobs, budget=budget))
        assert arefined.strip_scores == refined.strip_scores
        assert arewritten.queries == rewritten.queries == ["ferry lund"]
    assert set(refined.strip_scores.values()) == {0.8}
    assert refined.usage == {"cache_hits": 3}
    assert rewritten.usage == {"cache_hits": 1}
    assert inner.calls == ["refine", "rewrite"]


def test_a_rewrite_that_fell_back_to_keywords_is_not_kept():
    inner = Steps(notes=["the question's own keywords are the query"])
    made = cached(inner, memory())
    for _ in range(2):
        made.rewrite(QUESTION, settings=Settings(), budget=Budget())
    assert inner.calls == ["rewrite", "rewrite"]


class Steps(StubEvaluator):
    """Judges strips and rewrites, and counts how often."""

    def __init__(self, notes=()):
        super().__init__(lambda _: 0.9)
        self.calls = []
        self.said = notes

    def cache_key(self, settings):
        return settings.evaluation_mode

    def joint(self, settings):
        return True

    def refine(self, question, passages, *, settings, budget):
        from crag_graph.evaluators.base import Evaluation

        self.calls.append("refine")
        strips = {strip["id"]: 0.8 for passage in passages for strip in passage.strips}
        return Evaluation(grades=(), strip_scores=strips)

    async def arefine(self, question, passages, *, settings, budget):
        return self.refine(question, passages, settings=settings, budget=budget)

    def rewrite(self, question, *, settings, budget):
        from crag_graph.evaluators.base import Rewrite

        self.calls.append("rewrite")
        return Rewrite(queries=["ferry lund"], notes=self.said)

    async def arewrite(self, question, *, settings, budget):
        return self.rewrite(question, settings=settings, budget=budget)


def test_the_usage_of_a_run_counts_the_hits():
    inner, _ = scoring()
    graph = build_graph(services(evaluator=cached(inner, memory())))
    graph.invoke({"question": QUESTION})
    state = graph.invoke({"question": QUESTION})
    assert state["usage"]["cache_hits"] == 1
    fallbacks = state["decision"]["stages"]["evaluate"]["fallbacks"]
    assert fallbacks == ["1 of 1 grade came from the cache (memory)"]


async def test_questions_side_by_side_get_their_own_grades():
    inner, _ = scoring(lambda text: len(text) / 1000)
    made = cached(inner, memory())
    given = [passages({f"d{at}": "word " * (1 + at % 5)}) for at in range(40)]
    found = await asyncio.gather(
        *(made.aevaluate(QUESTION, each, settings=Settings(), budget=Budget()) for each in given)
    )
    for each, evaluation in zip(given, found, strict=True):
        assert evaluation.grades[0]["document_id"] == each[0].id
        assert evaluation.grades[0]["score"] == pytest.approx(len(each[0].text.strip()) / 1000)


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


@pytest.mark.parametrize(
    "value",
    [
        "no entry",
        {},
        {"score": 2.0, "strips": []},
        {"score": 0.5},
        {"score": 0.5, "strips": [[0, 1]]},
        {"score": 0.5, "strips": [[0, 3, 0.5]]},
        {"score": True, "strips": []},
    ],
    ids=str,
)
def test_an_entry_that_is_none_of_ours_is_a_miss(value):
    class Odd(GradeStore):
        def get(self, keys):
            return dict.fromkeys(keys, value), ""

    inner, _ = scoring()
    found = run(cached(inner, Odd(BoundedMemory, label="odd")))
    assert set(scores(found).values()) == {0.5}
    assert "cache_hits" not in found.usage


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
