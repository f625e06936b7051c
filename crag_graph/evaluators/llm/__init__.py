"""The evaluator that asks a language model: in one call, in the textbook's steps, or by passage."""

from crag_graph.evaluators.llm.evaluator import LLMEvaluator

__all__ = ["LLMEvaluator"]
