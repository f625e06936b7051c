"""Running the graph for one question, with a sign of life on the terminal."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from crag_graph.cli.output import output_of
from crag_graph.cli.streams import stderr_console
from crag_graph.errors import InputError

if TYPE_CHECKING:
    from rich.status import Status

    from crag_graph.graph import CRAGGraph
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


def ask(
    graph: "CRAGGraph",
    question: str,
    *,
    settings: "Settings",
    where: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the output of one run as plain data; what it is doing shows on a terminal's stderr.

    Raises:
        CRAGError: The run ended without an answer or a refusal.
    """
    given: Any = {"question": question}
    if where:
        given["filter"] = dict(where)
    final: Mapping[str, Any] = {}
    with _status("retrieving") as status:
        steps: Any = graph.stream(given, context=settings, stream_mode=["updates", "values"])
        for mode, data in steps:
            if mode == "values":
                final = data
            elif "__interrupt__" in data:
                raise InputError(
                    "the run stopped for a person to approve a search, which the command cannot "
                    "ask for: leave approve_searches off here, or run it in LangGraph Studio"
                )
            elif status is not None:
                status.update(_doing(data))
    return output_of(final)


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
