"""The graph inside other graphs and agents."""

import dataclasses
import operator
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Send
from typing_extensions import TypedDict

from crag_graph.agents.tool import crag_tool
from crag_graph.errors import EvaluationError, StoreLockedError
from crag_graph.graph import build_graph
from crag_graph.settings import Settings
from tests.fakes.collaborators import (
    StubEvaluator,
    StubGenerator,
    StubRetriever,
    doc,
    services,
)

THREAD: Any = {"configurable": {"thread_id": "t"}}
QUESTION: Any = {"question": "When does the ferry leave?"}


def world(**given: Any) -> dict[str, Any]:
    return {
        "retriever": StubRetriever(lambda question: [doc(question), doc("d2", "Other.")]),
        "evaluator": StubEvaluator(lambda passage: 0.1 if passage.id == "d2" else 0.6),
        "generator": StubGenerator(lambda request: f"{request.evidence[0].document_id} [1]"),
    } | given


@dataclasses.dataclass
class Context:
    """A parent's own context."""

    user: str = "u1"
    crag: Settings | dict[str, Any] | None = None


class Shared(TypedDict, total=False):
    """A parent that shares `question`, and has its own keys under names that the graph uses."""

    question: str
    answer: str
    action: str
    documents: list[str]
    messages: Annotated[list[AnyMessage], add_messages]
    findings: Annotated[list[str], operator.add]


@pytest.mark.parametrize(
    ("crag", "action"),
    [
        (Settings(upper=0.5), "correct"),
        ({"upper": 0.5}, "correct"),
        (None, "ambiguous"),
        (Settings(upper=0.9, lower=0.8), "incorrect"),
    ],
)
async def test_a_parents_own_context_carries_the_settings(crag, action):
    parent = StateGraph(Shared, context_schema=Context)
    parent.add_node("crag", build_graph(services(**world())))
    parent.add_edge(START, "crag")
    parent.add_edge("crag", END)
    app = parent.compile(checkpointer=InMemorySaver())
    assert app.invoke(QUESTION, THREAD, context=Context(crag=crag))["action"] == action
    assert (await app.ainvoke(QUESTION, THREAD, context=Context(crag=crag)))["action"] == action


@pytest.mark.case(52)
@pytest.mark.case(64)
async def test_three_branches_at_once_keep_the_parents_keys_and_their_own_evidence():
    graph = build_graph(services(**world()))

    async def ask(state: Shared) -> Shared:
        out = await graph.ainvoke({"question": state["question"]}, context=Settings(upper=0.5))
        return {"findings": [out["answer"]], "messages": [AIMessage(out["answer"])]}

    parent = StateGraph(Shared, context_schema=Context)
    parent.add_node("ask", ask)
    parent.add_conditional_edges(
        START, lambda _: [Send("ask", {"question": q}) for q in ("a?", "b?", "c?")], ["ask"]
    )
    parent.add_edge("ask", END)
    app = parent.compile(checkpointer=InMemorySaver())
    given: Any = {"messages": [HumanMessage("all")], "documents": ["a title of theirs"]}
    out = await app.ainvoke(given, THREAD, context=Context())
    assert out["findings"] == ["a? [1]", "b? [1]", "c? [1]"]
    assert out["documents"] == ["a title of theirs"]
    assert [message.content for message in out["messages"]] == ["all", "a? [1]", "b? [1]", "c? [1]"]
    again = await app.ainvoke(given, THREAD, context=Context())
    assert len(again["findings"]) == 6  # the parent's own reducer adds, the graph's never do


def test_a_parent_can_read_and_replay_the_graph_inside():
    parent = StateGraph(Shared)
    parent.add_node("crag", build_graph(services(**world())))
    parent.add_edge(START, "crag")
    parent.add_edge("crag", END)
    app = parent.compile(checkpointer=InMemorySaver())
    seen = [
        (bool(namespace), name)
        for namespace, step in app.stream(QUESTION, THREAD, stream_mode="updates", subgraphs=True)
        for name in step
    ]
    assert (True, "retrieve") in seen
    assert (False, "crag") in seen
    drawn = set(app.get_graph(xray=True).nodes)
    assert {"crag:retrieve", "crag:evaluate", "crag:web_search"} <= drawn


class Scripted(GenericFakeChatModel):
    def bind_tools(self, *_: Any, **__: Any) -> Any:
        return self


def agent(tool: Any, *questions: str, **options: Any) -> Any:
    calls: Any = [
        {"name": tool.name, "args": {"question": question}, "id": str(number), "type": "tool_call"}
        for number, question in enumerate(questions)
    ]
    script = [AIMessage("", tool_calls=calls), AIMessage("Done.")]
    return create_agent(Scripted(messages=iter(script)), [tool], **options)


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_an_agent_gets_the_answer_with_sources_and_the_run_as_artifact(asynchronous):
    tool = crag_tool(services(**world()), settings=Settings(upper=0.5))
    app = agent(tool, "a?", "b?", checkpointer=InMemorySaver())
    given: Any = {"messages": [HumanMessage("both")]}
    out = await app.ainvoke(given, THREAD) if asynchronous else app.invoke(given, THREAD)
    first, second = [message for message in out["messages"] if isinstance(message, ToolMessage)]
    assert first.content == "a? [1]\n\nSources:\n- [1] a?.md"
    assert second.content.startswith("b? [1]")
    assert first.artifact["action"] == "correct"
    assert first.artifact["documents"][0].id == "a?"
    assert out["messages"][-1].content == "Done."


async def test_what_is_down_is_told_to_the_agent_in_one_sentence():
    locked = StubRetriever(StoreLockedError("another process holds the store"))
    out = await agent(crag_tool(services(**world(retriever=locked))), "a?").ainvoke(
        {"messages": [HumanMessage("a")]}
    )
    (message,) = [message for message in out["messages"] if isinstance(message, ToolMessage)]
    assert message.content == "another process holds the store"
    assert message.status == "error"


def test_a_refusal_reaches_the_agent_as_a_refusal():
    nothing = StubEvaluator(lambda _: 0.0)
    message = crag_tool(services(**world(evaluator=nothing))).invoke(
        {"name": "ask_documents", "args": {"question": "a?"}, "id": "1", "type": "tool_call"}
    )
    assert message.content.startswith("I cannot answer this from the evidence")
    assert message.artifact["status"] == "refused"


def test_the_tool_tells_a_model_what_it_is_and_takes_a_filter():
    made = world()
    tool = crag_tool(services(**made), name="ask_notes", where={"kind": "note"})
    assert tool.name == "ask_notes"
    assert set(tool.args) == {"question"}
    assert "understandable by itself" in tool.args["question"]["description"]
    tool.invoke({"question": "a?"})
    assert made["retriever"].calls == [("a?", {"kind": "note"})]


@pytest.mark.case(121)
async def test_an_error_inside_ends_the_parent_with_the_typed_error():
    failing = StubEvaluator(EvaluationError("the judge is down", reason="transport"))
    parent = StateGraph(Shared, context_schema=Context)
    parent.add_node("crag", build_graph(services(**world(evaluator=failing))))
    parent.add_edge(START, "crag")
    parent.add_edge("crag", END)
    app = parent.compile()
    with pytest.raises(EvaluationError, match="the judge is down"):
        await app.ainvoke(QUESTION, context=Context(crag=Settings(outage_policy="raise")))
