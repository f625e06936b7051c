"""What a hit says and costs, and what is not kept."""

import asyncio

import pytest

from crag_graph.budget import Budget
from crag_graph.errors import EvaluationError
from crag_graph.evaluators.base import QueryRewriter, RetrievalEvaluator, StripJudge, asks_model
from crag_graph.evaluators.cached import cached
from crag_graph.evaluators.cached.backends import BoundedMemory
from crag_graph.evaluators.cached.store import GradeStore
from crag_graph.graph import build_graph
from crag_graph.settings import Settings
from tests.fakes.caching import GRADED, arun, memory, run, scoring
from tests.fakes.collaborators import StubEvaluator, services
from tests.fakes.grading import (
    QUESTION,
    evaluator,
    fused,
    passages,
    scores,
    statuses,
)
from tests.fakes.openai_server import OpenAIServer, as_json


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
