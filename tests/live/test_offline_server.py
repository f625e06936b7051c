"""The real server with nothing configured, driven as its clients drive it."""

import asyncio
import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_sync_client
from langgraph_sdk.client import LangGraphClient
from mcp import Client

from crag_graph.agents.turns import ChatSettings
from crag_graph.settings import Settings
from tests.fakes.langgraph_server import ROOT
from tests.live.conftest import STATIONS, Served, marker, question

pytestmark = pytest.mark.live

OAK: Any = {"question": question("Oak")}
NODES = {"retrieve", "evaluate", "route", "refine", "web_search", "generate"}


async def new_thread(client: LangGraphClient) -> str:
    return str((await client.threads.create())["thread_id"])


async def assistant(client: LangGraphClient, graph: str) -> str:
    """The id of the assistant that each graph comes with."""
    (found,) = await client.assistants.search(graph_id=graph, metadata={"created_by": "system"})
    return found["assistant_id"]


async def history(client: LangGraphClient, thread: str) -> list[Any]:
    states: list[Any] = await client.threads.get_history(thread, limit=50)
    return states


def before(states: list[Any], node: str) -> Any:
    return next(state for state in states if state["next"] == [node])


@pytest.mark.parametrize(("name", "knobs"), [("crag", Settings), ("crag_chat", ChatSettings)])
async def test_studio_is_shown_every_knob(client: LangGraphClient, name: str, knobs: Any):
    schemas: Any = await client.assistants.get_schemas(await assistant(client, name))
    assert schemas["input_schema"]["properties"]
    assert schemas["output_schema"]["properties"]
    assert schemas["state_schema"]["properties"]
    shown = schemas["context_schema"]["properties"]
    assert shown.keys() == knobs.model_fields.keys()
    for field, knob in shown.items():
        assert knob["title"], field
        assert knob["description"], field
        assert "default" in knob, field
        assert knob["langgraph_nodes"], field
        assert set(knob["langgraph_nodes"]) <= NODES | {"understand"}, field
        assert (knob.get("langgraph_type") == "prompt") == field.startswith("prompt_"), field
    assert (shown["top_k"]["minimum"], shown["top_k"]["maximum"]) == (1, 100)
    assert shown["top_k"]["default"] == 5


async def test_the_index_graph_takes_paths(client: LangGraphClient):
    schemas: Any = await client.assistants.get_schemas(await assistant(client, "crag_index"))
    assert set(schemas["input_schema"]["properties"]) == {"paths", "collection", "prune"}
    assert schemas["input_schema"]["required"] == ["paths"]


async def test_drawings_show_the_nodes_also_inside_a_parent(client: LangGraphClient):
    drawn: Any = await client.assistants.get_graph(await assistant(client, "crag"), xray=True)
    assert {node["id"] for node in drawn["nodes"]} == NODES | {"__start__", "__end__"}
    conditional = {(e["source"], e["target"]) for e in drawn["edges"] if e.get("conditional")}
    assert conditional == {("route", "refine"), ("route", "web_search")}
    inside: Any = await client.assistants.get_graph(await assistant(client, "parent"), xray=True)
    assert {"crag:retrieve", "crag:generate"} <= {node["id"] for node in inside["nodes"]}


async def test_every_stream_mode_shows_its_side_of_a_run(client: LangGraphClient):
    modes: Any = ["values", "updates", "messages-tuple", "custom", "debug", "events", "tasks"]
    modes += ["checkpoints"]
    seen: dict[str, list[Any]] = {}
    thread = await new_thread(client)
    async for part in client.runs.stream(thread, "crag", input=OAK, stream_mode=modes):
        seen.setdefault(part.event, []).append(part.data)
    assert {"metadata", "values", "updates", "custom", "debug", "events", "tasks"} <= seen.keys()
    assert "checkpoints" in seen
    assert seen["values"][-1]["status"] == "answered"
    assert [next(iter(update)) for update in seen["updates"]] == [
        "retrieve", "evaluate", "route", "refine", "generate",
    ]  # fmt: skip
    assert seen["updates"][0]["retrieve"]["documents"][0]["page_content"]
    assert [event["event"] for event in seen["custom"]] == [
        "retrieved", "graded", "routed", "refined",
    ]  # fmt: skip
    kinds = {event["event"] for event in seen["events"]}
    assert {"on_retriever_start", "on_retriever_end"} <= kinds
    assert "messages" not in seen  # no model, no tokens
    assert marker("Oak") in seen["values"][-1]["answer"]


def test_the_synchronous_client_does_the_same(offline: Served):
    with get_sync_client(url=offline.url) as client:
        out: Any = client.runs.wait(None, "crag", input=OAK)
        assert marker("Oak") in out["answer"]
        parts = list(client.runs.stream(None, "crag", input=OAK, stream_mode="updates"))
        assert parts[-1].data["generate"]["status"] == "answered"
        thread = client.threads.create()["thread_id"]
        client.runs.wait(thread, "crag", input=OAK)
        assert client.threads.get_state(thread)["values"]["status"] == "answered"


