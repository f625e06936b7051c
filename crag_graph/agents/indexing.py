"""Ingestion as a graph, for Studio and the server's API: paths in, a report out."""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from typing_extensions import NotRequired, TypedDict

from crag_graph.agents.ingest_root import ROOT_VARIABLE, allowed_paths
from crag_graph.assembly import load_embeddings
from crag_graph.environment import Environment
from crag_graph.errors import InputError
from crag_graph.ingestion.report import IngestProgress, IngestReport
from crag_graph.lazy import Lazy
from crag_graph.models.embeddings import NamedEmbeddings
from crag_graph.retrieval.index import CollectionSchema


class IndexInput(TypedDict):
    """What is to be ingested.

    `paths` are files and folders below `CRAG_INGEST_ROOT`, absolute or relative to it. `collection`
    is by default that of the server's environment. `prune` also removes documents below the paths
    whose files are gone.
    """

    paths: list[str]
    collection: NotRequired[str | None]
    prune: NotRequired[bool]


class IndexOutput(TypedDict, total=False):
    """What was done: counts of documents and chunks, and what could not be read and why."""

    collection: str
    report: dict[str, Any]


class IndexState(TypedDict, total=False):
    """The input and the output."""

    paths: list[str]
    collection: str | None
    prune: bool
    report: dict[str, Any]


IndexGraph = CompiledStateGraph[IndexState, None, IndexInput, IndexOutput]


def build_index_graph(
    environment: Environment | Lazy[Environment] | None = None, *, name: str = "crag_index"
) -> IndexGraph:
    """Return the compiled graph with its one node, `ingest`.

    It writes into the store that the graphs of the same process answer from; they see new documents
    at once. One ingestion runs at a time.

    Args:
        environment: Where the store and the embeddings come from; by default the process's own, at
            first use.
        name: What the graph is called in traces.
    """
    builder: StateGraph[IndexState, None, IndexInput, IndexOutput] = StateGraph(
        IndexState, input_schema=IndexInput, output_schema=IndexOutput
    )
    given = environment or Lazy(Environment.read)
    node: Any = _Ingest(given if isinstance(given, Lazy) else Lazy[Environment].of(given))
    builder.add_node("ingest", node)
    builder.add_edge(START, "ingest")
    builder.add_edge("ingest", END)
    return builder.compile(name=name)


class _Ingest(Runnable[IndexState, IndexOutput]):
    """Brings the collection up to date with the paths, in a thread where the caller is async."""

    def __init__(self, environment: Lazy[Environment]) -> None:
        self._environment = environment
        self._embeddings: Lazy[NamedEmbeddings] = Lazy(lambda: load_embeddings(environment.get()))
        self._one_at_a_time = threading.Lock()

    def invoke(
        self, input: IndexState, config: RunnableConfig | None = None, **kwargs: Any
    ) -> IndexOutput:
        """Return the report."""
        del config, kwargs
        return self._ingest(input, get_stream_writer(), threading.Event())

    async def ainvoke(
        self, input: IndexState, config: RunnableConfig | None = None, **kwargs: Any
    ) -> IndexOutput:
        """Return the report, without blocking the event loop.

        A cancelled run stops after the batch at hand; what was stored is kept.
        """
        del config, kwargs
        stop = threading.Event()
        try:
            return await asyncio.to_thread(self._ingest, input, get_stream_writer(), stop)
        except asyncio.CancelledError:
            stop.set()
            raise

    def _ingest(
        self, state: IndexState, write: Callable[[Any], None], stop: threading.Event
    ) -> IndexOutput:
        environment = self._environment.get()
        if collection := state.get("collection"):
            environment = environment.with_collection(collection)
        named = state.get("paths")
        if not isinstance(named, list):
            raise InputError('there are no paths: send {"paths": ["a folder or file"]}')
        paths = allowed_paths(named, root=environment.variables.get(ROOT_VARIABLE, ""))

        def tell(at: IngestProgress) -> None:
            if stop.is_set():
                raise asyncio.CancelledError
            write(
                {
                    "event": "indexing",
                    "documents": at.documents,
                    "total": at.total,
                    "chunks": at.chunks,
                }
            )

        with self._one_at_a_time:
            report = _run(
                paths,
                environment=environment,
                embeddings=self._embeddings.get(),
                prune=bool(state.get("prune")),
                tell=tell,
            )
        return {"collection": environment.collection, "report": report.as_dict()}


def _run(
    paths: list[Path],
    *,
    environment: Environment,
    embeddings: NamedEmbeddings,
    prune: bool,
    tell: Callable[[IngestProgress], None],
) -> IngestReport:
    from crag_graph.ingestion.ingest import ingest
    from crag_graph.retrieval.store import open_index, open_manifest

    home, name, url = environment.home, environment.collection, environment.qdrant_url or None
    index = open_index(
        home=home,
        collection=name,
        create=CollectionSchema(
            name=name, embedding_model=embeddings.name, dimension=embeddings.dimension
        ),
        url=url,
        api_key=environment.qdrant_api_key or None,
    )
    with contextlib.closing(index), open_manifest(home=home, index=index, url=url) as manifest:
        return ingest(
            paths,
            index=index,
            manifest=manifest,
            embeddings=embeddings,
            prune=prune,
            progress=tell,
        )


graph = build_index_graph()
