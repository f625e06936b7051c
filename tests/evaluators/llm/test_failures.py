import asyncio

import pytest

from crag_graph.budget import Budget
from crag_graph.errors import BudgetExceededError, EvaluationError
from crag_graph.evaluators.llm import LLMEvaluator
from crag_graph.models.plan import Pause
from crag_graph.models.structured import LADDER
from crag_graph.settings import Settings
from tests.fakes.grader import by_text, shown
from tests.fakes.grading import (
    QUESTION,
    SCORES,
    TODAY,
    chat,
    evaluate,
    evaluator,
    fused,
    passages,
    scores,
    statuses,
)
from tests.fakes.openai_server import OpenAIServer, Reply, as_json, error


@pytest.fixture
def server():
    LADDER.forget()
    with OpenAIServer(by_text(SCORES)) as running:
        yield running


@pytest.mark.case(1)
def test_an_unreadable_grade_is_a_failure_with_its_text_and_not_the_worst_grade(server):
    server.script(lambda _: Reply(content="The passages look fine to me."))
    with pytest.raises(EvaluationError, match="look fine to me") as caught:
        evaluate(server)
    assert caught.value.reason == "parse"
    assert len(server.requests) == 4  # one repair, and the halves once: then it is not one passage


@pytest.mark.case(14)
def test_a_refusal_is_a_failure_with_its_reason_and_no_storm(server):
    server.script(lambda _: Reply(content=None, refusal="I can't help with that"))
    with pytest.raises(EvaluationError) as caught:
        evaluate(server)
    assert caught.value.reason == "refusal"
    assert len(server.requests) <= 3


@pytest.mark.case(16)
def test_a_model_that_spends_all_on_reasoning_is_not_asked_again(server):
    server.script(lambda _: Reply(content="", finish_reason="length"))
    with pytest.raises(EvaluationError, match="CRAG_MAX_OUTPUT_TOKENS") as caught:
        evaluate(server)
    assert caught.value.reason == "length"
    assert len(server.requests) == 1


@pytest.mark.case(16)
def test_an_answer_that_was_cut_off_is_asked_for_in_parts(server):
    def script(request):
        if len(shown(request)) > 1:
            return Reply(content='{"passages": [{"id": "P1"', finish_reason="length")
        return by_text(SCORES)(request)

    server.script(script)
    evaluation = evaluate(server)
    assert scores(evaluation) == {"D1": 1.0, "D2": 0.25, "D3": 0.0}


def test_one_passage_that_trips_the_filter_is_found_and_the_others_are_graded(server):
    eight = passages({f"D{n}": f"Text {n} about bread." for n in range(8)} | {"D5": "poison"})

    def script(request):
        if "poison" in request.last:
            return error(400, "blocked by the content management policy", code="content_filter")
        return by_text({"bread": 3})(request)

    server.script(script)
    evaluation = evaluate(server, eight)
    assert statuses(evaluation) == {f"D{n}": "failed" if n == 5 else "scored" for n in range(8)}
    assert "content filter" in evaluation.grades[5]["reason"]
    assert len(server.requests) == 7
    assert "graded in parts" in " ".join(evaluation.notes)


@pytest.mark.case(24)
def test_an_overloaded_endpoint_is_a_failure_and_not_irrelevance(server, monkeypatch):
    waits = []
    monkeypatch.setattr(Pause, "perform", lambda self: waits.append(self.seconds))
    limited = error(429, "slow down", headers={"retry-after": "2"})
    server.script([limited, limited, by_text_reply(server)])
    assert scores(evaluate(server))["D1"] == 1.0
    assert waits == [2.0, 2.0]
    server.script(lambda _: limited)
    with pytest.raises(EvaluationError) as caught:
        evaluate(server)
    assert caught.value.reason == "quota"
    assert len(server.requests) == 6


def by_text_reply(server):
    return as_json(fused(("P1", 5, [1]), ("P2", 2, []), ("P3", 1, [])))


@pytest.mark.case(68)
async def test_nothing_is_asked_after_a_cancellation(server):
    server.script(lambda _: Reply(content="prose", delay=0.3))
    made = evaluator(server)
    task = asyncio.create_task(
        made.aevaluate(QUESTION, passages(), settings=Settings(), budget=Budget())
    )
    await asyncio.to_thread(server.wait_for_request)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.sleep(0.5)
    assert len(server.requests) == 1


def test_the_budget_is_asked_before_the_first_call(server):
    with pytest.raises(BudgetExceededError):
        evaluate(server, budget=Budget(max_llm_calls=0))
    with pytest.raises(BudgetExceededError):
        evaluate(server, budget=Budget(max_tokens=100))
    assert server.requests == []


def test_a_budget_that_ends_on_the_way_leaves_the_grades_made_so_far(server):
    many = passages({f"D{n}": f"Text {n} about bread." for n in range(6)})
    evaluation = evaluate(server, many, batch_passages=2, budget=Budget(max_llm_calls=2))
    assert sorted(statuses(evaluation).values()) == ["failed"] * 2 + ["scored"] * 4
    assert len(server.requests) == 2


def test_another_model_steps_in_and_it_is_said(server, monkeypatch):
    monkeypatch.setattr(Pause, "perform", lambda self: None)

    def script(request):
        if request.body["model"] == "fake":
            return error(503, "overloaded")
        return by_text(SCORES)(request)

    server.script(script)
    made = LLMEvaluator(chat(server), fallback=chat(server, "spare"), today=lambda: TODAY)
    evaluation = made.evaluate(QUESTION, passages(), settings=Settings(), budget=Budget())
    assert scores(evaluation)["D1"] == 1.0
    assert "fake at 127.0.0.1" in evaluation.notes[0]
    assert "spare at 127.0.0.1" in evaluation.notes[0]
    assert evaluation.usage["llm_calls"] == 4


def test_refinement_that_fails_is_one_typed_error(server):
    server.script(lambda _: Reply(content="no idea"))
    with pytest.raises(EvaluationError):
        evaluator(server).refine(QUESTION, passages(), settings=Settings(), budget=Budget())
