"""Quality and cost of a configuration on labelled questions, side by side with plain RAG.

`evaluate(dataset)` runs every question through the graph and through plain RAG, and reports figures
with intervals, each only where the labels allow it. `crag eval` is the same as a command.
"""

from crag_graph.evaluation.api import aevaluate, evaluate
from crag_graph.evaluation.datasets import read_dataset
from crag_graph.evaluation.evaluation import Evaluation
from crag_graph.evaluation.examples import Example, LabelledPassage
from crag_graph.evaluation.report import Report

__all__ = [
    "Evaluation",
    "Example",
    "LabelledPassage",
    "Report",
    "aevaluate",
    "evaluate",
    "read_dataset",
]
