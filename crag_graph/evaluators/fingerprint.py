"""What the scores of an evaluator depend on, so that thresholds can be told from foreign ones."""

from importlib.metadata import version

from crag_graph.evaluators.base import RetrievalEvaluator
from crag_graph.settings import Settings


def fingerprint_of(evaluator: RetrievalEvaluator, settings: Settings) -> str:
    """Return a text that changes when an evaluator's scores may change; it begins with its name.

    An evaluator says so itself in a method `fingerprint(settings)`: the one that asks a language
    model with mode, model and prompt, the local one with its fit and its trained model. For any
    other it follows from its class and the version of this package. May read files.
    """
    own = getattr(evaluator, "fingerprint", None)
    if callable(own):
        return str(own(settings))
    return f"{evaluator.name}:{type(evaluator).__qualname__}:{version('crag-graph')}"
