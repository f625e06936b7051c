"""The chat: messages in, one message out."""

from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from crag_graph.agents.chat import build_chat_graph
from crag_graph.agents.standalone import ModelRewriter, load_rewriter
from crag_graph.agents.turns import ChatSettings
from crag_graph.budget import Budget
from crag_graph.environment import Environment
from crag_graph.errors import InputError
from crag_graph.generation.base import Generation, GenerationRequest
from crag_graph.settings import Settings
from tests.fakes.collaborators import (
    StubEvaluator,
    StubGenerator,
    StubRetriever,
    StubWeb,
    doc,
    services,
)
from tests.fakes.openai_server import OpenAIServer, Reply

THREAD: Any = {"configurable": {"thread_id": "t"}}
FERRY = "Ferry price to Lund?"


def asked(text: Any) -> Any:
    return {"messages": [{"role": "user", "content": text}]}


def world(**given: Any) -> dict[str, Any]:
    return {
        "retriever": StubRetriever([doc("d1", title="Prices")]),
        "evaluator": StubEvaluator(lambda _: 0.9),
        "generator": StubGenerator("It costs 10 [1]."),
        "web": StubWeb([]),
    } | given


def chat(made: dict[str, Any], **given: Any) -> Any:
    return build_chat_graph(services(**made), **({"checkpointer": InMemorySaver()} | given))


async def turns(graph: Any, *messages: str, context: Any = None) -> list[dict[str, Any]]:
    return [await graph.ainvoke(asked(text), THREAD, context=context) for text in messages]


def test_the_answer_is_a_message_with_its_sources_in_text_and_as_data():
    out = chat(world()).invoke(asked(FERRY), THREAD)
    message = out["messages"][-1]
    assert isinstance(message, AIMessage)
    assert message.content == "It costs 10 [1].\n\nSources:\n- [1] Prices, d1.md"
    artifact = message.additional_kwargs["artifact"]
    assert (artifact["status"], artifact["action"]) == ("answered", "correct")
    assert [source["source"] for source in artifact["sources"]] == ["d1.md"]
    assert out["citations"] == artifact["sources"]


async def test_every_entry_gives_the_same_answer_without_a_thread_too():
    graph = chat(world(), checkpointer=None)
    wanted = "It costs 10 [1].\n\nSources:\n- [1] Prices, d1.md"
    assert graph.invoke(asked(FERRY))["messages"][-1].content == wanted
    assert (await graph.ainvoke(asked(FERRY)))["messages"][-1].content == wanted
    assert list(graph.stream(asked(FERRY), stream_mode="values"))[-1]["messages"][-1].content == (
        wanted
    )


@pytest.mark.parametrize(
    "content", [FERRY, [{"type": "text", "text": FERRY}], [{"type": "text", "text": f" {FERRY} "}]]
)
def test_content_blocks_of_chat_front_ends_are_read(content):
    made = world()
    chat(made).invoke(asked(content), THREAD)
    assert made["retriever"].calls[0][0] == FERRY


def test_one_string_is_a_conversation_as_mcp_clients_send_it():
    made = world()
    out = chat(made).invoke({"messages": FERRY}, THREAD)
    assert made["retriever"].calls[0][0] == FERRY
    assert out["status"] == "answered"


@pytest.mark.case(109)
@pytest.mark.parametrize("message", ["hi", "thanks!", "ok", "👍"])
async def test_small_talk_costs_nothing_and_shows_no_sources(message):
    made = world()
    graph = chat(made)
    first, second = await turns(graph, FERRY, message)
    assert first["citations"]
    assert second["citations"] == []
    assert (second["status"], second["action"]) == (None, None)
    assert "Sources" not in second["messages"][-1].content
    assert second["usage"]["llm_calls"] == second["usage"]["web_searches"] == 0
    assert len(made["retriever"].calls) == 1
    state = (await graph.aget_state(THREAD)).values
    assert state["documents"] == state["strips"] == []


@pytest.mark.case(108)
async def test_follow_ups_are_retrieved_with_what_they_leave_out():
    made = world()
    outs = await turns(chat(made), FERRY, "and with a bike?", "yes, the return one")
    assert [question for question, _ in made["retriever"].calls] == [
        FERRY,
        "Ferry price to Lund? and with a bike?",
        "Ferry price to Lund? and with a bike? yes, the return one",
    ]
    assert outs[1]["question"] == "Ferry price to Lund? and with a bike?"
    assert outs[1]["messages"][-2].content == "and with a bike?"
    assert outs[1]["decision"]["stages"]["understand"]["decided"] == "rule"


@pytest.mark.case(108)
async def test_a_bare_fragment_searches_neither_corpus_nor_web():
    made = world()
    (out,) = await turns(chat(made), "and with a bike?")
    assert "whole question" in out["messages"][-1].content
    assert made["retriever"].calls == []
    assert made["web"].queries == []


@pytest.mark.case(108)
async def test_what_was_asked_first_is_answered_from_the_conversation():
    made = world()
    *_, out = await turns(chat(made), FERRY, "Who is the mayor of Lund?", "What did I ask first?")
    assert out["messages"][-1].content == f"Your first question was: “{FERRY}”"
    assert len(made["retriever"].calls) == 2


