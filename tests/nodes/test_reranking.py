"""Reranking: more candidates, scored once; the best stay; nothing is scored twice."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langgraph.checkpoint.memory import InMemorySaver

from crag_graph.budget import Budget
from crag_graph.errors import BudgetExceededError, EvaluationError
from crag_graph.evaluators.local import LocalEvaluator
from crag_graph.graph import build_graph
from crag_graph.nodes.evaluate import EvaluateNode
from crag_graph.nodes.reranking import order
from crag_graph.nodes.retrieve import RetrieveNode
from crag_graph.settings import Settings
from tests.fakes.collaborators import StubEvaluator, StubRetriever, StubWeb, doc, services

ASK: Any = {"question": "When does the ferry leave?"}
NAMES = [f"d{number}" for number in range(1, 7)]
DOCUMENTS = [doc(name) for name in NAMES]
SCORES = {"d1": 0.2, "d2": 0.3, "d3": 0.9, "d4": 0.1, "d5": 0.8, "d6": 0.1}
RERANK = Settings(top_k=2, rerank_from=6)
Run = Callable[..., dict[str, Any]]


class Scorer(StubEvaluator):
    """An evaluator that asks no language model."""

    asks_model = False


@pytest.fixture(params=["sync", "async"])
def run(request: pytest.FixtureRequest) -> Run:
    """Asks a graph on stubs, by either entry."""
    import asyncio

    def ask(settings: Settings = RERANK, **given: Any) -> dict[str, Any]:
        graph = build_graph(services(**({"retriever": StubRetriever(DOCUMENTS)} | given)))
        if request.param == "sync":
            return dict(graph.invoke(ASK, context=settings))
        return dict(asyncio.run(graph.ainvoke(ASK, context=settings)))

    return ask


def ids(state: dict[str, Any]) -> list[str]:
    return [document.id for document in state["documents"]]


def test_the_best_of_the_candidates_stay_and_are_scored_once(run: Run):
    scorer = Scorer(SCORES)
    state = run(evaluator=scorer)
    assert ids(state) == ["d3", "d5"]
    assert scorer.calls == [NAMES]  # neither the passages nor their strips a second time
    assert [(grade["document_id"], grade["score"]) for grade in state["grades"]] == [
        ("d3", 0.9),
        ("d5", 0.8),
    ]
    assert {strip["document_id"]: strip["score"] for strip in state["strips"]} == {
        "d3": 0.9,
        "d5": 0.8,
    }
    assert state["action"] == "correct"
    assert state["usage"]["evaluator_calls"] == 1
    assert state["usage"]["nodes"]["retrieve"]["evaluator_calls"] == 1


def test_the_local_evaluator_embeds_no_pair_twice(monkeypatch: pytest.MonkeyPatch):
    local = LocalEvaluator()
    judged: list[int] = []
    evaluate = local.evaluate

    def counted(question: str, passages: Any, **options: Any) -> Any:
        judged.append(len(passages))
        return evaluate(question, passages, **options)

    monkeypatch.setattr(local, "evaluate", counted)
    graph = build_graph(
        services(
            retriever=StubRetriever(
                [doc("cows", "Cows graze."), doc("ferry", "The ferry leaves at nine o'clock.")]
            ),
            evaluator=local,
            local_evaluator=local,
        )
    )
    state = graph.invoke(ASK, context=Settings(top_k=1, rerank_from=2))
    assert judged == [2]
    assert ids(state) == ["ferry"]
    assert state["strips"][0]["score"] is not None


def test_the_card_tells_how_ranks_moved(run: Run):
    state = run(evaluator=Scorer(SCORES))
    stages = state["decision"]["stages"]
    assert stages["retrieve"]["decided"] == "2 passages"
    assert stages["retrieve"]["why"] == (
        "6 passages retrieved; reranked by stub-evaluator, of 6 kept the fused ranks 3, 5, 2 from "
        "beyond rank 2"
    )
    assert stages["evaluate"]["why"] == (
        "2 of 2 passages graded by stub-evaluator, 2 of them while they were reranked"
    )
    assert [document.metadata["retrieval"] for document in state["documents"]] == [
        {"fused_rank": 3, "rerank_score": 0.9},
        {"fused_rank": 5, "rerank_score": 0.8},
    ]


def test_it_is_off_by_default(run: Run):
    scorer = Scorer(SCORES)
    state = run(Settings(top_k=2), evaluator=scorer)
    assert ids(state) == ["d1", "d2"]
    assert scorer.calls == [["d1", "d2"]]
    assert "retrieval" not in state["documents"][0].metadata


def test_a_language_model_reranks_nothing(run: Run):
    model = StubEvaluator(SCORES, name="model")  # it does not say that it asks none
    local = Scorer({"d4": 0.9, "d6": 0.8} | dict.fromkeys(("d1", "d2", "d3", "d5"), 0.1))
    state = run(evaluator=model, local_evaluator=local)
    assert local.calls == [NAMES]
    assert model.calls == [["d4", "d6"]]
    assert ids(state) == ["d4", "d6"]
    assert {grade["evaluator"] for grade in state["grades"]} == {"model"}
    assert state["usage"]["evaluator_calls"] == 2


def test_the_local_grades_serve_where_the_model_fails(run: Run):
    model = StubEvaluator(EvaluationError("down", reason="transport"), name="model")
    local = Scorer(SCORES, name="local")
    policy = RERANK.model_copy(update={"outage_policy": "local"})
    state = run(policy, evaluator=model, local_evaluator=local)
    assert [grade["score"] for grade in state["grades"]] == [0.9, 0.8]
    assert local.calls == [NAMES, []]


@pytest.mark.parametrize(
    "error",
    [
        EvaluationError("the reranker is down", reason="transport"),
        BudgetExceededError("the reranker is down", limit="max_seconds"),
    ],
)
def test_a_failing_reranker_leaves_the_fused_order(run: Run, error: Exception):
    class Once(Scorer):
        """Fails the first time."""

        def evaluate(self, question: str, passages: Any, **options: Any) -> Any:
            if len(self.calls) == 0:
                self.calls.append([passage.id for passage in passages])
                raise error
            return super().evaluate(question, passages, **options)

    scorer = Once(SCORES)
    state = run(evaluator=scorer)
    assert ids(state) == ["d1", "d2"]
    assert scorer.calls == [NAMES, ["d1", "d2"]]
    assert state["action"] == "incorrect"
    assert "not reranked: the reranker is down" in state["warnings"]
    assert state["decision"]["failures"] == ["reranking: the reranker is down"]
    assert (
        "stub-evaluator could not rerank, so the fused order stands"
        in state["decision"]["fallbacks"]
    )


def test_candidates_without_a_score_keep_their_place(run: Run):
    state = run(
        RERANK.model_copy(update={"top_k": 3}),
        evaluator=Scorer({"d1": 0.1, "d2": None, "d3": 0.9, "d4": 0.5, "d5": 0.2, "d6": 0.3}),
    )
    assert ids(state) == ["d3", "d2", "d4"]
    assert [grade["status"] for grade in state["grades"]] == ["scored", "unknown", "scored"]
    assert (
        "1 of 6 candidates could not be scored and keep their rank"
        in (state["decision"]["fallbacks"])
    )


@pytest.mark.parametrize(
    ("scores", "places"),
    [
        ([0.1, 0.5, 0.5, 0.9], [3, 1, 2, 0]),
        ([None, 0.1, 0.2], [0, 2, 1]),
        ([None, None], [0, 1]),
        ([0.0, None, 0.1, None], [2, 1, 0, 3]),
        ([], []),
    ],
)
def test_the_order(scores: list[float | None], places: list[int]):
    assert order(scores) == places


def test_a_retriever_of_ones_own_gives_what_it_has(run: Run):
    class Own(BaseRetriever):
        def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
            return DOCUMENTS[:3]

    scorer = Scorer(SCORES)
    assert ids(run(retriever=Own(), evaluator=scorer)) == ["d3", "d2"]
    assert scorer.calls == [["d1", "d2", "d3"]]


def test_metadata_of_another_tool_is_left_alone(run: Run):
    foreign = [doc("d1", retrieval="by hand"), doc("d3", retrieval="by hand")]
    state = run(retriever=StubRetriever(foreign), evaluator=Scorer(SCORES))
    assert [document.metadata["retrieval"] for document in state["documents"]] == ["by hand"] * 2


@pytest.mark.parametrize("documents", [[], [doc("d1")]])
def test_there_is_nothing_to_rerank_among_fewer_than_two(run: Run, documents: list[Document]):
    scorer = Scorer(SCORES)
    state = run(retriever=StubRetriever(documents), evaluator=scorer)
    assert len(scorer.calls) == len(documents)
    assert "reranked" not in state["decision"]["stages"]["retrieve"]["why"]


def test_the_time_of_the_run_is_asked_before(run: Run):
    seen: list[Budget] = []

    class Timed(Scorer):
        def evaluate(self, question: str, passages: Any, **options: Any) -> Any:
            seen.append(options["budget"])
            return super().evaluate(question, passages, **options)

    run(RERANK.model_copy(update={"max_seconds": 7.0}), evaluator=Timed(SCORES))
    assert [budget.max_seconds for budget in seen] == [7.0]


def test_what_was_scored_is_plain_and_outlives_a_checkpoint():
    scorer = Scorer(SCORES)
    graph = build_graph(
        services(retriever=StubRetriever(DOCUMENTS), evaluator=scorer), checkpointer=InMemorySaver()
    )
    config: Any = {"configurable": {"thread_id": "1"}}
    graph.invoke(ASK, config, context=RERANK, interrupt_before=["evaluate"])
    kept = graph.get_state(config).values["reranked"]
    assert json.loads(json.dumps(kept)) == kept
    assert set(kept["keys"]) == {"d3", "d5"}  # of what was dropped nothing is kept
    state = graph.invoke(None, config, context=RERANK)
    assert scorer.calls == [NAMES]
    assert [grade["score"] for grade in state["grades"]] == [0.9, 0.8]
    assert "reranked" not in state
    assert graph.get_state(config).values["reranked"] is None


def test_what_was_edited_since_is_scored_again():
    scorer = Scorer(SCORES)
    graph = build_graph(
        services(retriever=StubRetriever(DOCUMENTS), evaluator=scorer), checkpointer=InMemorySaver()
    )
    config: Any = {"configurable": {"thread_id": "1"}}
    graph.invoke(ASK, config, context=RERANK, interrupt_before=["evaluate"])
    edited = [
        {"id": "d3", "page_content": "Another text."},
        {"id": "d5", "page_content": "d5 tells of the ferry."},
    ]
    forked = graph.update_state(config, {"documents": edited})
    state = graph.invoke(None, forked, context=RERANK)
    assert scorer.calls == [NAMES, ["d3"]]
    assert [grade["document_id"] for grade in state["grades"]] == ["d3", "d5"]
    assert all(grade["status"] == "scored" for grade in state["grades"])
    scorer.calls.clear()
    forked = graph.update_state(config, {"question": "Who is king?"}, as_node="retrieve")
    graph.invoke(None, forked, context=RERANK)
    assert scorer.calls == [["d3", "d5"]]


def test_a_run_that_was_stopped_leaves_nothing_to_the_next():
    scorer = Scorer(SCORES)
    given = services(retriever=StubRetriever(DOCUMENTS), evaluator=scorer)
    left = RetrieveNode(given).run(ASK, RERANK)
    assert left["reranked"]
    assert RetrieveNode(given).run({**ASK, **left}, Settings(top_k=2))["reranked"] is None


def test_grades_that_failed_are_asked_for_again():
    class Failing(Scorer):
        def _grade(self, document_id: str, score: float | None) -> Any:
            grade = super()._grade(document_id, score)
            return {**grade, "status": "failed", "score": None} if document_id == "d1" else grade

    scorer = Failing(SCORES)
    given = services(retriever=StubRetriever(DOCUMENTS), evaluator=scorer)
    state: Any = ASK | RetrieveNode(given).run(ASK, RERANK)
    assert [document.id for document in state["documents"]] == ["d1", "d3"]
    EvaluateNode(given).run(state, RERANK)
    assert scorer.calls == [NAMES, ["d1"]]


def test_web_results_are_judged_as_ever(run: Run):
    web = StubWeb([Document(page_content="At nine.", metadata={"source": "https://a.example/"})])
    scorer = Scorer(lambda passage: 0.8 if passage.origin == "web" else 0.1)
    state = run(evaluator=scorer, local_evaluator=scorer, web=web)
    assert state["action"] == "incorrect"
    assert [strip["origin"] for strip in state["strips"] if strip["kept"]] == ["web"]
