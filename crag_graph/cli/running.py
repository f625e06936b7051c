"""Running the graph for one question, with a sign of life on the terminal."""

import contextlib
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from crag_graph.cli.approval import ask_for_approval
from crag_graph.cli.output import output_of
from crag_graph.cli.streams import stderr_console
from crag_graph.graph import CRAGGraph, build_graph

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from rich.status import Status

    from crag_graph.services import Services
    from crag_graph.settings import Settings

# What is under way once a node has finished.
_AFTER = {
    "retrieve": "grading the passages",
    "evaluate": "choosing the action",
    "refine": "answering",
    "web_search": "answering",
}
_ON_ACTION = {
    "correct": "refining the passages",
    "ambiguous": "refining the passages and searching the web",
    "incorrect": "searching the web",
}
_INTERRUPT = "__interrupt__"  # LangGraph's key for what a run waits for


def ask(
    services: "Services",
    question: str,
    *,
    settings: "Settings",
    where: Mapping[str, Any] | None = None,
    approve: Callable[[Mapping[str, Any]], dict[str, Any]] = ask_for_approval,
) -> dict[str, Any]:
    """Return the output of one run as plain data; what it is doing shows on a terminal's stderr.

    Args:
        services: The collaborators.
        question: As it was asked.
        settings: Of this run.
        where: A filter for retrieval.
        approve: Asks a person, where the settings want searches to be approved.

    Raises:
        CRAGError: The run ended without an answer or a refusal.
    """
    config: RunnableConfig = {}
    checkpointer = None
    if settings.approve_searches:  # a run that waits for a person is kept meanwhile
        from langgraph.checkpoint.memory import InMemorySaver

        checkpointer = InMemorySaver()
        config["configurable"] = {"thread_id": uuid.uuid4().hex}
    graph = build_graph(services, checkpointer=checkpointer)
    given: Any = {"question": question}
    if where:
        given["filter"] = dict(where)
    while True:
        final, asked = _run(graph, given, settings=settings, config=config)
        if asked is None:
            return output_of(final)
        from langgraph.types import Command

        given = Command(resume=approve(asked))


def _run(
    graph: CRAGGraph, given: Any, *, settings: "Settings", config: "RunnableConfig"
) -> tuple[Mapping[str, Any], Mapping[str, Any] | None]:
    """Return the state that a run came to, and what it waits for, if anything."""
    final: Mapping[str, Any] = {}
    asked = None
    with _status("retrieving") as status:
        steps: Any = graph.stream(
            given, config or None, context=settings, stream_mode=["updates", "values"]
        )
        for mode, data in steps:
            if mode == "values":
                final = data
            elif _INTERRUPT in data:
                asked = data[_INTERRUPT][0].value
            elif status is not None:
                status.update(_doing(data))
    return final, asked


def _doing(update: Mapping[str, Any]) -> str:
    """Return what comes after the nodes of `update`; a node's part may be None."""
    for node, part in update.items():
        if node == "route" and part:
            return _ON_ACTION.get(part.get("action", ""), "answering")
        if node in _AFTER:
            return _AFTER[node]
    return "finishing"


@contextlib.contextmanager
def _status(first: str) -> Iterator["Status | None"]:
    console = stderr_console()
    if not console.is_terminal:
        yield None
        return
    with console.status(first) as status:
        yield status
