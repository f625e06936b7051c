import asyncio
import dataclasses

import pytest
from langchain_core.documents import Document

from crag_graph.budget import Budget
from crag_graph.errors import BudgetExceededError, ConfigurationError, EvaluationError
from crag_graph.evaluators.base import Evaluation, RetrievalEvaluator
from crag_graph.evaluators.cascade import CascadeEvaluator
from crag_graph.evaluators.grading import as_passages
from crag_graph.graph import build_graph
from crag_graph.settings import Settings
from tests.fakes.collaborators import (
    StubEvaluator,
    StubRetriever,
    StubWeb,
    doc,
    services,
)
from tests.fakes.grading import QUESTION, evaluator, fused, passages, statuses
from tests.fakes.openai_server import OpenAIServer, as_json, error

TWO = {"D1": "The ferry leaves at nine.", "D2": "Bread is baked at four."}


class Paid(StubEvaluator):
    """A stub that costs a call, as a language model does."""

    def __init__(self, scores, **more):
        super().__init__(scores, name="model", **more)
        self.asked = []
        self.settings = []

    def evaluate(self, question, passages, *, settings, budget):
        budget.spend(llm_calls=1, tokens=7)
        self.asked.append([passage.id for passage in passages])
        self.settings.append(settings)
        found = super().evaluate(question, passages, settings=settings, budget=budget)
        return dataclasses.replace(found, usage={"llm_calls": 1, "input_tokens": 7})

    async def aevaluate(self, question, passages, *, settings, budget):
        return self.evaluate(question, passages, settings=settings, budget=budget)


def local(scores, **more):
    return StubEvaluator(scores, name="local", **more)


def evaluate(first, then, given=None, *, budget=None, **settings):
    """Both entries, which must agree."""
    made = CascadeEvaluator(first, then)
    given = passages(TWO) if given is None else given
    knobs = Settings(**settings)
    found = made.evaluate(QUESTION, given, settings=knobs, budget=budget or Budget())
    again = asyncio.run(made.aevaluate(QUESTION, given, settings=knobs, budget=Budget(llm_calls=0)))
    if budget is None:
        assert again == found
    return found


@pytest.mark.parametrize(
    ("best", "asked"),
    [(0.95, False), (0.85, False), (0.84, True), (0.16, True), (0.15, False), (0.05, False)],
)
def test_the_model_is_asked_in_the_grey_band_alone(best, asked):
    then = Paid(lambda _: 0.9)
    found = evaluate(local({"D1": best, "D2": 0.01}), then)
    assert bool(then.asked) is asked
    assert found.decided_by == ("model" if asked else "local")
    assert found.usage.get("llm_calls", 0) == int(asked)
    assert f"local {best:.2f} is {'in' if asked else 'outside of'} the grey band 0.15–0.85" in (
        found.why
    )


@pytest.mark.parametrize(
    ("knobs", "asked"),
    [
        ({"grey_upper": 0.9, "grey_lower": 0.1}, True),
        ({"grey_upper": 0.8}, False),
        ({"grey_upper": 0.95}, True),
        ({"grey_lower": 0.5, "grey_upper": 0.6}, False),
        ({"upper": 0.9}, True),
        ({}, False),
        ({"upper": 0.5, "grey_lower": 0.0}, False),
        ({"profile": "medical"}, True),  # of two passages needed, one is there
    ],
)
def test_the_band_follows_its_knobs_else_the_thresholds_and_their_aggregate(knobs, asked):
    then = Paid(lambda _: 0.9)
    evaluate(local({"D1": 0.85, "D2": 0.2}), then, **knobs)
    assert bool(then.asked) is asked


def test_grades_and_strips_come_from_the_stage_that_decided():
    given = passages(TWO)
    found = evaluate(local(lambda _: 0.5), Paid(lambda _: 0.9, query="ferry times"), given)
    assert {grade["evaluator"] for grade in found.grades} == {"model"}
    assert set(found.strip_scores.values()) == {0.9}
    assert found.search_query == "ferry times"
    clear = evaluate(local(lambda _: 0.9), Paid(lambda _: 0.2), given)
    assert {grade["evaluator"] for grade in clear.grades} == {"local"}
    assert set(clear.strip_scores.values()) == {0.9}


