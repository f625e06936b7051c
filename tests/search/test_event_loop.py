"""Nothing in a search blocks the event loop: the LangGraph server refuses graphs that do."""

import time
from pathlib import Path

import pytest
from blockbuster import BlockingError, blockbuster_ctx

from crag_graph.environment import Environment
from crag_graph.graph import build_graph
from crag_graph.lazy import Lazy
from crag_graph.search.providers import build_web_search
from tests.fakes.collaborators import StubEvaluator, services
from tests.fakes.web_servers import WebServer
from tests.fakes.web_servers_wire import KEY, PAGE, WIRES, Wire


@pytest.mark.parametrize("wire", WIRES.values(), ids=WIRES)
async def test_a_search_with_all_its_limits_holds_up_nobody(wire: Wire, tmp_path: Path) -> None:
    with WebServer(wire.answer(lambda _: [PAGE])) as server:
        variables = {
            "CRAG_HOME": str(tmp_path),
            "CRAG_WEB_SEARCH": wire.name,
            "CRAG_WEB_MONTHLY_CAP": "5",
            "CRAG_WEB_PER_SECOND": "100",
            "SEARXNG_URL": server.url,
        }
        for provider in ("TAVILY", "BRAVE", "EXA", "WIKIPEDIA", "DUCKDUCKGO"):
            variables[f"{provider}_BASE_URL"] = server.url
            variables[f"{provider}_API_KEY"] = KEY
        web = Lazy(lambda: build_web_search(Environment.read(variables)))
        made = services(web=web, evaluator=StubEvaluator(lambda _: 0.1, query="ferry"))
        with blockbuster_ctx():
            out = await build_graph(made).ainvoke({"question": "When does the ferry leave?"})
    assert out["status"] == "answered"
    assert out["usage"]["web_searches"] == 1


async def test_what_blocks_would_be_seen() -> None:
    with blockbuster_ctx(), pytest.raises(BlockingError):
        time.sleep(0.01)  # noqa: ASYNC251 - that is the point
