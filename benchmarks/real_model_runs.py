"""Runs of the graph with a real model: what came out, and which promise it broke, if any.

The promises are those that hold whatever a model says. What the model itself got wrong is another
matter: see `Judged`.
"""

import asyncio
import contextlib
import dataclasses
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.model_server import MODEL_NAME, Served
from benchmarks.real_model_cases import CORPUS, Case, find_pages
from crag_graph.cli.ingesting import ingest_paths
from crag_graph.environment import Environment
from crag_graph.errors import CRAGError
from crag_graph.graph import build_graph
from crag_graph.services import Services
from crag_graph.settings import EvaluationMode, Settings
from tests.fakes.web_servers import WebServer
from tests.fakes.web_servers_wire import SEARXNG

MOST_CALLS: Mapping[EvaluationMode, Mapping[str, int]] = {
    "fused": {"correct": 2, "incorrect": 2, "ambiguous": 2},
    "staged": {"correct": 3, "incorrect": 3, "ambiguous": 4},
}
"""Model calls a run, by mode and action, that no reply can raise but one that must be repaired."""

# How the decision card says that a reply was of no use and was asked for again.
_REPEATED = re.compile(r"asked (?:once more|about again)|graded in parts")
_MARKER = re.compile(r"\[(\d+)\]")
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


@dataclasses.dataclass(frozen=True, kw_only=True)
class Stage:
    """Everything around the model: the corpus in an embedded store, a web on loopback."""

    services: Services
    server: Served

    def ask(self, case: Case, mode: EvaluationMode) -> Run:
        """Return what became of `case`: fused on an event loop, staged in this thread."""
        given: dict[str, Any] = {"question": case.question}
        if case.nothing:
            given["filter"] = {"source": ["there-is-no-such-file.md"]}
        settings = Settings(
            evaluation_mode=mode, top_k=3, web_search=case.web, verify_quotes=True, web_seconds=120
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
def stage(server: Served) -> Iterator[Stage]:
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


Promise = Callable[[Run], bool]


def _ended(run: Run) -> bool:
    return not run.error and run.state.get("status") in ("answered", "refused")


def _acted(run: Run) -> bool:
    statuses = {grade["status"] for grade in run.state.get("grades") or []}
    return run.state.get("action") in ("correct", "ambiguous", "incorrect") and statuses <= {
        "scored",
        "unknown",
        "failed",
    }


def _few_calls(run: Run) -> bool:
    most = MOST_CALLS[run.mode].get(str(run.state.get("action")), 0)
    return run.calls <= most or bool(run.repeats)


def _counted(run: Run) -> bool:
    tokens = run.usage.get("input_tokens", 0), run.usage.get("output_tokens", 0)
    return run.usage.get("llm_calls") == run.calls and all(
        bool(count) == bool(run.calls) for count in tokens
    )


def _cited(run: Run) -> bool:
    answer, citations = str(run.state.get("answer")), run.state.get("citations") or []
    numbers = [citation["number"] for citation in citations]
    documents = [*(run.state.get("documents") or []), *(run.state.get("web_documents") or [])]
    known = {document.id: document.page_content for document in documents}
    kept = {strip["id"]: strip for strip in run.state.get("strips") or [] if strip["kept"]}
    return (
        numbers == list(range(1, len(numbers) + 1))
        and {int(number) for number in _MARKER.findall(answer)} == set(numbers)
        and all(citation["document_id"] in known for citation in citations)
        and all(
            kept[name]["text"] in known[citation["document_id"]]
            for citation in citations
            for name in citation["strip_ids"]
        )
    )


def _generated_from_evidence(run: Run) -> bool:
    kept = any(strip["kept"] for strip in run.state.get("strips") or [])
    refused = run.state.get("status") == "refused"
    generations = run.usage.get("generation_calls", 0)
    return generations == 1 if kept else (refused and generations == 0)


def _streamed(run: Run) -> bool:
    text = "".join(piece for _, piece in run.shown)
    if not run.usage.get("generation_calls"):
        return not text
    pieces = [piece for _, piece in run.shown if piece]
    said = _MARKER.sub("", text).split()
    answer = _MARKER.sub("", str(run.state.get("answer"))).split()
    return {node for node, _ in run.shown} == {"generate"} and len(pieces) > 1 and said == answer


PROMISES: Mapping[str, Promise] = {
    "the run ends with an answer or a refusal": _ended,
    "there is an action, and every grade has a status": _acted,
    "no more model calls than the mode allows": _few_calls,
    "calls and tokens are counted": _counted,
    "every marker has its citation, of evidence that was given": _cited,
    "one generation where there is evidence, else a refusal in code": _generated_from_evidence,
    "the answer streams, and nothing else does": _streamed,
}
"""What must hold whatever the model says."""


def broken(run: Run) -> list[str]:
    """Return the promises that `run` broke."""
    if run.error:
        return [f"the run ends with an answer or a refusal ({run.error})"]
    return [promise for promise, holds in PROMISES.items() if not holds(run)]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