FAILURES = [
    EvaluationError("the model is gone", reason="transport"),
    BudgetExceededError("the run's budget is spent", limit="max_llm_calls"),
]


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: type(failure).__name__)
def test_when_the_model_fails_the_first_grades_stand_and_it_is_said(failure):
    found = evaluate(local(lambda _: 0.5), Paid(failure))
    assert {grade["score"] for grade in found.grades} == {0.5}
    assert found.decided_by == "local"
    assert found.usage["llm_calls"] == 1  # it was paid for all the same
    assert found.usage["input_tokens"] == 7
    assert f"model could not grade, so local did: {failure.message}" in found.notes
    assert "model could not grade" in found.why


def test_when_the_first_fails_the_model_is_asked():
    broken = local(EvaluationError("no weights", reason="request"))
    found = evaluate(broken, Paid(lambda _: 0.9))
    assert found.decided_by == "model"
    assert any("local failed (no weights), so model graded" in note for note in found.notes)


def test_when_both_fail_that_is_an_error():
    first = local(EvaluationError("no weights", reason="request"))
    with pytest.raises(EvaluationError, match="the model is gone"):
        evaluate(first, Paid(FAILURES[0]))


def test_a_passage_that_the_model_could_not_grade_keeps_its_first_grade():
    class Half(Paid):
        def evaluate(self, question, passages, *, settings, budget):
            found = super().evaluate(question, passages, settings=settings, budget=budget)
            first, second = found.grades
            failed = {**second, "score": None, "status": "failed", "reason": "refused"}
            strips = {k: v for k, v in found.strip_scores.items() if k.startswith("D1")}
            return dataclasses.replace(found, grades=[first, failed], strip_scores=strips)

    given = passages(TWO)
    found = evaluate(local(lambda _: 0.5), Half(lambda _: 0.9), given)
    assert [(g["evaluator"], g["score"]) for g in found.grades] == [("model", 0.9), ("local", 0.5)]
    assert found.strip_scores[given[1].strips[0]["id"]] == 0.5
    assert any("could not grade 1 of 2 passages, so local did" in note for note in found.notes)


def test_nothing_is_called_incorrect_while_the_first_could_not_grade_it_all():
    class Gap(StubEvaluator):
        def evaluate(self, question, passages, *, settings, budget):
            found = super().evaluate(question, passages, settings=settings, budget=budget)
            failed = {**found.grades[1], "score": None, "status": "failed"}
            return Evaluation(grades=[found.grades[0], failed])

        async def aevaluate(self, question, passages, *, settings, budget):
            return self.evaluate(question, passages, settings=settings, budget=budget)

    then = Paid(lambda _: 0.9)
    assert evaluate(Gap(lambda _: 0.1, name="local"), then).decided_by == "model"
    assert "could not grade 1 of 2" in evaluate(Gap(lambda _: 0.1, name="local"), then).why
    assert evaluate(Gap(lambda _: 0.9, name="local"), then).decided_by == "local"


def test_blank_passages_alone_ask_nobody_twice():
    then = Paid(lambda _: None)
    found = evaluate(local(lambda _: None), then, passages({"a": " "}))
    assert [grade["status"] for grade in found.grades] == ["unknown"]


def test_what_is_asked_of_the_model_is_asked_in_one_call():
    then = Paid(lambda _: 0.9)
    evaluate(local(lambda _: 0.5), then, evaluation_mode="staged")
    evaluate(local(lambda _: 0.5), then, evaluation_mode="per_passage")
    modes = [settings.evaluation_mode for settings in then.settings]
    assert modes == ["fused"] * 2 + ["per_passage"] * 2


def test_web_pages_are_put_to_the_model_only_if_none_was_asked_before():
    pages = as_passages([Document(id="w", page_content="The ferry leaves.")], origin="web")
    then = Paid(lambda _: 0.9)
    found = evaluate(local(lambda _: 0.5), then, pages, budget=Budget(llm_calls=1))
    assert found.decided_by == "local"
    assert "has asked a model already" in found.why
    then.asked.clear()
    assert evaluate(local(lambda _: 0.5), then, pages, budget=Budget()).decided_by == "model"
    internal = evaluate(local(lambda _: 0.5), then, budget=Budget(llm_calls=1))
    assert internal.decided_by == "model"


