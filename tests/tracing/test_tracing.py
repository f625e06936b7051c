"""Traces: what runs are called, and what they hold."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.tracers.base import BaseTracer
from langchain_core.tracers.schemas import Run
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from crag_graph.budget import Budget
from crag_graph.errors import GenerationError, InputError
from crag_graph.generation.base import Generation, GenerationRequest
from crag_graph.graph import build_graph
from crag_graph.settings import Settings
from crag_graph.tracing.opentelemetry import instrument
from crag_graph.tracing.payloads import trace_payloads, withhold
from tests.fakes.collaborators import StubEvaluator, StubRetriever, StubWeb, doc, services

SECRET = "The ferry MARKER-7Q leaves at nine."
QUESTION = {"question": "When does MARKER-Q leave?"}


class Recorder(BaseTracer):
    """Keeps every run of a trace."""

    def __init__(self) -> None:
        super().__init__()
        self.runs: list[Run] = []

    def _persist_run(self, run: Run) -> None:
        pass

    def _on_run_create(self, run: Run) -> None:
        self.runs.append(run)

    def named(self, name: str) -> Run:
        return next(run for run in self.runs if run.name == name)


class ModelGenerator:
    """Asks a LangChain model, as a real generator does."""

    name = "model"

    def __init__(self, answer: str) -> None:
        self.model = GenericFakeChatModel(messages=iter([AIMessage(answer)] * 9))

    def generate(
        self, request: GenerationRequest, *, settings: Settings, budget: Budget
    ) -> Generation:
        return Generation(answer=str(self.model.invoke(request.evidence[0].text).content))

    async def agenerate(
        self, request: GenerationRequest, *, settings: Settings, budget: Budget
    ) -> Generation:
        reply = await self.model.ainvoke(request.evidence[0].text)
        return Generation(answer=str(reply.content))


def world(**given: Any) -> Any:
    page = Document(SECRET.replace("nine", "ten"), metadata={"source": "https://a.example/"})
    made: dict[str, Any] = {
        "retriever": StubRetriever([doc("d1", SECRET)]),
        "evaluator": StubEvaluator(lambda _: 0.5, query="MARKER-W timetable"),
        "web": StubWeb([page]),
        "generator": ModelGenerator("MARKER-A leaves at nine [1]."),
    }
    return build_graph(services(**made | given))


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_retrieval_and_search_are_runs_of_their_own_below_their_nodes(asynchronous):
    recorder = Recorder()
    config: Any = {"callbacks": [recorder], "metadata": {"customer": "c1"}, "tags": ["theirs"]}
    if asynchronous:
        await world().ainvoke(QUESTION, config, context={"top_k": 3})
    else:
        world().invoke(QUESTION, config, context={"top_k": 3})
    for name, node, query in (
        ("retriever:stub", "retrieve", QUESTION["question"]),
        ("web_search:stub-web", "web_search", "MARKER-W timetable"),
    ):
        run = recorder.named(name)
        assert run.run_type == "retriever"
        assert run.inputs == {"query": query}
        assert len(run.outputs["documents"]) == 1
        assert recorder.named(node).id == run.parent_run_id
        assert {"crag", "theirs", name.partition(":")[0]} <= set(run.tags)
        assert run.metadata["crag_component"] == name.partition(":")[0]
        assert run.metadata["customer"] == "c1"
    assert recorder.named("retriever:stub").metadata["top_k"] == 3


def test_a_langchain_retriever_is_one_run_and_not_two():
    class Notes(BaseRetriever):
        def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
            return [doc("d1", SECRET)]

    recorder = Recorder()
    world(retriever=Notes()).invoke(QUESTION, {"callbacks": [recorder]})
    runs = [run for run in recorder.runs if run.run_type == "retriever" and "Notes" in run.name]
    assert [run.name for run in runs] == ["retriever:Notes"]
    assert {"crag", "retriever"} <= set(runs[0].tags)


async def test_a_failed_retrieval_is_a_failed_run():
    recorder = Recorder()
    failing = StubRetriever(InputError("the filter names no field"))
    with pytest.raises(InputError):
        await world(retriever=failing).ainvoke(QUESTION, {"callbacks": [recorder]})
    assert "the filter names no field" in str(recorder.named("retriever:stub").error)


@pytest.fixture
def collector() -> Iterator[tuple[TracerProvider, InMemorySpanExporter]]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    yield provider, exporter
    provider.shutdown()


def texts(exporter: InMemorySpanExporter) -> str:
    return "\n".join(span.to_json() for span in exporter.get_finished_spans())


async def test_opentelemetry_sees_one_trace_with_kinds_and_documents(collector):
    provider, exporter = collector
    instrumentor = instrument(provider, payloads=True)
    try:
        await world().ainvoke(QUESTION)
    finally:
        instrumentor.uninstrument()
    spans = {span.name: span for span in exporter.get_finished_spans()}
    assert {"crag", "retrieve", "evaluate", "route", "refine", "web_search", "generate"} <= set(
        spans
    )
    assert len({span.context.trace_id for span in spans.values()}) == 1
    kinds = {name: span.attributes["openinference.span.kind"] for name, span in spans.items()}
    assert kinds["retriever:stub"] == "RETRIEVER"
    assert kinds["GenericFakeChatModel"] == "LLM"
    documents = spans["retriever:stub"].attributes["retrieval.documents.0.document.content"]
    assert documents == SECRET
    assert spans["retriever:stub"].parent.span_id == spans["retrieve"].context.span_id


async def test_opentelemetry_without_payloads_holds_no_text_and_still_the_shape(collector):
    provider, exporter = collector
    instrumentor = instrument(provider, payloads=False)
    failing = ModelGenerator("MARKER-A [1].")
    failing.agenerate = _fail  # type: ignore[method-assign]
    try:
        await world().ainvoke(QUESTION)
        with pytest.raises(GenerationError):
            await world(generator=failing).ainvoke(QUESTION)
    finally:
        instrumentor.uninstrument()
    spans = exporter.get_finished_spans()
    assert {"crag", "retriever:stub", "GenericFakeChatModel"} <= {span.name for span in spans}
    assert "MARKER" not in texts(exporter)
    assert "GenerationError" in texts(exporter)


async def _fail(*_: Any, **__: Any) -> Generation:
    raise GenerationError("the model said: MARKER-E", reason="parse")


def test_withholding_keeps_the_shape_and_the_words_of_ours():
    kept = withhold(
        {
            "status": "answered",
            "score": 0.25,
            "kept": True,
            "documents": [{"id": "d1", "page_content": SECRET, "metadata": {"name": SECRET}}],
            "action": SECRET * 10,
            "langgraph_node": "retrieve",
            "error": f"ModelError('{SECRET}')\n\nTraceback",
        }
    )
    assert "MARKER" not in json.dumps(kept)
    assert kept["status"] == "answered"
    assert (kept["score"], kept["kept"], kept["langgraph_node"]) == (0.25, True, "retrieve")
    assert kept["documents"][0]["page_content"] == f"[withheld: {len(SECRET)} characters]"
    assert kept["error"] == "ModelError [withheld]"


@pytest.mark.parametrize(
    ("value", "wanted"), [("", True), ("on", True), ("OFF", False), ("0", False), ("false", False)]
)
def test_the_variable_is_read_as_people_write_it(value, wanted):
    assert trace_payloads({"CRAG_TRACE_PAYLOADS": value}) is wanted
    assert trace_payloads({}) is True
