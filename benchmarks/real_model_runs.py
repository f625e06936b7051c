"""Runs of the graph with a model behind a server: the stage for them, and what came out."""

import asyncio
import contextlib
import dataclasses
import re
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from benchmarks.model_server import MODEL_NAME
from benchmarks.real_model_cases import CORPUS, Case, find_pages
from crag_graph.cli.ingesting import ingest_paths
from crag_graph.environment import Environment
from crag_graph.errors import CRAGError
from crag_graph.graph import build_graph
from crag_graph.services import Services
from crag_graph.settings import EvaluationMode, Settings
from tests.fakes.web_servers import WebServer
from tests.fakes.web_servers_wire import SEARXNG

# How the decision card says that a reply was of no use and was asked for again.
_REPEATED = re.compile(r"asked (?:once more|again about)|graded in parts")
_OUTPUT_TOKENS = 400
_SECONDS = 1800.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Run:
    """One question, answered.

    Attributes:
        case: The question.
        mode: How it was graded.
        state: The state that the run ended with; empty when it raised.
        error: What it raised, in its own words.
        shown: The pieces that were streamed as messages, each with the node it came from.
        calls: Requests that reached the model's server.
        seconds: Wall time.
    """

    case: Case
    mode: EvaluationMode
    state: Mapping[str, Any]
    error: str
    shown: tuple[tuple[str, str], ...]
    calls: int
    seconds: float

    @property
    def usage(self) -> Mapping[str, Any]:
        """What the run says it took."""
        return self.state.get("usage") or {}

    @property
    def repeats(self) -> list[str]:
        """The notes on replies that had to be asked for again."""
        decision = self.state.get("decision") or {}
        return [note for note in _texts(decision) if _REPEATED.search(note)]


class Server(Protocol):
    """A server of a model that knows how many requests have reached it."""

    @property
    def url(self) -> str:
        """The base URL for an OpenAI client."""
        ...

    def requests(self) -> int:
        """Return how many requests the model has begun to work on."""
        ...


@dataclasses.dataclass(frozen=True, kw_only=True)
class Stage:
    """Everything around the model: the corpus in an embedded store, a web on loopback."""

    services: Services
    server: Server

    def ask(self, case: Case, mode: EvaluationMode) -> Run:
        """Return what became of `case`: fused on an event loop, staged in this thread."""
        given: dict[str, Any] = {"question": case.question}
        if case.nothing:
            given["filter"] = {"source": ["there-is-no-such-file.md"]}
        settings = Settings(
            evaluation_mode=mode,
            aggregate=case.aggregate,
            top_k=3,
            web_search=case.web,
            web_seconds=120,
            verify_quotes=True,
        )
        before, started = self.server.requests(), time.perf_counter()
        collect = self._astream if mode == "fused" else self._stream
        shown: list[tuple[str, str]] = []
        state: dict[str, Any] = {}
        error = ""
        try:
            collect(given, settings, shown, state)
        except CRAGError as problem:
            error = f"{type(problem).__name__}: {problem.message}"
        return Run(
            case=case,
            mode=mode,
            state=state,
            error=error,
            shown=tuple(shown),
            calls=self.server.requests() - before,
            seconds=time.perf_counter() - started,
        )

    def _stream(self, given: Any, settings: Settings, shown: Any, state: dict[str, Any]) -> None:
        graph = build_graph(self.services)
        modes: Any = ["messages", "values"]
        for mode, part in graph.stream(given, context=settings, stream_mode=modes):
            _take(mode, part, shown, state)

    def _astream(self, given: Any, settings: Settings, shown: Any, state: dict[str, Any]) -> None:
        async def collect() -> None:
            graph = build_graph(self.services)
            modes: Any = ["messages", "values"]
            async for mode, part in graph.astream(given, context=settings, stream_mode=modes):
                _take(mode, part, shown, state)

        asyncio.run(collect())


def _take(mode: str, part: Any, shown: list[tuple[str, str]], state: dict[str, Any]) -> None:
    if mode == "messages":
        message, about = part
        shown.append((about["langgraph_node"], message.text))
    else:
        state.clear()
        state.update(part)


@contextlib.contextmanager
def stage(server: Server) -> Iterator[Stage]:
    """Give the corpus indexed, and the graph's services for the model at `server`."""
    with (
        tempfile.TemporaryDirectory(prefix="real-model-") as place,
        WebServer(SEARXNG.answer(find_pages)) as web,
    ):
        corpus = Path(place) / "corpus"
        corpus.mkdir()
        for name, text in CORPUS.items():
            (corpus / name).write_text(text, encoding="utf-8")
        variables = {
            "CRAG_HOME": str(Path(place) / "home"),
            "OPENAI_BASE_URL": server.url,
            "CRAG_CHAT_MODEL": f"openai:{MODEL_NAME}",
            "CRAG_EVALUATOR_MODEL": f"openai:{MODEL_NAME}",
            "CRAG_TEMPERATURE": "0",
            "CRAG_MAX_OUTPUT_TOKENS": str(_OUTPUT_TOKENS),
            "CRAG_MODEL_TIMEOUT": str(_SECONDS),
            "CRAG_WEB_SEARCH": "searxng",
            "SEARXNG_URL": web.url,
        }
        ingest_paths([corpus], environment=Environment.read(variables))
        services = Services.from_env(variables)
        try:
            yield Stage(services=services, server=server)
        finally:
            services.close()


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