async def test_the_generator_is_given_the_conversation_without_lists_of_sources():
    made = world()
    await turns(chat(made), FERRY, "and with a bike?", context={"history_messages": 2})
    assert list(made["generator"].requests[1].history) == [
        {"role": "user", "content": FERRY},
        {"role": "assistant", "content": "It costs 10 [1]."},
    ]
    await turns(chat(made), FERRY, "Who is the mayor of Lund?", context={"history_messages": 0})
    assert list(made["generator"].requests[3].history) == []


async def test_nothing_of_a_turn_but_its_messages_is_carried_over():
    found = {FERRY: [doc("ferry")], "Who is the mayor of Oslo?": []}
    made = world(retriever=StubRetriever(found.__getitem__), web=None)
    first, second = await turns(chat(made), FERRY, "Who is the mayor of Oslo?")
    assert (first["status"], second["status"]) == ("answered", "refused")
    assert second["citations"] == []
    assert [message.type for message in second["messages"]] == ["human", "ai", "human", "ai"]
    assert second["usage"]["run_id"] != first["usage"]["run_id"]


def test_a_source_cannot_smuggle_links_into_the_list():
    title = "x ![p](https://evil.example/?q=1) [y](javascript:alert(1))"
    made = world(retriever=StubRetriever([doc("d1", title=title)]))
    content = chat(made).invoke(asked(FERRY), THREAD)["messages"][-1].content
    assert "](" not in content
    assert "javascript" not in content


@pytest.mark.parametrize("messages", [[], [AIMessage("hello")], [HumanMessage("  ")]])
def test_a_turn_without_a_message_of_the_user_is_one_clear_error(messages):
    with pytest.raises(InputError):
        chat(world()).invoke({"messages": messages}, THREAD)


class StreamingGenerator:
    """Streams its answer from a LangChain model, and says under which id."""

    name = "streaming"

    def __init__(self) -> None:
        self.model = GenericFakeChatModel(messages=iter([AIMessage("It costs ten [1].")]))

    def generate(
        self, request: GenerationRequest, *, settings: Settings, budget: Budget
    ) -> Generation:
        raise NotImplementedError

    async def agenerate(
        self, request: GenerationRequest, *, settings: Settings, budget: Budget
    ) -> Generation:
        reply = await self.model.ainvoke("…")
        return Generation(answer=str(reply.content), message_id=str(reply.id))


async def test_tokens_stream_at_the_root_and_the_checked_answer_takes_their_place():
    graph = chat(world(generator=StreamingGenerator()))
    chunks = [
        chunk
        async for chunk, _ in graph.astream(asked(FERRY), THREAD, stream_mode="messages")
        if isinstance(chunk, AIMessageChunk)
    ]
    assert "".join(str(chunk.content) for chunk in chunks) == "It costs ten [1]."
    state = await graph.aget_state(THREAD)
    assert {chunk.id for chunk in chunks} == {state.values["messages"][-1].id}


def rewriting(server: OpenAIServer, **more: str) -> Environment:
    return Environment.read(
        {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "k", "CRAG_CHAT_MODEL": "openai:m"} | more
    )


async def test_a_model_makes_the_question_where_one_is_configured():
    with OpenAIServer([Reply(content="What does the ferry to Lund cost with a bike?")]) as server:
        made = world()
        graph = chat(made, rewriter=load_rewriter(rewriting(server)))
        first, second = await turns(graph, FERRY, "and with a bike?")
        (request,) = server.requests
    assert made["retriever"].calls[1][0] == "What does the ferry to Lund cost with a bike?"
    assert first["usage"]["llm_calls"] == 0
    assert second["usage"]["llm_calls"] == 1
    assert second["usage"]["nodes"]["understand"]["input_tokens"] == 11
    assert "User: Ferry price to Lund?\nAssistant: It costs 10 [1]." in request.prompt
    assert "Sources" not in request.prompt


async def test_the_prompt_for_follow_ups_can_be_this_runs_own():
    own = "Besser: $question $history"
    with OpenAIServer([Reply(content="Was kostet die Fähre mit Rad?")]) as server:
        graph = chat(world(), rewriter=load_rewriter(rewriting(server)))
        await turns(graph, FERRY, "und mit Rad?", context=ChatSettings(prompt_standalone=own))
        assert server.requests[0].system.startswith("Besser: und mit Rad? User: Ferry price")


@pytest.mark.parametrize("reply", [Reply(content=""), Reply(status=400, body="no")])
def test_a_model_that_fails_leaves_the_rule_and_says_so(reply):
    replies: Sequence[Reply] = [reply] * 3
    with OpenAIServer(replies) as server:
        made = world()
        graph = chat(made, rewriter=load_rewriter(rewriting(server)))
        graph.invoke(asked(FERRY), THREAD)
        out = graph.invoke(asked("and with a bike?"), THREAD)
    assert made["retriever"].calls[1][0] == "Ferry price to Lund? and with a bike?"
    assert any("by rule" in note for note in out["decision"]["fallbacks"])
    assert out["status"] == "answered"


def test_without_a_model_nobody_is_asked():
    assert not isinstance(load_rewriter(Environment.read({})), ModelRewriter)


def test_the_schema_of_the_chat_shows_the_knobs_of_both():
    graph = chat(world())
    knobs = graph.get_context_jsonschema()["properties"]
    assert knobs["history_messages"]["langgraph_nodes"] == ["understand"]
    assert knobs["prompt_standalone"]["langgraph_type"] == "prompt"
    assert knobs["upper"]["langgraph_nodes"] == ["route"]
    assert set(graph.get_input_jsonschema()["properties"]) == {"messages", "filter"}
