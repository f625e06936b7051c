"""The local evaluator: evidence without training, and a small trained model on top of it."""

from crag_graph.evaluators.local.evaluator import LocalEvaluator

__all__ = ["LocalEvaluator"]
