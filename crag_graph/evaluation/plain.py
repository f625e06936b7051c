"""Plain RAG, to compare with: the same retriever and generator, and nothing between them."""

from langgraph.graph import END, START, StateGraph

from crag_graph.evaluators.grading import as_passages, scored_strips
from crag_graph.graph import CRAGGraph
from crag_graph.nodes.base import Node, Update
from crag_graph.nodes.generate import GenerateNode
from crag_graph.nodes.retrieve import RetrieveNode
from crag_graph.services import Services
from crag_graph.settings import Settings
from crag_graph.state import CRAGInput, CRAGOutput, CRAGState


class KeepAllNode(Node):
    """Keeps every strip of every passage: nothing is graded, dropped or looked up elsewhere."""

    key = "keep_all"

    def run(self, state: CRAGState, settings: Settings) -> Update:
        """Return all strips as kept, and the action whose prompt trusts the passages."""
        del settings
        passages = as_passages(state.get("documents") or [], origin="internal")
        strips = [{**strip, "kept": True} for strip in scored_strips(passages, {})]
        update = self.report(state, decided="all kept", why="plain RAG grades nothing")
        return update | {"strips": strips, "action": "correct"}

    async def arun(self, state: CRAGState, settings: Settings) -> Update:
        """Return what `run` does."""
        return self.run(state, settings)


def build_plain_graph(services: Services) -> CRAGGraph:
    """Return the graph of plain RAG: retrieve → generate.

    The web is not asked. The evidence budget, the checks of citations and the refusal where nothing
    was retrieved are those of the product. Without a language model the extractive generator has no
    scores to go by: it quotes the beginning of the first passage.

    Args:
        services: Their retriever and generator are used.
    """
    builder: StateGraph[CRAGState, Settings, CRAGInput, CRAGOutput] = StateGraph(
        CRAGState, context_schema=Settings, input_schema=CRAGInput, output_schema=CRAGOutput
    )
    builder.add_node("retrieve", RetrieveNode(services))
    builder.add_node("keep_all", KeepAllNode(services))
    builder.add_node("generate", GenerateNode(services))
    builder.add_edge(START, "retrieve")
    builder.add_edge("retrieve", "keep_all")
    builder.add_edge("keep_all", "generate")
    builder.add_edge("generate", END)
    return builder.compile(name="plain-rag")


def plain_settings(settings: Settings) -> Settings:
    """Return the settings of a run of plain RAG: nothing is reranked."""
    return settings.model_copy(update={"rerank_from": 0})
