"""Threads, parents, saved states: nothing is carried over, nothing doubles."""

import asyncio
from typing import Any

import pytest
from langchain_core.documents import Document
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from crag_graph.graph import build_graph
from tests.fakes.collaborators import (
    StubEvaluator,
    StubGenerator,
    StubRetriever,
    doc,
    services,
)
from tests.fakes.world import QUESTION, world


@pytest.mark.case(51)
def test_nothing_of_an_earlier_question_answers_the_next_on_a_thread():
    found = {"When does the ferry leave?": [doc("ferry")], "Who is the mayor?": []}
    made = world(0.9, retriever=StubRetriever(found.__getitem__), web=None)
    made["evaluator"] = StubEvaluator(lambda _: 0.9)
    graph = build_graph(services(**made), checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    first = graph.invoke(QUESTION | {"filter": {"kind": "boat"}}, config)
    second = graph.invoke({"question": "Who is the mayor?"}, config)
    assert first["status"] == "answered"
    assert second["status"] == "refused"
    for key in ("documents", "grades", "strips", "citations", "web_documents"):
        assert second[key] == [], key
    assert "ferry" not in str(second["decision"])
    assert made["retriever"].calls[1] == ("Who is the mayor?", None)
    assert second["usage"]["run_id"] != first["usage"]["run_id"]


@pytest.mark.case(52)
def test_five_questions_on_a_thread_do_not_grow_the_state():
    graph = build_graph(services(**world(0.5)), checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    sizes = []
    for _ in range(5):
        graph.invoke(QUESTION, config)
        values = graph.get_state(config).values
        sizes.append({key: len(value) for key, value in values.items() if isinstance(value, list)})
    assert all(size == sizes[0] for size in sizes)


class Parent(TypedDict, total=False):
    question: str
    documents: list[Document]
    answer: str
    warnings: list[str]


@pytest.mark.case(52)
def test_inside_a_parent_that_shares_keys_nothing_doubles():
    parent = StateGraph(Parent)
    parent.add_node("crag", build_graph(services(**world(0.5))))
    parent.add_edge(START, "crag")
    parent.add_edge("crag", END)
    out = parent.compile(checkpointer=InMemorySaver()).invoke(
        {**QUESTION, "documents": [doc("theirs")], "warnings": ["theirs"]},
        {"configurable": {"thread_id": "t"}},
    )
    assert [document.id for document in out["documents"]] == ["d1", "d2"]
    assert out["answer"] == "The answer [1]."


@pytest.mark.case(64)
async def test_three_sub_questions_at_once_in_one_node_of_a_parent():
    made = world(0.9, retriever=StubRetriever(lambda question: [doc(question)]))
    made["evaluator"] = StubEvaluator(lambda _: 0.9)
    made["generator"] = StubGenerator(lambda request: f"{request.evidence[0].document_id} [1]")
    graph = build_graph(services(**made))

    class Many(TypedDict, total=False):
        answers: list[str]

    async def ask(state: Many) -> Many:
        outs = await asyncio.gather(*(graph.ainvoke({"question": q}) for q in ("a?", "b?", "c?")))
        return {"answers": [out["answer"] for out in outs]}

    parent = StateGraph(Many)
    parent.add_node("ask", ask)
    parent.add_edge(START, "ask")
    app = parent.compile(checkpointer=InMemorySaver())
    out = await app.ainvoke({}, {"configurable": {"thread_id": "t"}})
    assert out["answers"] == ["a? [1]", "b? [1]", "c? [1]"]


@pytest.mark.case(54)
@pytest.mark.case(55)
@pytest.mark.parametrize("score", [0.9, 0.5, 0.1])
def test_the_whole_state_survives_strict_msgpack(score, monkeypatch):
    import numpy as np

    odd = doc("d1", score=np.float32(0.25), tags={"a"}, when=np.datetime64("2026-11-30"))
    made = world(score, retriever=StubRetriever([odd]))
    saver = InMemorySaver(serde=JsonPlusSerializer(allowed_msgpack_modules=None))
    graph = build_graph(services(**made), checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "t"}}
    out = graph.invoke(QUESTION, config)
    values = graph.get_state(config).values
    assert values["documents"] == out["documents"]
    assert values["documents"][0].metadata["score"] == 0.25
    assert values["decision"] == out["decision"]
    plain_types = (str, int, float, bool, type(None))

    def check(value: Any) -> None:
        if isinstance(value, Document):
            check(value.metadata)
        elif isinstance(value, dict):
            assert type(value) is dict
            for item in value.values():
                check(item)
        elif isinstance(value, list):
            for item in value:
                check(item)
        else:
            assert type(value) in plain_types

    check(values)


def test_a_fork_with_posted_json_documents_goes_on_from_there():
    graph = build_graph(services(**world(0.9)), checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    graph.invoke(QUESTION, config)
    before = next(s for s in graph.get_state_history(config) if s.next == ("evaluate",))
    posted = [{"page_content": "Edited by hand.", "metadata": {"source": "e.md"}, "id": "d1"}]
    forked = graph.update_state(before.config, {"documents": posted}, as_node="retrieve")
    out = graph.invoke(None, forked)
    assert [document.page_content for document in out["documents"]] == ["Edited by hand."]
    assert [strip["text"] for strip in out["strips"]] == ["Edited by hand."]


def test_replaying_from_route_with_other_thresholds_pays_for_nothing_again():
    made = world(0.6)
    graph = build_graph(services(**made), checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    assert graph.invoke(QUESTION, config)["action"] == "ambiguous"
    before = next(s for s in graph.get_state_history(config) if s.next == ("route",))
    out = graph.invoke(None, before.config, context={"upper": 0.55})
    assert out["action"] == "correct"
    assert len(made["retriever"].calls) == 1
    assert len(made["evaluator"].calls) == 1
