"""A person approves, edits or refuses the search; resuming pays for nothing twice."""

from typing import Any

import pytest
from langchain_core.documents import Document
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command
from pydantic import ValidationError
from typing_extensions import TypedDict

from crag_graph.evaluators.base import Rewrite
from crag_graph.graph import build_graph
from crag_graph.nodes.web.approval import SearchApproval
from crag_graph.settings import Settings
from tests.fakes.collaborators import (
    StubEvaluator,
    StubGenerator,
    StubRetriever,
    StubWeb,
    doc,
    services,
)

ASK = {"question": "When does the ferry leave Lund?"}
PAGE = Document(page_content="It leaves at nine.", metadata={"source": "https://a.example/"})
THREAD: Any = {"configurable": {"thread_id": "t"}}
APPROVE = {"approve_searches": True}


class Rewriter(StubEvaluator):
    """Counts the rewrites that it is paid for."""

    def __init__(self, score: float) -> None:
        super().__init__(lambda _: score)
        self.rewrites = 0

    def rewrite(self, question: str, *, settings: Settings, budget: Any) -> Rewrite:
        self.rewrites += 1
        return Rewrite(queries=["ferry mara@a.example timetable"], usage={"llm_calls": 1})

    async def arewrite(self, question: str, *, settings: Settings, budget: Any) -> Rewrite:
        return self.rewrite(question, settings=settings, budget=budget)


def world(score: float = 0.1, **given: Any) -> dict[str, Any]:
    return {
        "retriever": StubRetriever([doc("d1")]),
        "evaluator": Rewriter(score),
        "generator": StubGenerator(),
        "web": StubWeb([PAGE]),
    } | given


@pytest.mark.parametrize("score", [0.1, 0.5])
@pytest.mark.parametrize("entry", ["invoke", "ainvoke"])
async def test_the_run_waits_shows_the_query_and_pays_for_nothing_twice(score, entry):
    made = world(score)
    graph = build_graph(services(**made), checkpointer=InMemorySaver())

    async def step(given: Any) -> dict[str, Any]:
        if entry == "invoke":
            return graph.invoke(given, THREAD, context=APPROVE)
        return await graph.ainvoke(given, THREAD, context=APPROVE)

    waiting = await step(ASK)
    (asked,) = waiting["__interrupt__"]
    assert asked.value["type"] == "approve_search"
    assert asked.value["question"] == ASK["question"]
    assert asked.value["queries"] == ["ferry timetable"]  # what would be sent, redacted
    assert asked.value["provider"] == "stub-web"
    assert set(asked.response_schema["properties"]) == {"action", "queries"}
    assert made["web"].queries == []
    assert made["generator"].requests == []
    out = await step(Command(resume={"action": "approve"}))
    assert made["web"].queries == ["ferry timetable"]
    assert out["status"] == "answered"
    assert made["evaluator"].rewrites == 1
    assert len(made["evaluator"].calls) == 1
    assert len(made["retriever"].calls) == 1
    assert len(made["generator"].requests) == 1
    assert out["usage"]["nodes"]["web_search"]["llm_calls"] == 1


@pytest.mark.parametrize(
    "answer",
    [
        {"action": "edit", "queries": ["boat hours of bo@a.example", "Lund pier"]},
        {"queries": ["boat hours of bo@a.example", "Lund pier"]},
    ],
)
def test_a_person_may_search_for_something_else(answer):
    made = world()
    graph = build_graph(services(**made), checkpointer=InMemorySaver())
    context = APPROVE | {"max_searches": 2}
    graph.invoke(ASK, THREAD, context=context)
    out = graph.invoke(Command(resume=answer), THREAD, context=context)
    assert sorted(made["web"].queries) == ["Lund pier", "boat hours of"]
    assert out["search_query"] == "boat hours of\nLund pier"


