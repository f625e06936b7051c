"""Threads in memory, SQLite and PostgreSQL: what is kept, what comes back, what does not grow."""

import contextlib
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from crag_graph.agents.chat import build_chat_graph
from crag_graph.graph import build_graph
from tests.fakes.collaborators import StubEvaluator, StubRetriever, StubWeb, doc, services

QUESTION: Any = {"question": "When does the ferry leave?"}
PAGE = Document(page_content="The ferry leaves at 9.", metadata={"source": "https://a.example/f"})

Open = Callable[[], AbstractContextManager[BaseCheckpointSaver[Any]]]
AsyncOpen = Callable[[], AbstractAsyncContextManager[BaseCheckpointSaver[Any]]]


def strict(saver: BaseCheckpointSaver[Any]) -> BaseCheckpointSaver[Any]:
    """The saver, refusing everything but plain values and what LangGraph itself allows."""
    saver.serde = JsonPlusSerializer(allowed_msgpack_modules=None)
    return saver


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    """Opens the same storage again and again, each time as a new process would."""
    kept = InMemorySaver()
    url = request.getfixturevalue("postgres") if request.param == "postgres" else ""

    @contextlib.contextmanager
    def open_it() -> Iterator[BaseCheckpointSaver[Any]]:
        if request.param == "memory":
            yield strict(kept)
        elif request.param == "sqlite":
            with SqliteSaver.from_conn_string(str(tmp_path / "threads.sqlite")) as opened:
                yield strict(opened)
        else:
            with PostgresSaver.from_conn_string(url) as opened:
                opened.setup()
                yield strict(opened)

    return open_it


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def async_saver(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncOpen:
    """The same for graphs that are run asynchronously."""
    kept = InMemorySaver()
    url = request.getfixturevalue("postgres") if request.param == "postgres" else ""

    @contextlib.asynccontextmanager
    async def open_it() -> AsyncIterator[BaseCheckpointSaver[Any]]:
        if request.param == "memory":
            yield strict(kept)
        elif request.param == "sqlite":
            path = str(tmp_path / "threads.sqlite")
            async with AsyncSqliteSaver.from_conn_string(path) as opened:
                yield strict(opened)
        else:
            async with AsyncPostgresSaver.from_conn_string(url) as opened:
                await opened.setup()
                yield strict(opened)

    return open_it


def world(score: float = 0.5) -> dict[str, Any]:
    return {
        "retriever": StubRetriever([doc("d1", page=3, tags=["a"]), doc("d2", "Another matter.")]),
        "evaluator": StubEvaluator(lambda passage: score if passage.id == "d1" else 0.1),
        "web": StubWeb([PAGE]),
    }


def thread() -> Any:
    return {"configurable": {"thread_id": uuid.uuid4().hex}}


def size(value: Any) -> int:
    return len(JsonPlusSerializer().dumps_typed(value)[1])


@pytest.mark.case(54)
def test_a_thread_is_there_again_after_a_restart_and_goes_on(saver):
    config = thread()
    with saver() as opened:
        first = build_graph(services(**world()), checkpointer=opened).invoke(QUESTION, config)
    with saver() as opened:
        graph = build_graph(services(**world()), checkpointer=opened)
        values = graph.get_state(config).values
        assert values["answer"] == first["answer"]
        assert values["documents"] == first["documents"]
        assert isinstance(values["documents"][0], Document)
        assert values["decision"] == first["decision"]
        again = graph.invoke(QUESTION, config)
    assert again["usage"]["run_id"] != first["usage"]["run_id"]


@pytest.mark.case(52)
def test_five_questions_on_a_thread_do_not_grow_the_state(saver):
    config = thread()
    sizes = []
    with saver() as opened:
        graph = build_graph(services(**world()), checkpointer=opened)
        for _ in range(5):
            graph.invoke(QUESTION, config)
            values = graph.get_state(config).values
            sizes.append({key: size(value) for key, value in values.items()})
    for key in sizes[0].keys() - {"decision", "usage"}:
        assert len({each[key] for each in sizes}) == 1, key
    for key in ("decision", "usage"):  # seconds take more or fewer digits
        lengths = [each[key] for each in sizes]
        assert max(lengths) - min(lengths) < 60, key


async def test_every_saver_serves_asynchronous_runs_and_chats(async_saver):
    config = thread()
    async with async_saver() as opened:
        chat = build_chat_graph(services(**world(0.9)), checkpointer=opened)
        await chat.ainvoke({"messages": "Ferry price to Lund?"}, config)
        await chat.ainvoke({"messages": "and with a bike?"}, config)
    async with async_saver() as opened:
        chat = build_chat_graph(services(**world(0.9)), checkpointer=opened)
        state = (await chat.aget_state(config)).values
    assert [message.type for message in state["messages"]] == ["human", "ai", "human", "ai"]
    artifact = state["messages"][-1].additional_kwargs["artifact"]
    assert artifact["question"] == "Ferry price to Lund? and with a bike?"
    assert artifact["sources"][0]["source"] == "d1.md"


async def test_any_state_can_be_edited_with_json_and_forked(async_saver):
    config = thread()
    async with async_saver() as opened:
        graph = build_graph(services(**world(0.9)), checkpointer=opened)
        await graph.ainvoke(QUESTION, config)
        past = [state async for state in graph.aget_state_history(config)]
        before = next(state for state in past if state.next == ("evaluate",))
        edited = [{"page_content": "By hand.", "metadata": {"source": "e.md"}, "id": "d1"}]
        fork = await graph.aupdate_state(before.config, {"documents": edited}, as_node="retrieve")
        out = await graph.ainvoke(None, fork)
    assert [strip["text"] for strip in out["strips"]] == ["By hand."]


async def test_another_threshold_is_tried_from_evaluate_without_paying_upstream_again(async_saver):
    config = thread()
    made = world(0.6)
    async with async_saver() as opened:
        graph = build_graph(services(**made), checkpointer=opened)
        assert (await graph.ainvoke(QUESTION, config))["action"] == "ambiguous"
        past = [state async for state in graph.aget_state_history(config)]
        graded = next(state for state in past if state.next == ("route",))
        out = await graph.ainvoke(None, graded.config, context={"upper": 0.55})
        assert out["action"] == "correct"
        assert len(made["evaluator"].calls) == len(made["retriever"].calls) == 1

        found = next(state for state in past if state.next == ("evaluate",))
        out = await graph.ainvoke(None, found.config, context={"upper": 0.99, "lower": 0.95})
        assert out["action"] == "incorrect"
        assert len(made["retriever"].calls) == 1
        assert out["decision"]["stages"]["retrieve"]["decided"] == "2 passages"
