"""Knowledge strips: decompose a passage, select what holds up, recompose it.

The usual order is `decompose`, scores from an evaluator, `select`, `deduplicate`, `fit`,
`recompose`.
"""

from crag_graph.text.decompose import decompose
from crag_graph.text.recompose import recompose, strip_context
from crag_graph.text.selection import deduplicate, deduplicate_documents, fit, select

__all__ = [
    "decompose",
    "deduplicate",
    "deduplicate_documents",
    "fit",
    "recompose",
    "select",
    "strip_context",
]
