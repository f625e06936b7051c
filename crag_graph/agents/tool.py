"""The graph as a tool of an agent: the answer for the model, the whole run as the artifact."""

from collections.abc import Mapping
from typing import Annotated, Any

from langchain_core.tools import BaseTool, StructuredTool, ToolException

from crag_graph.agents.sources import with_sources
from crag_graph.errors import CRAGError
from crag_graph.graph import CRAGGraph, build_graph
from crag_graph.services import Services
from crag_graph.settings import Settings
from crag_graph.state import CRAGInput

DESCRIPTION = (
    "Answers one question from an indexed collection of documents, and from the web where the "
    "documents do not hold the answer. Every statement carries the number of its source; the "
    "sources are listed below the answer. Where nothing reliable is found it says so instead of "
    "guessing: do not answer from memory then. Ask one complete question that names what it is "
    "about; the tool knows nothing of the conversation."
)
"""What the tool says of itself to a model, unless told otherwise."""


def crag_tool(
    services: Services | None = None,
    *,
    graph: CRAGGraph | None = None,
    name: str = "ask_documents",
    description: str = DESCRIPTION,
    settings: Settings | None = None,
    where: Mapping[str, Any] | None = None,
) -> BaseTool:
    """Return a tool that takes `question` and answers it; works with `create_agent`.

    Its message to the model is the answer with a list of sources. Its artifact is the output of the
    run: documents, grades, decision card, usage. A question that cannot be answered because
    something is down or misconfigured gives the model the one sentence that says so.

    Args:
        services: The collaborators; by default those that the environment names.
        graph: A graph that is built already, in place of `services`.
        name: What the model calls it; with several collections, name each.
        description: What the model is told of it; say what the collection holds.
        settings: The knobs of every run; by default the defaults.
        where: A filter for retrieval that every run gets.
    """
    answering = graph or build_graph(services, name=name)
    context = settings or Settings()

    def ask(question: _Question) -> tuple[str, dict[str, Any]]:
        try:
            return _shown(answering.invoke(_input(question, where), context=context))
        except CRAGError as error:
            raise ToolException(error.message) from error

    async def aask(question: _Question) -> tuple[str, dict[str, Any]]:
        try:
            return _shown(await answering.ainvoke(_input(question, where), context=context))
        except CRAGError as error:
            raise ToolException(error.message) from error

    return StructuredTool.from_function(
        func=ask,
        coroutine=aask,
        name=name,
        description=description,
        response_format="content_and_artifact",
        handle_tool_error=True,
    )


_Question = Annotated[str, "One complete question, understandable by itself."]


def _input(question: str, where: Mapping[str, Any] | None) -> CRAGInput:
    return {"question": question, "filter": dict(where) if where else None}


def _shown(output: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return with_sources(output["answer"], output["citations"]), output
