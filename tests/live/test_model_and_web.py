"""The real server with a model and a search engine: tokens, interrupts, cancellation, chat."""

import asyncio
from typing import Any

import pytest
from langgraph_sdk.client import LangGraphClient

from tests.live.conftest import Script, Served

pytestmark = pytest.mark.live

FERRY: Any = {"question": "When does the ferry leave?"}
CORPUS_ONLY: Any = {"web_search": False, "lower": 0.0}
ASK_FIRST: Any = {"approve_searches": True, "lower": 0.99, "upper": 1.0, "web_gate": "llm"}


async def test_only_the_answer_streams_as_tokens(model_client: LangGraphClient):
    chunks = []
    async for part in model_client.runs.stream(
        None, "crag", input=FERRY, context=CORPUS_ONLY, stream_mode=["messages-tuple", "custom"]
    ):
        if part.event == "messages":
            message, about = part.data
            assert about["langgraph_node"] == "generate"
            chunks.append(message["content"])
    assert "".join(chunks) == "It leaves at nine [1]."
    assert len([chunk for chunk in chunks if chunk]) == 4


async def test_in_a_chat_the_checked_answer_takes_the_place_of_its_tokens(
    model_client: LangGraphClient, modelled: Served
):
    thread = (await model_client.threads.create())["thread_id"]
    given: Any = {"messages": [{"role": "user", "content": FERRY["question"]}]}
    streamed = set()
    async for part in model_client.runs.stream(
        thread, "crag_chat", input=given, context=CORPUS_ONLY, stream_mode="messages-tuple"
    ):
        if part.event == "messages":
            streamed.add(part.data[0]["id"])
    state: Any = await model_client.threads.get_state(thread)
    last = state["values"]["messages"][-1]
    assert streamed == {last["id"]}
    assert last["content"].startswith("It leaves at nine [1].\n\nSources:\n- [1]")
    assert last["additional_kwargs"]["artifact"]["sources"][0]["number"] == 1

    more: Any = {"messages": [{"role": "user", "content": "and back?"}]}
    out: Any = await model_client.runs.wait(thread, "crag_chat", input=more, context=CORPUS_ONLY)
    assert out["question"] == "When does the return ferry leave?"
    assert [message["type"] for message in out["messages"]] == ["human", "ai", "human", "ai"]


async def waiting_for_approval(client: LangGraphClient) -> tuple[str, Any]:
    thread = (await client.threads.create())["thread_id"]
    out: Any = await client.runs.wait(thread, "crag", input=FERRY, context=ASK_FIRST)
    (interrupt,) = out["__interrupt__"]
    return thread, interrupt


@pytest.mark.parametrize(
    ("resume", "sent"),
    [
        ({"action": "approve"}, ["ferry timetable"]),
        ({"action": "edit", "queries": ["ferry lund winter"]}, ["ferry lund winter"]),
        ({"action": "refuse"}, []),
    ],
)
async def test_a_search_waits_for_a_person(
    model_client: LangGraphClient, modelled: Served, resume: Any, sent: list[str]
):
    assert modelled.web is not None
    before = len(modelled.web.requests)
    thread, interrupt = await waiting_for_approval(model_client)
    assert interrupt["value"]["type"] == "approve_search"
    assert interrupt["value"]["queries"] == ["ferry timetable"]
    assert len(modelled.web.requests) == before
    state: Any = await model_client.threads.get_state(thread)
    assert "web_search" in state["next"]
    assert (await model_client.threads.get(thread))["status"] == "interrupted"
    out: Any = await model_client.runs.wait(
        thread, "crag", command={"resume": resume}, context=ASK_FIRST
    )
    queries = [request.params["q"] for request in modelled.web.requests[before:]]
    assert queries == sent
    assert out["status"] == ("answered" if sent else "refused")
    if sent:
        assert out["citations"][0]["source"] == "https://a.example/ferry"


async def test_the_interrupt_says_by_a_schema_what_it_takes(model_client: LangGraphClient):
    _, interrupt = await waiting_for_approval(model_client)
    schema = interrupt.get("response_schema") or {}
    assert set(schema["properties"]) == {"action", "queries"}
    assert schema["properties"]["action"]["enum"] == ["approve", "edit", "refuse"]


@pytest.mark.case(68)
async def test_a_cancelled_run_ends_and_asks_nobody_further(
    model_client: LangGraphClient, modelled: Served, script: Script
):
    assert modelled.model is not None
    before = len(modelled.model.requests)
    script.delay = 30.0
    script.asked_for_an_answer.clear()
    try:
        thread = (await model_client.threads.create())["thread_id"]
        run = await model_client.runs.create(thread, "crag", input=FERRY, context=CORPUS_ONLY)
        assert await asyncio.to_thread(script.asked_for_an_answer.wait, 60)
        await model_client.runs.cancel(thread, run["run_id"], wait=True)
    finally:
        script.delay = 0.0
    assert (await model_client.runs.get(thread, run["run_id"]))["status"] == "interrupted"
    state: Any = await model_client.threads.get_state(thread)
    assert state["next"] == ["generate"]
    assert len(modelled.model.requests) == before + 2
    out: Any = await model_client.runs.wait(thread, "crag", input=None, context=CORPUS_ONLY)
    assert out["answer"] == "It leaves at nine [1]."
    assert len(modelled.model.requests) == before + 3  # nothing upstream is paid for again


async def test_another_prompt_is_the_runs_own(model_client: LangGraphClient, modelled: Served):
    assert modelled.model is not None
    own = "Answer in verse. $evidence\n<!-- user -->\n$question"
    context: Any = CORPUS_ONLY | {"prompt_answer_correct": own, "upper": 0.4}
    await model_client.runs.wait(None, "crag", input=FERRY, context=context)
    assert modelled.model.requests[-1].system.startswith("Answer in verse.")


async def test_traces_reach_the_collector_without_any_text(
    model_client: LangGraphClient, modelled: Served
):
    assert modelled.traces is not None
    out: Any = await model_client.runs.wait(None, "crag", input=FERRY, context=CORPUS_ONLY)
    assert out["status"] == "answered"
    for _ in range(100):
        if b"generator:fake" in modelled.traces.everything:
            break
        await asyncio.sleep(0.1)
    sent = modelled.traces.everything
    for name in (b"retriever:hybrid", b"evaluator:fake", b"generator:fake", b"crag-graph"):
        assert name in sent
    for text in (b"pumping station", b"ferry", b"at nine", b"TESTLEAK"):
        assert text not in sent
