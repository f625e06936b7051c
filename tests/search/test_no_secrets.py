"""Keys of providers show up in no state, checkpoint, event, log or output of a run."""

import logging
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from crag_graph.graph import build_graph
from tests.fakes.collaborators import StubEvaluator, services
from tests.fakes.web_servers import Reply, WebServer
from tests.fakes.web_servers_wire import KEY, WIRES, Wire, impatient

KEYED = [wire for wire in WIRES.values() if wire.name in ("tavily", "brave", "exa")]
# Providers and proxies have been seen to send the key back.
ECHO = Reply(status=401, body={"detail": {"error": f"bad key {KEY}"}, "error": f"bad key {KEY}"})


@pytest.mark.case(122)
@pytest.mark.parametrize("wire", KEYED, ids=lambda wire: wire.name)
@pytest.mark.parametrize("fault", ["auth", "server error", "dropped", "hangs", "echo"])
async def test_a_key_is_nowhere_but_in_the_request(wire: Wire, fault: str, caplog, capfd) -> None:
    caplog.set_level(logging.DEBUG)
    saver = InMemorySaver()
    config: Any = {"configurable": {"thread_id": "t"}}
    context: Any = {"web_seconds": 0.3 if fault == "hangs" else 10}
    with WebServer(ECHO if fault == "echo" else wire.faults[fault]) as server:
        made = services(
            web=impatient(wire, server.url),
            evaluator=StubEvaluator(lambda _: 0.1, query="ferry"),
        )
        graph = build_graph(made, checkpointer=saver)
        events = [
            event
            async for event in graph.astream(
                {"question": "When does the ferry leave?"},
                config,
                context=context,
                stream_mode=["values", "updates", "custom", "debug"],
            )
        ]
        assert KEY in str(server.requests[0].headers)
    history = [snapshot async for snapshot in graph.aget_state_history(config)]
    raw = [str(item) for item in (saver.storage, saver.writes, saver.blobs)]
    seen = " ".join([str(events), str(history), *raw, caplog.text, *capfd.readouterr()])
    assert "web search failed" in seen
    assert "TESTLEAK" not in seen
