"""What is evaluated: the components by name, and the calls to models that they will make."""

from typing import Any

from crag_graph.evaluators.base import asks_model
from crag_graph.generation.extractive import ExtractiveGenerator
from crag_graph.services import Services
from crag_graph.settings import Settings

_NAMED = ("collection", "embeddings", "chat_model", "evaluator_model")
"""What is told of the environment: names, no address and no key."""


async def build(services: Services) -> None:
    """Build the collaborators that every question needs.

    Raises:
        CRAGError: One cannot be built: there is no such collection, say.
    """
    for part in (services.retriever, services.evaluator, services.generator):
        await part.aget()


def asks_models(services: Services) -> bool:
    """Return whether a language model may be asked; builds the evaluator and the generator."""
    return not _extractive(services) or _graded_by_model(services)


def calls_a_question(services: Services, settings: Settings, *, baseline: bool) -> int:
    """Return the most calls to language models that a question takes, repetitions aside."""
    writing = int(not _extractive(services))
    grading = 0
    if _graded_by_model(services):
        calls = {"fused": 1, "staged": 3, "per_passage": settings.top_k + 1}
        grading = calls[settings.evaluation_mode]
    ours = grading + writing
    if settings.max_llm_calls is not None:
        ours = min(ours, settings.max_llm_calls)
    return ours + (writing if baseline else 0)


def configuration_of(services: Services, settings: Settings) -> dict[str, Any]:
    """Return the components by name, the thresholds, and the settings that are not the default."""
    thresholds = services.thresholds(settings)
    found: dict[str, Any] = {
        "retriever": services.retriever.get().name,
        "evaluator": services.evaluator.get().name,
        "generator": services.generator.get().name,
        "profile": thresholds.profile,
        "upper": thresholds.upper,
        "lower": thresholds.lower,
        "settings": settings.model_dump(mode="json", exclude_defaults=True),
    }
    if services.environment is not None and services.environment.ready:
        environment = services.environment.get()
        found |= {name: getattr(environment, name) for name in _NAMED}
    return found


def _extractive(services: Services) -> bool:
    return isinstance(services.generator.get(), ExtractiveGenerator)


def _graded_by_model(services: Services) -> bool:
    evaluator = services.evaluator.get()
    return evaluator is not services.local_evaluator.get() and asks_model(evaluator)