@pytest.mark.parametrize("answer", [{"action": "refuse"}, "refuse", False])
@pytest.mark.parametrize(("score", "status"), [(0.1, "refused"), (0.5, "answered")])
def test_a_person_may_refuse_and_the_run_goes_on_without(answer, score, status):
    made = world(score)
    graph = build_graph(services(**made), checkpointer=InMemorySaver())
    graph.invoke(ASK, THREAD, context=APPROVE)
    out = graph.invoke(Command(resume=answer), THREAD, context=APPROVE)
    assert made["web"].queries == []
    assert out["status"] == status
    card = out["decision"]["stages"]["web_search"]
    assert (card["decided"], card["why"]) == ("off", "a person refused the search")
    assert out["usage"]["nodes"]["web_search"]["llm_calls"] == 1


@pytest.mark.parametrize(
    "answer", ["perhaps", {"action": "edit"}, {"action": "edit", "queries": [" "]}, 7]
)
def test_an_answer_that_means_nothing_can_be_given_again(answer):
    made = world()
    graph = build_graph(services(**made), checkpointer=InMemorySaver())
    graph.invoke(ASK, THREAD, context=APPROVE)
    with pytest.raises(ValidationError):
        graph.invoke(Command(resume=answer), THREAD, context=APPROVE)
    assert made["web"].queries == []
    out = graph.invoke(Command(resume="approve"), THREAD, context=APPROVE)
    assert out["status"] == "answered"
    assert made["evaluator"].rewrites == 1


@pytest.mark.parametrize(
    ("given", "action", "queries"),
    [
        ("Approve", "approve", []),
        (True, "approve", []),
        (False, "refuse", []),
        ({"query": "x"}, "edit", ["x"]),
        ({"action": "refuse"}, "refuse", []),
    ],
)
def test_what_an_answer_means(given, action, queries):
    answer = SearchApproval.model_validate(given)
    assert (answer.action, answer.queries) == (action, queries)


def test_only_what_a_person_saw_is_sent():
    made = world(web=StubWeb([]))
    graph = build_graph(services(**made), checkpointer=InMemorySaver())
    context = APPROVE | {"max_searches": 5}
    graph.invoke(ASK, THREAD, context=context)
    graph.invoke(Command(resume="approve"), THREAD, context=context)
    assert made["web"].queries == ["ferry timetable"]


def test_a_run_that_needs_no_search_does_not_wait():
    graph = build_graph(services(**world(0.9)), checkpointer=InMemorySaver())
    out = graph.invoke(ASK, THREAD, context=APPROVE)
    assert "__interrupt__" not in out
    assert out["status"] == "answered"


@pytest.mark.parametrize("score", [0.1, 0.5])
def test_it_works_inside_a_parent_graph(score):
    class Parent(TypedDict, total=False):
        question: str
        answer: str

    made = world(score)
    parent = StateGraph(Parent)
    parent.add_node("crag", build_graph(services(**made)))
    parent.add_edge(START, "crag")
    parent.add_edge("crag", END)
    graph = parent.compile(checkpointer=InMemorySaver())
    waiting = graph.invoke(ASK, THREAD, context={"crag": APPROVE})
    assert waiting["__interrupt__"][0].value["queries"] == ["ferry timetable"]
    out = graph.invoke(Command(resume="approve"), THREAD, context={"crag": APPROVE})
    assert out["answer"] == "The answer [1]."
    assert made["web"].queries == ["ferry timetable"]
    assert made["evaluator"].rewrites == 1
    assert len(made["evaluator"].calls) == 1


def test_without_a_checkpointer_nobody_is_asked_and_nothing_is_sent():
    made = world()
    out = build_graph(services(**made)).invoke(ASK, context=APPROVE)
    assert "__interrupt__" not in out
    assert made["web"].queries == []
    assert made["evaluator"].rewrites == 0
    assert out["warnings"] == [
        "web search is off: approve_searches needs a checkpointer and a thread"
    ]
