"""An evaluator with a cache in front of it."""

from crag_graph.evaluators.base import QueryRewriter, RetrievalEvaluator, StripJudge
from crag_graph.evaluators.cached.grades import CachedEvaluator
from crag_graph.evaluators.cached.steps import CachedModel
from crag_graph.evaluators.cached.store import GradeStore

__all__ = ["CachedEvaluator", "GradeStore", "cached"]


def cached(inner: RetrievalEvaluator, store: GradeStore) -> CachedEvaluator:
    """Return `inner` with `store` in front of it; it judges strips and rewrites if `inner` does."""
    steps = isinstance(inner, StripJudge) and isinstance(inner, QueryRewriter)
    return CachedModel(inner, store) if steps else CachedEvaluator(inner, store)
