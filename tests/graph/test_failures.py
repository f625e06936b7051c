"""Refusals, and what becomes of a run of which a part fails or is cancelled."""

import asyncio

import pytest

from crag_graph.errors import (
    CollectionNotFoundError,
    EvaluationError,
    GenerationError,
    SearchUnavailableError,
    StoreUnavailableError,
)
from crag_graph.graph import build_graph
from tests.fakes.collaborators import (
    StubEvaluator,
    StubGenerator,
    StubRetriever,
    StubWeb,
    services,
)
from tests.fakes.world import QUESTION, world


@pytest.mark.case(38)
def test_without_evidence_it_refuses_in_code_and_asks_no_generator():
    made = world(0.1, web=StubWeb([]))
    out = build_graph(services(**made)).invoke(QUESTION)
    assert out["status"] == "refused"
    assert out["citations"] == []
    assert made["generator"].requests == []
    assert out["usage"]["generation_calls"] == 0
    assert "0.10" in out["answer"]
    assert "web search found nothing" in out["answer"]


def test_without_a_web_provider_it_says_so_once_and_still_works():
    out = build_graph(services(**world(0.5, web=None))).invoke(QUESTION)
    assert out["status"] == "answered"
    assert [warning for warning in out["warnings"] if "web search is off" in warning] == [
        "web search is off: set CRAG_WEB_SEARCH or TAVILY_API_KEY to search the web"
    ]


def test_web_results_below_the_floor_do_not_reach_the_generator():
    made = world(0.1, local_evaluator=StubEvaluator(lambda _: 0.18, name="gate"))
    out = build_graph(services(**made)).invoke(QUESTION)
    assert out["status"] == "refused"
    assert "0.18" in out["answer"]
    assert made["generator"].requests == []


@pytest.mark.case(129)
def test_an_empty_collection_differs_from_nothing_relevant():
    empty = StubRetriever([], empty=True)
    nothing = build_graph(services(**world(0.1, web=None, retriever=empty))).invoke(QUESTION)
    irrelevant = build_graph(services(**world(0.1, web=None))).invoke(QUESTION)
    assert nothing["decision"]["grading"] == "empty"
    assert irrelevant["decision"]["grading"] == "scored"
    assert "crag ingest" in nothing["answer"]
    assert "crag ingest" not in irrelevant["answer"]


@pytest.mark.case(128)
def test_a_store_that_is_down_leaves_the_web_and_is_named():
    down = StubRetriever(StoreUnavailableError("Qdrant at q.example cannot be reached"))
    out = build_graph(services(**world(0.9, retriever=down))).invoke(QUESTION)
    assert out["status"] == "answered"
    assert {citation["origin"] for citation in out["citations"]} == {"web"}
    assert any("local search is unavailable" in warning for warning in out["warnings"])
    assert out["decision"]["failures"] == ["retrieval: Qdrant at q.example cannot be reached"]


@pytest.mark.case(128)
def test_store_and_web_down_is_a_refusal_and_no_answer_from_general_knowledge():
    made = world(
        0.9,
        retriever=StubRetriever(StoreUnavailableError("Qdrant at q.example cannot be reached")),
        web=StubWeb(SearchUnavailableError("w.example cannot be reached")),
    )
    out = build_graph(services(**made)).invoke(QUESTION)
    assert out["status"] == "refused"
    assert made["generator"].requests == []
    assert "could not be searched" in out["answer"]
    assert len(out["decision"]["failures"]) == 2


@pytest.mark.case(81)
def test_a_missing_collection_ends_the_run_instead_of_searching_the_web():
    made = world(0.9, retriever=StubRetriever(CollectionNotFoundError("no collection 'x'")))
    with pytest.raises(CollectionNotFoundError):
        build_graph(services(**made)).invoke(QUESTION)
    assert made["web"].queries == []


@pytest.mark.case(121)
@pytest.mark.parametrize(
    ("policy", "action", "kept"),
    [("ambiguous", "ambiguous", {"d1", "d2"}), ("irrelevant", "incorrect", set())],
)
def test_the_outage_policy_decides_when_grading_fails(policy, action, kept):
    failing = StubEvaluator(EvaluationError("the judge is down", reason="transport"))
    out = build_graph(services(**world(0.9, evaluator=failing))).invoke(
        QUESTION, context={"outage_policy": policy}
    )
    assert out["action"] == action
    assert out["decision"]["grading"] == "failed"
    assert {grade["status"] for grade in out["grades"]} == {"failed"}
    internal = {s["document_id"] for s in out["strips"] if s["kept"] and s["origin"] == "internal"}
    assert internal == kept
    assert "grading failed: the judge is down" in out["warnings"]


@pytest.mark.case(121)
def test_the_outage_policy_raise_raises_and_local_grades_locally():
    failing = StubEvaluator(EvaluationError("the judge is down", reason="transport"))
    graph = build_graph(services(**world(0.9, evaluator=failing)))
    with pytest.raises(EvaluationError, match="the judge is down"):
        graph.invoke(QUESTION, context={"outage_policy": "raise"})
    out = graph.invoke(QUESTION, context={"outage_policy": "local"})
    assert out["action"] == "correct"
    assert out["decision"]["evaluator"] == "stub-local"
    assert out["decision"]["failures"] == ["evaluator: the judge is down"]


def test_a_generator_that_fails_raises_with_the_evidence_in_hand():
    failing = StubGenerator(GenerationError("no answer", reason="length", evidence=["a"]))
    with pytest.raises(GenerationError, match="no answer") as caught:
        build_graph(services(**world(0.9, generator=failing))).invoke(QUESTION)
    assert caught.value.evidence == ("a",)


def test_a_generator_that_declines_is_a_refusal_without_citations():
    declining = StubGenerator("I cannot help with that.", refused=True)
    out = build_graph(services(**world(0.9, generator=declining))).invoke(QUESTION)
    assert (out["status"], out["answer"], out["citations"]) == (
        "refused",
        "I cannot help with that.",
        [],
    )


@pytest.mark.case(68)
async def test_cancelling_a_run_ends_it_and_nothing_is_called_afterwards():
    started = asyncio.Event()

    class Slow(StubEvaluator):
        async def aevaluate(self, question, passages, *, settings, budget):
            started.set()
            await asyncio.sleep(30)
            return self.evaluate(question, passages, settings=settings, budget=budget)

    made = world(0.5, evaluator=Slow(lambda _: 0.5))
    task = asyncio.create_task(build_graph(services(**made)).ainvoke(QUESTION))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert made["web"].queries == []
    assert made["generator"].requests == []
