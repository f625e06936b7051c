import pytest
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from crag_graph.budget import Budget
from crag_graph.errors import GenerationError
from crag_graph.generation.llm import LLMGenerator
from crag_graph.models.plan import Pause
from crag_graph.settings import Settings
from tests.fakes.answering import ANSWER, ask, chat
from tests.fakes.openai_server import OpenAIServer, Reply, error


@pytest.fixture
def server():
    with OpenAIServer([Reply(content=ANSWER)]) as running:
        yield running


class State(TypedDict, total=False):
    answer: str


def graph(server):
    made = LLMGenerator(chat(server))

    def node(state: State) -> State:
        return {"answer": made.generate(ask(), settings=Settings(), budget=Budget()).answer}

    async def anode(state: State) -> State:
        done = await made.agenerate(ask(), settings=Settings(), budget=Budget())
        return {"answer": done.answer}

    def compiled(each):
        builder = StateGraph(State).add_node("node", each)
        return builder.add_edge(START, "node").add_edge("node", END).compile()

    return compiled(node), compiled(anode)


STREAMED = f"\n<think>nine? [3]\n</think>\n\n{ANSWER}\nIt is blue. \n"


@pytest.mark.case(57)
@pytest.mark.parametrize("pieces", [1, 7, 60, 200])
async def test_what_streams_is_exactly_the_answer_once(server, pieces):
    reply = Reply(content=STREAMED, pieces=pieces)
    server.script(lambda _: reply)
    sync, native = graph(server)
    shown, states = [], []
    for mode, part in sync.stream({}, stream_mode=["messages", "values"]):
        shown.append(part[0].content) if mode == "messages" else states.append(part)
    assert "".join(shown) == states[-1]["answer"] == f"{ANSWER}\nIt is blue."
    shown.clear()
    async for part, _ in native.astream({}, stream_mode="messages"):
        shown.append(part.content)
    assert "".join(shown) == f"{ANSWER}\nIt is blue."
    assert all(request.streamed for request in server.requests)
    assert len(server.requests) == 2


@pytest.mark.case(57)
async def test_a_stream_of_events_shows_the_answer_once_too(server):
    server.script([Reply(content=STREAMED, pieces=20)])
    _, native = graph(server)
    shown = [
        event["data"]["chunk"].content
        async for event in native.astream_events({}, version="v2")
        if event["event"] == "on_chat_model_stream"
    ]
    assert "".join(shown) == f"{ANSWER}\nIt is blue."


@pytest.mark.case(14)
def test_a_refusal_that_a_stream_loses_is_asked_for_without_a_stream(server):
    server.script([Reply(content=None, refusal="I can't help with that")] * 2)
    sync, _ = graph(server)
    states = [
        part for _, part in sync.stream({}, stream_mode=["messages", "values"]) if "answer" in part
    ]
    assert states[-1]["answer"] == "I can't help with that"
    assert [request.streamed for request in server.requests] == [True, False]


def test_a_stream_that_breaks_off_does_not_begin_anew(server):
    server.script(lambda _: Reply(content="The ferry leaves at nine. " * 20, pieces=20, cut=2500))
    sync, _ = graph(server)
    with pytest.raises(GenerationError) as caught:
        list(sync.stream({}, stream_mode="messages"))
    assert caught.value.reason == "transport"
    assert len(server.requests) == 1


def test_a_stream_that_fails_before_it_begins_is_asked_for_again(server, monkeypatch):
    monkeypatch.setattr(Pause, "perform", lambda self: None)
    server.script([error(503, "busy"), Reply(content=ANSWER)])
    sync, _ = graph(server)
    shown = "".join(part.content for part, _ in sync.stream({}, stream_mode="messages"))
    assert shown == ANSWER


def test_no_stream_is_asked_for_when_nobody_listens(server):
    sync, _ = graph(server)
    assert sync.invoke({})["answer"] == ANSWER
    assert not server.requests[0].streamed
