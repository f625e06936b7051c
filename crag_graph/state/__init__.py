"""The state of the graph: what goes in, what the nodes share, what comes out.

Only str, int, float, bool, list, dict and LangChain documents are kept, so that checkpoints, strict
msgpack, Studio's edit-and-fork and JSON clients all see the same thing. Every reducer here is
idempotent: the same update twice, or an update that passes through a parent graph, changes nothing,
and nothing grows from one question to the next on a thread.
"""

from crag_graph.state.documents import as_documents
from crag_graph.state.merging import NODES, merge_decision, merge_strips, merge_usage
from crag_graph.state.plain import plain
from crag_graph.state.records import (
    Action,
    Citation,
    Decision,
    Grade,
    GradeStatus,
    NodeUsage,
    Origin,
    Reranked,
    Stage,
    Status,
    Strip,
    Usage,
)
from crag_graph.state.schema import CRAGInput, CRAGOutput, CRAGState

__all__ = [
    "NODES",
    "Action",
    "CRAGInput",
    "CRAGOutput",
    "CRAGState",
    "Citation",
    "Decision",
    "Grade",
    "GradeStatus",
    "NodeUsage",
    "Origin",
    "Reranked",
    "Stage",
    "Status",
    "Strip",
    "Usage",
    "as_documents",
    "merge_decision",
    "merge_strips",
    "merge_usage",
    "plain",
]
