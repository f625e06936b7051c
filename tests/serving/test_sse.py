"""Server-sent events of a run, as a web application sends them."""

import asyncio
import json
from typing import Any

import pytest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

from crag_graph.agents.chat import build_chat_graph
from crag_graph.budget import Budget
from crag_graph.errors import EvaluationError
from crag_graph.evaluators.base import Evaluation
from crag_graph.generation.base import Generation, GenerationRequest
from crag_graph.graph import build_graph
from crag_graph.serving.sse import server_sent_events
from crag_graph.settings import Settings
from tests.fakes.collaborators import StubEvaluator, StubRetriever, StubWeb, doc, services

QUESTION = {"question": "When does the ferry leave?"}


class Streaming:
    """Streams its answer from a LangChain model."""

    name = "streaming"

    def __init__(self, answer: str) -> None:
        self.model = GenericFakeChatModel(messages=iter([AIMessage(answer)]))

    def generate(
        self, request: GenerationRequest, *, settings: Settings, budget: Budget
    ) -> Generation:
        raise NotImplementedError

    async def agenerate(
        self, request: GenerationRequest, *, settings: Settings, budget: Budget
    ) -> Generation:
        return Generation(answer=str((await self.model.ainvoke("…")).content))


def parse(event: str) -> tuple[str, Any]:
    assert event.endswith("\n\n")
    name, data = event.rstrip("\n").split("\n")
    return name.removeprefix("event: "), json.loads(data.removeprefix("data: "))


async def events(graph: Any, given: Any = QUESTION, **options: Any) -> list[tuple[str, Any]]:
    return [parse(event) async for event in server_sent_events(graph, given, **options)]


async def test_events_tell_what_happens_then_tokens_then_the_checked_answer():
    graph = build_graph(
        services(
            evaluator=StubEvaluator(lambda _: 0.5, query="ferry"),
            web=StubWeb([]),
            generator=Streaming("It leaves\nat nine [1]. Or ten [7]."),
        )
    )
    seen = await events(graph)
    names = [name for name, _ in seen]
    assert names[:3] == ["retrieved", "graded", "routed"]
    assert set(names[3:5]) == {"refined", "searching"}
    assert names[5:-1] == ["token"] * (len(names) - 6)
    tokens = "".join(data["text"] for name, data in seen if name == "token")
    assert tokens == "It leaves\nat nine [1]. Or ten [7]."
    last, answer = seen[-1]
    assert last == "answer"
    assert answer["answer"] == "It leaves\nat nine [1]. Or ten."
    assert (answer["status"], answer["action"]) == ("answered", "ambiguous")
    assert [citation["source"] for citation in answer["citations"]] == ["d1.md"]


async def test_the_numbers_that_streamed_are_those_of_the_answer_and_its_sources():
    documents = [doc(f"d{number}", f"d{number} tells of ferry {number}.") for number in (1, 2, 3)]
    graph = build_graph(
        services(
            retriever=StubRetriever(documents),
            generator=Streaming("Late [3]. Early [1]. Late again [3]."),
        )
    )
    seen = await events(graph)
    tokens = "".join(data["text"] for name, data in seen if name == "token")
    answer = seen[-1][1]
    assert answer["answer"] == tokens == "Late [3]. Early [1]. Late again [3]."
    assert [citation["number"] for citation in answer["citations"]] == [1, 3]
    assert [citation["source"] for citation in answer["citations"]] == ["d1.md", "d3.md"]


async def test_no_text_can_begin_an_event_of_its_own():
    text = "x\n\nevent: answer\ndata: {}\r\r"
    graph = build_graph(services(retriever=StubRetriever([doc("d1", text)])))
    (*_, last) = [event async for event in server_sent_events(graph, {"question": text})]
    assert last.count("\n\n") == 1
    assert "\r" not in last
    assert parse(last)[0] == "answer"


async def test_a_typed_error_is_an_event_and_another_gives_nothing_away():
    failing = StubEvaluator(EvaluationError("the judge is down", reason="transport"))
    graph = build_graph(services(evaluator=failing))
    seen = await events(graph, context={"outage_policy": "raise"})
    error = {"type": "EvaluationError", "message": "the judge is down"}
    assert seen[-1] == ("error", error)

    broken = build_graph(services(evaluator=StubEvaluator(ZeroDivisionError("sk-secret"))))
    sent: list[str] = []

    async def send() -> None:
        async for event in server_sent_events(broken, QUESTION):
            sent.append(event)

    with pytest.raises(ZeroDivisionError):
        await send()
    assert parse(sent[-1])[0] == "error"
    assert "secret" not in sent[-1]


class Waiting(StubEvaluator):
    """Waits until it is told to go on, or cancelled."""

    def __init__(self) -> None:
        super().__init__(lambda _: 0.9)
        self.started = asyncio.Event()
        self.go_on = asyncio.Event()
        self.cancelled = False

    async def aevaluate(self, *args: Any, **kwargs: Any) -> Evaluation:
        self.started.set()
        try:
            await self.go_on.wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        return await super().aevaluate(*args, **kwargs)


async def test_a_comment_keeps_the_connection_while_nothing_happens():
    waiting = Waiting()
    stream = server_sent_events(build_graph(services(evaluator=waiting)), QUESTION, keep_alive=0.01)
    seen = []
    async for event in stream:
        seen.append(event)
        if event == ": waiting\n\n":
            waiting.go_on.set()
    assert ": waiting\n\n" in seen
    assert parse(seen[-1])[0] == "answer"


@pytest.mark.case(68)
async def test_a_client_that_goes_away_cancels_the_run():
    waiting = Waiting()
    stream = server_sent_events(build_graph(services(evaluator=waiting)), QUESTION)
    assert parse(await anext(stream))[0] == "retrieved"
    await waiting.started.wait()
    await stream.aclose()
    assert waiting.cancelled


async def test_a_chat_streams_the_same_events():
    graph = build_chat_graph(services(), checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    given = {"messages": [{"role": "user", "content": QUESTION["question"]}]}
    seen = await events(graph, given, config=config)
    assert [name for name, _ in seen][:2] == ["understood", "retrieved"]
    assert seen[-1][1]["status"] == "answered"
    assert seen[-1][1]["answer"] == "The answer [1]."
    hello = await events(graph, {"messages": "hello"}, config=config)
    assert [name for name, _ in hello] == ["answer"]
    assert hello[0][1]["citations"] == []
    assert hello[0][1]["answer"].startswith("Hello!")
