"""The wiring of Corrective RAG as a LangGraph graph, and `graph` for langgraph.json."""

from typing import Any

from langgraph.cache.base import BaseCache
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.base import BaseStore
from langgraph.types import Checkpointer

from crag_graph.nodes.evaluate import EvaluateNode
from crag_graph.nodes.generate import GenerateNode
from crag_graph.nodes.refine import RefineNode
from crag_graph.nodes.retrieve import RetrieveNode
from crag_graph.nodes.route import RouteEdge, RouteNode
from crag_graph.nodes.web_search import WebSearchNode
from crag_graph.services import Services, shared_services
from crag_graph.settings import Settings
from crag_graph.state import CRAGInput, CRAGOutput, CRAGState
from crag_graph.tracing.payloads import trace_payloads, withhold_payloads

CRAGGraph = CompiledStateGraph[CRAGState, Settings, CRAGInput, CRAGOutput]


def build_graph(
    services: Services | None = None,
    *,
    checkpointer: Checkpointer = None,
    store: BaseStore | None = None,
    cache: BaseCache[Any] | None = None,
    name: str = "crag",
) -> CRAGGraph:
    """Return the compiled graph: retrieve → evaluate → route → refine / web_search → generate.

    Nothing is loaded or contacted before the first question. Of the environment only
    `CRAG_TRACE_PAYLOADS` is read: where it is off, traces hold no texts from here on.

    Args:
        services: The collaborators; by default those that the environment names.
        checkpointer: Keeps threads; leave it out inside a parent graph and under `langgraph dev`.
        store: A LangGraph store, handed through.
        cache: A LangGraph cache, handed through.
        name: What the graph is called in traces and as a subgraph.
    """
    if not trace_payloads():
        withhold_payloads()
    services = services or Services.from_env()
    builder: StateGraph[CRAGState, Settings, CRAGInput, CRAGOutput] = StateGraph(
        CRAGState, context_schema=Settings, input_schema=CRAGInput, output_schema=CRAGOutput
    )
    add_steps(builder, retrieve=RetrieveNode(services), generate=GenerateNode(services))
    builder.add_edge(START, "retrieve")
    return builder.compile(checkpointer=checkpointer, store=store, cache=cache, name=name)


def add_steps(
    builder: StateGraph[Any, Any, Any, Any], *, retrieve: RetrieveNode, generate: GenerateNode
) -> None:
    """Add the six nodes and the edges from `retrieve` to the end; the way in is the caller's.

    Args:
        builder: A graph whose state has the keys of `CRAGState`.
        retrieve: The first node; the others use its services.
        generate: The last one.
    """
    services = retrieve.services
    builder.add_node("retrieve", retrieve)
    builder.add_node("evaluate", EvaluateNode(services))
    builder.add_node("route", RouteNode(services))
    builder.add_node("refine", RefineNode(services))
    builder.add_node("web_search", WebSearchNode(services))
    builder.add_node("generate", generate)
    builder.add_edge("retrieve", "evaluate")
    builder.add_edge("evaluate", "route")
    builder.add_conditional_edges("route", RouteEdge(), ["refine", "web_search"])
    builder.add_edge("refine", "generate")
    builder.add_edge("web_search", "generate")
    builder.add_edge("generate", END)


graph = build_graph(shared_services())