def test_an_impossible_band_is_named():
    with pytest.raises(ConfigurationError, match="grey_lower"):
        Settings(grey_lower=0.8, grey_upper=0.1)
    with pytest.raises(ConfigurationError, match=r"grey_lower \(0.15\) is above"):
        evaluate(local(lambda _: 0.5), Paid(lambda _: 0.9), grey_upper=0.1)
    with pytest.raises(ConfigurationError, match="grey_upper"):
        Settings(grey_upper=1.5)


def test_the_fingerprint_follows_band_and_stages():
    made = CascadeEvaluator(local(lambda _: 0.5), Paid(lambda _: 0.9))
    assert isinstance(made, RetrievalEvaluator)
    assert made.fingerprint(Settings()) == made.fingerprint(Settings())
    assert made.fingerprint(Settings(grey_upper=0.9)) != made.fingerprint(Settings())


def test_the_decision_card_says_who_decided_and_why():
    cascade = CascadeEvaluator(local(lambda _: 0.5), Paid(lambda _: 0.9))
    graph = build_graph(services(evaluator=cascade))
    state = graph.invoke({"question": QUESTION})
    stage = state["decision"]["stages"]["evaluate"]
    assert stage["decided"] == "model"
    assert stage["why"].startswith("local 0.50 is in the grey band 0.15–0.85: model decides")
    assert state["decision"]["evaluator"] == "cascade"
    assert state["usage"]["llm_calls"] == 1
    assert "fallbacks" not in stage


@pytest.mark.parametrize("gate", ["local", "llm"])
def test_a_question_takes_two_calls_at_most_also_with_the_web(gate):
    """One to grade in the evaluation or at the web gate, never both; the answer's is the other."""
    then = Paid(lambda _: 0.1)
    graph = build_graph(
        services(
            retriever=StubRetriever([doc("d1")]),
            evaluator=CascadeEvaluator(local(lambda _: 0.5), then),
            web=StubWeb(
                [
                    Document(
                        page_content="The ferry leaves.", metadata={"source": "https://a.example"}
                    )
                ]
            ),
        )
    )
    state = graph.invoke({"question": QUESTION}, context={"web_gate": gate})
    assert state["action"] == "incorrect"
    assert len(state["web_documents"]) == 1
    assert state["usage"]["llm_calls"] == 1
    assert then.asked == [["d1"]]


def test_the_web_gate_may_ask_the_model_when_the_evaluation_did_not():
    then = Paid(lambda _: 0.9)
    scores = {"d1": 0.1}
    first = local(lambda passage: scores.get(passage.id, 0.5))
    graph = build_graph(
        services(
            evaluator=CascadeEvaluator(first, then),
            web=StubWeb(
                [
                    Document(
                        page_content="The ferry leaves.", metadata={"source": "https://a.example"}
                    )
                ]
            ),
        )
    )
    state = graph.invoke({"question": QUESTION}, context={"web_gate": "llm"})
    assert state["action"] == "incorrect"
    assert state["usage"]["llm_calls"] == 1
    assert len(then.asked) == 1


def test_a_real_model_behind_the_cascade_is_asked_once_and_its_outage_falls_back():
    graded = as_json(fused(("P1", 5, [1]), ("P2", 1, [])))
    with OpenAIServer(lambda _: graded) as server:
        made = CascadeEvaluator(local(lambda _: 0.5), evaluator(server))
        found = made.evaluate(QUESTION, passages(TWO), settings=Settings(), budget=Budget())
        assert found.decided_by == "llm"
        assert found.usage["llm_calls"] == len(server.requests) == 1
        assert statuses(found) == {"D1": "scored", "D2": "scored"}
        server.script(lambda _: error(401, "no"))
        found = made.evaluate(QUESTION, passages(TWO), settings=Settings(), budget=Budget())
        assert found.decided_by == "local"
        assert "TESTLEAK" not in str(found)
