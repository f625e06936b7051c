"""What `crag doctor` looks at of evaluators and of the cache of their grades."""

from typing import TYPE_CHECKING

from crag_graph.budget import Budget
from crag_graph.environment import Environment
from crag_graph.errors import ConfigurationError
from crag_graph.evaluators.base import Passage, RetrievalEvaluator
from crag_graph.settings import Settings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from crag_graph.evaluators.cross_encoder import ScoringEvaluator

_QUESTION = "Which valve closes first?"
_ANSWER = "The inlet valve closes first."
_TO_TRAIN = "install the package crag-graph-evaluator, from evaluator-model in the repository"


def tell_evaluator(environment: Environment, *, online: bool) -> str:
    """Return what grades, tried out where that sends nothing, or `online` allows it.

    Raises:
        CRAGError: It does not work; the message tells why.
    """
    from crag_graph.services import Services

    evaluator = Services.from_env(environment).evaluator.get()
    return _told(evaluator, environment, online=online)


def tell_cache(environment: Environment) -> str:
    """Return which cache keeps grades, tried out; empty when it is off.

    Raises:
        ConfigurationError: It does not work; the message tells why.
    """
    from crag_graph.assembly import load_grade_store

    store = load_grade_store(environment)
    if store is None:
        return ""
    trouble = store.set({"doctor": "ready"})
    if not trouble:
        kept, trouble = store.get(["doctor"])
        trouble = trouble or ("" if kept.get("doctor") == "ready" else "it forgets what it is told")
    if trouble:
        raise ConfigurationError(f"{store.label}: {trouble}")
    return f"{store.label}, works"


def ask(model: "BaseChatModel") -> None:
    """Send the smallest request there is.

    Raises:
        ModelError: It failed; the message tells host and reason.
    """
    from crag_graph.models.endpoint import Endpoint
    from crag_graph.models.failures import as_model_error

    try:
        model.invoke("Reply with the word: ready")
    except Exception as error:  # noqa: BLE001 - each provider's client raises its own
        raise as_model_error(error, Endpoint.of(model)) from None


def _told(evaluator: RetrievalEvaluator, environment: Environment, *, online: bool) -> str:
    from crag_graph.evaluators.cached import CachedEvaluator
    from crag_graph.evaluators.cascade import CascadeEvaluator
    from crag_graph.evaluators.cross_encoder import ScoringEvaluator
    from crag_graph.evaluators.local import LocalEvaluator

    if isinstance(evaluator, CachedEvaluator):
        evaluator = evaluator.inner
    if isinstance(evaluator, CascadeEvaluator):
        stages = (evaluator.first, evaluator.then)
        first, then = (_told(stage, environment, online=online) for stage in stages)
        return f"cascade: {first}; in the grey band {then}"
    if isinstance(evaluator, ScoringEvaluator):
        return _tried(evaluator, online=online)
    if isinstance(evaluator, LocalEvaluator):
        passage = Passage(id="doctor", text=_ANSWER)
        evaluator.evaluate(_QUESTION, [passage], settings=Settings(), budget=Budget())
        return "local" if evaluator.trained else f"local, without its trained model ({_TO_TRAIN})"
    if evaluator.name != "llm":
        return evaluator.name
    if not online or environment.evaluator_model == environment.chat_model:
        return f"llm: {environment.evaluator_model}"
    from crag_graph.models.chat import load_chat_model

    variables = environment.variables
    ask(load_chat_model(environment.evaluator_model, role="evaluator", environ=variables))
    return f"llm: {environment.evaluator_model} answers"


def _tried(evaluator: "ScoringEvaluator", *, online: bool) -> str:
    """Return what a scorer says of a passage that answers."""
    from crag_graph.models.scorers.hosted import HostedScorer

    scorer = evaluator.scorer
    if isinstance(scorer, HostedScorer) and not online:
        return f"{scorer.name}, not asked (crag doctor --online asks)"
    (raw,) = scorer.score(_QUESTION, [_ANSWER])
    score = scorer.scale.to_unit(raw)
    if score is None:
        raise ConfigurationError(
            f"{scorer.name} says {raw} of a passage that answers, which is not on its scale "
            f"({scorer.scale.name}): name the right one in scorer.toml"
        )
    return f"{scorer.name}, scores a passage that answers {score:.2f}"