async def test_two_questions_on_a_thread_keep_apart_and_have_a_history(client: LangGraphClient):
    thread = await new_thread(client)
    first: Any = await client.runs.wait(thread, "crag", input=OAK)
    second: Any = await client.runs.wait(thread, "crag", input={"question": question("Elm")})
    assert marker("Oak") in first["answer"]
    assert marker("Elm") in second["answer"]
    assert marker("Oak") not in second["answer"]
    assert second["usage"]["run_id"] != first["usage"]["run_id"]
    asked = [state["values"].get("question") for state in await history(client, thread)]
    assert asked.count(OAK["question"]) >= 6
    assert asked.count(question("Elm")) >= 6


async def test_documents_can_be_edited_as_json_and_the_run_forked(client: LangGraphClient):
    thread = await new_thread(client)
    await client.runs.wait(thread, "crag", input=OAK)
    found = before(await history(client, thread), "evaluate")
    text = "The access code of the Oak pumping station is HAND-0001."
    edited = {"page_content": text, "metadata": {"source": "h.md"}}
    fork: Any = await client.threads.update_state(
        thread, {"documents": [edited]}, as_node="retrieve", checkpoint=found["checkpoint"]
    )
    out: Any = await client.runs.wait(thread, "crag", input=None, checkpoint=fork["checkpoint"])
    assert "HAND-0001" in out["answer"]
    assert [document["metadata"]["source"] for document in out["documents"]] == ["h.md"]


async def test_other_thresholds_are_tried_from_route_and_nothing_is_paid_again(
    client: LangGraphClient,
):
    thread = await new_thread(client)
    out: Any = await client.runs.wait(thread, "crag", input=OAK)
    assert out["action"] == "correct"
    graded = before(await history(client, thread), "route")
    context: Any = {"upper": 1.0, "lower": 1.0}
    parts = [
        part
        async for part in client.runs.stream(
            thread, "crag", input=None, checkpoint=graded["checkpoint"], context=context,
            stream_mode=["updates", "values"],
        )
    ]  # fmt: skip
    nodes = [next(iter(part.data)) for part in parts if part.event == "updates"]
    assert nodes == ["route", "web_search", "generate"]
    assert parts[-1].data["action"] == "incorrect"
    assert parts[-1].data["usage"]["evaluator_calls"] == 1


async def test_assistants_carry_other_settings(client: LangGraphClient):
    strict = await client.assistants.create(
        "crag", context={"upper": 1.0, "lower": 1.0}, name="strict"
    )
    try:
        out: Any = await client.runs.wait(None, strict["assistant_id"], input=OAK)
        assert (out["action"], out["status"]) == ("incorrect", "refused")
        assert out["decision"]["upper"] == 1.0
        usual: Any = await client.runs.wait(None, "crag", input=OAK)
        assert usual["action"] == "correct"
    finally:
        await client.assistants.delete(strict["assistant_id"])


@pytest.mark.parametrize(
    ("given", "context", "said"),
    [
        ({"question": " "}, None, "the question is blank"),
        (OAK, {"upper": 4}, "upper: "),
        (OAK, {"profile": "nobody"}, "there is no 'nobody'"),
    ],
)
async def test_what_cannot_be_is_one_typed_sentence(
    client: LangGraphClient, given: Any, context: Any, said: str
):
    out: Any = await client.runs.wait(None, "crag", input=given, context=context, raise_error=False)
    assert said in out["__error__"]["message"]
    assert out["__error__"]["error"] in ("InputError", "ConfigurationError")


async def test_fifty_questions_at_once_each_with_its_own_evidence(client: LangGraphClient):
    asked = [STATIONS[number % len(STATIONS)] for number in range(50)]

    async def ask(name: str) -> Any:
        # One passage each: whatever another document says could only come from another run.
        given: Any = {"question": question(name)}
        return await client.runs.wait(None, "crag", input=given, context={"top_k": 1})

    outs = await asyncio.gather(*(ask(name) for name in asked))
    markers = {name: marker(name) for name in STATIONS}
    assert len(set(markers.values())) == 30
    for name, out in zip(asked, outs, strict=True):
        assert out["status"] == "answered", out
        assert [key for key, text in markers.items() if text in json.dumps(out)] == [name]
        (citation,) = out["citations"]
        assert citation["source"].endswith(f"/{name.lower()}.md")


async def test_a_parent_on_the_server_streams_what_happens_inside(client: LangGraphClient):
    namespaces = set()
    async for part in client.runs.stream(
        None, "parent", input=OAK, context={"user": "u", "crag": {"top_k": 3}},
        stream_mode="updates", stream_subgraphs=True,
    ):  # fmt: skip
        namespaces.add(part.event.partition("|")[2].partition(":")[0])
        last = part
    assert namespaces == {"", "crag"}
    assert marker("Oak") in last.data["reply"]["messages"][0]["content"]


