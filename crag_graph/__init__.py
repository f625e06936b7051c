"""Corrective RAG as a LangGraph graph: retrieved passages are graded before a model answers.

`build_graph` makes the graph, `Settings` are the knobs of one run, `Services` its collaborators.
The names below are loaded when they are first used, so that importing the package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crag_graph.errors import CRAGError
    from crag_graph.graph import build_graph
    from crag_graph.services import Services
    from crag_graph.settings import PROFILES, Profile, Settings
    from crag_graph.state import CRAGInput, CRAGOutput, CRAGState

_HOMES = {
    "CRAGError": "crag_graph.errors",
    "CRAGInput": "crag_graph.state",
    "CRAGOutput": "crag_graph.state",
    "CRAGState": "crag_graph.state",
    "PROFILES": "crag_graph.settings",
    "Profile": "crag_graph.settings",
    "Services": "crag_graph.services",
    "Settings": "crag_graph.settings",
    "build_graph": "crag_graph.graph",
}

__all__ = [
    "PROFILES",
    "CRAGError",
    "CRAGInput",
    "CRAGOutput",
    "CRAGState",
    "Profile",
    "Services",
    "Settings",
    "build_graph",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'crag_graph' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
