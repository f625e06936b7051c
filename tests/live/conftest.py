"""Two servers, each started once: one with nothing configured, one with a model and the web."""

import dataclasses
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from tests.fakes.collector import Collector
from tests.fakes.folders import shared_folder
from tests.fakes.grader import by_text
from tests.fakes.langgraph_server import LangGraphServer
from tests.fakes.openai_server import OpenAIServer, Reply, Request
from tests.fakes.web_servers import WebServer
from tests.fakes.web_servers_wire import PAGE, SEARXNG

STATIONS = [
    "Alder", "Birch", "Cedar", "Dogwood", "Elm", "Fir", "Ginkgo", "Hazel", "Ivy", "Juniper",
    "Kapok", "Larch", "Maple", "Nutmeg", "Oak", "Pine", "Quince", "Rowan", "Spruce", "Teak",
    "Umbrella", "Viburnum", "Willow", "Xylosma", "Yew", "Zelkova", "Acacia", "Baobab", "Cypress",
    "Damson",
]  # fmt: skip


def marker(station: str) -> str:
    """What only the document of this station says."""
    return f"{station.upper()}-{sum(map(ord, station)) * 7919 % 9973:04d}"


def question(station: str) -> str:
    """What the document of this station answers."""
    return f"What is the access code of the {station} pumping station?"


@dataclasses.dataclass
class Served:
    """A running server, with what is around it."""

    server: LangGraphServer
    documents: Path
    model: OpenAIServer | None = None
    web: WebServer | None = None
    traces: Collector | None = None

    @property
    def url(self) -> str:
        return self.server.url


def _documents(folder: Path) -> Path:
    folder.mkdir()
    for station in STATIONS:
        (folder / f"{station.lower()}.md").write_text(
            f"# The {station} pumping station\n\n"
            f"The access code of the {station} pumping station is {marker(station)}.\n"
        )
    return folder


def _index(served: Served) -> None:
    given = {"assistant_id": "crag_index", "input": {"paths": ["."]}}
    answer = httpx.post(f"{served.url}/runs/wait", json=given, timeout=120)
    assert answer.json()["report"]["added"] == len(STATIONS), answer.text


@pytest.fixture(scope="session")
def offline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """No key, no model, no web: the packaged embeddings and the local evaluator."""
    with shared_folder(tmp_path_factory, "offline") as folder:
        documents = _documents(folder / "documents")
        variables = {"CRAG_HOME": str(folder / "home"), "CRAG_INGEST_ROOT": str(documents)}
        graphs = {"parent": "tests.fakes.served_parent:graph"}
        with LangGraphServer(folder, variables=variables, graphs=graphs) as server:
            served = Served(server, documents)
            _index(served)
            yield served
            assert "BlockingError" not in server.log


class Script:
    """A model that finds the ferry, answers about it, and waits where a test wants it to."""

    def __init__(self) -> None:
        self.grade = by_text({"pumping": 3, "ferry": 5}, query="ferry timetable")
        self.delay = 0.0
        self.asked_for_an_answer = threading.Event()

    def __call__(self, request: Request) -> Reply:
        if "$history" in request.system or "Conversation:" in request.prompt:
            return Reply(content="When does the return ferry leave?")
        if request.method == "text":
            self.asked_for_an_answer.set()
            return Reply(content="It leaves at nine [1].", pieces=4, delay=self.delay)
        return self.grade(request)


@pytest.fixture(scope="session")
def script() -> Script:
    """What the model of `modelled` does."""
    return Script()


@pytest.fixture(scope="session")
def modelled(tmp_path_factory: pytest.TempPathFactory, script: Script) -> Iterator[Served]:
    """A chat model that grades and answers, a search engine, and a collector of traces."""
    with (
        shared_folder(tmp_path_factory, "modelled") as folder,
        OpenAIServer(script) as model,
        WebServer(SEARXNG.answer(lambda _: [PAGE])) as web,
        Collector() as traces,
    ):
        documents = _documents(folder / "documents")
        variables = {
            "CRAG_HOME": str(folder / "home"),
            "CRAG_INGEST_ROOT": str(documents),
            "OPENAI_API_KEY": "sk-TESTLEAK1234567890",
            "OPENAI_BASE_URL": model.url,
            "CRAG_CHAT_MODEL": "openai:fake",
            "CRAG_WEB_SEARCH": "searxng",
            "SEARXNG_URL": web.url,
            "CRAG_OTEL_ENDPOINT": f"{traces.url}/v1/traces",
            "CRAG_TRACE_PAYLOADS": "off",
            "OTEL_BSP_SCHEDULE_DELAY": "100",
        }
        with LangGraphServer(folder, variables=variables) as server:
            served = Served(server, documents, model, web, traces)
            _index(served)
            yield served
            assert "BlockingError" not in server.log
            assert "TESTLEAK" not in server.log


@pytest.fixture
async def client(offline: Served) -> AsyncIterator[LangGraphClient]:
    """An asynchronous client of `offline`."""
    async with get_client(url=offline.url) as opened:
        yield opened


@pytest.fixture
async def model_client(modelled: Served) -> AsyncIterator[LangGraphClient]:
    """An asynchronous client of `modelled`."""
    async with get_client(url=modelled.url) as opened:
        yield opened