async def test_mcp_clients_find_the_tools_and_call_them(offline: Served):
    async with Client(f"{offline.url}/mcp") as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert {"crag", "crag_chat", "crag_index"} <= tools.keys()
        for name in ("crag", "crag_chat", "crag_index"):
            assert len(tools[name].description or "") > 100
        assert tools["crag"].input_schema["required"] == ["question"]
        result: Any = await client.call_tool("crag", OAK)
        assert not result.is_error
        assert marker("Oak") in result.content[0].text
        chat: Any = await client.call_tool("crag_chat", {"messages": question("Fir")})
        assert marker("Fir") in chat.content[0].text
        blank: Any = await client.call_tool("crag", {"question": " "})
        assert blank.is_error


async def test_another_agent_reads_the_card_and_talks_to_the_chat(
    client: LangGraphClient, offline: Served
):
    identifier = await assistant(client, "crag_chat")
    async with httpx.AsyncClient(base_url=offline.url, timeout=60) as http:
        url = f"/.well-known/agent-card.json?assistant_id={identifier}"
        card = (await http.get(url)).json()
        assert card["name"] == "crag_chat"
        assert "follow-ups" in card["description"]

        async def say(text: str, context: str | None = None) -> Any:
            message: dict[str, Any] = {
                "role": "user",
                "messageId": text,
                "parts": [{"kind": "text", "text": text}],
            }
            if context:
                message["contextId"] = context
            body = {"jsonrpc": "2.0", "id": "1", "method": "message/send"}
            answer = await http.post(
                f"/a2a/{identifier}",
                json=body | {"params": {"message": message}},
                headers={"Accept": "application/json"},
            )
            return answer.json()["result"]

        first = await say(question("Yew"))
        assert marker("Yew") in json.dumps(first)
        second = await say("And the Elm one?", first["contextId"])
        assert marker("Elm") in json.dumps(second)


def test_remote_graph_is_used_like_a_local_one(offline: Served, capsys):
    path = ROOT / "examples" / "remote_graph.py"
    spec = importlib.util.spec_from_file_location("remote_graph", path)
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    example.main(offline.url, question("Teak"))
    printed = capsys.readouterr().out
    assert marker("Teak") in printed
    assert "teak.md" in printed
    assert "correct, answered" in printed


async def test_new_documents_are_answered_from_at_once_and_progress_is_told(
    client: LangGraphClient, offline: Served
):
    new = offline.documents / "new"
    new.mkdir()
    (new / "ebony.md").write_text(
        "# The Ebony pumping station\n\nThe access code of the Ebony pumping station is EBONY-77.\n"
    )
    parts = [
        part
        async for part in client.runs.stream(
            None, "crag_index", input={"paths": ["new"]}, stream_mode=["custom", "values"]
        )
    ]
    assert {part.data["event"] for part in parts if part.event == "custom"} == {"indexing"}
    assert parts[-1].data["report"]["added"] == 1
    out: Any = await client.runs.wait(None, "crag", input={"question": question("Ebony")})
    assert "EBONY-77" in out["answer"]

    (new / "ebony.md").unlink()
    again: Any = await client.runs.wait(None, "crag_index", input={"paths": ["new"], "prune": True})
    assert again["report"]["pruned"] == 1
    out = await client.runs.wait(None, "crag", input={"question": question("Ebony")})
    assert "EBONY-77" not in out["answer"]


@pytest.mark.case(124)
@pytest.mark.parametrize("path", ["/etc/passwd", "../home", "link", "oak.md/../../server.log"])
async def test_nothing_outside_the_folder_is_read(
    client: LangGraphClient, offline: Served, path: str
):
    link = offline.documents / "link"
    if not link.is_symlink():
        link.symlink_to(Path("/etc/hostname"))
    try:
        out: Any = await client.runs.wait(
            None, "crag_index", input={"paths": [path]}, raise_error=False
        )
    finally:
        link.unlink()
    assert out["__error__"]["error"] == "InputError"
    assert "CRAG_INGEST_ROOT" in out["__error__"]["message"]


def test_health_tells_that_it_is_ready_and_each_run_is_one_line_of_json(offline: Served):
    ready = httpx.get(f"{offline.url}/health")
    assert (ready.status_code, ready.json()) == (200, {"status": "ready", "store": "filled"})
    httpx.post(f"{offline.url}/runs/wait", json={"assistant_id": "crag", "input": OAK}, timeout=60)
    lines = [json.loads(line) for line in offline.server.log.splitlines() if line.startswith("{")]
    runs = [line["crag"] for line in lines if line["event"] == "run finished"]
    assert runs
    assert runs[-1]["action"] == "correct"
    assert not re.search(r"access code", json.dumps(runs))
