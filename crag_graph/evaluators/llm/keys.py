"""What the answers of a language model depend on beside its name and the grading prompt."""

from langchain_core.language_models import BaseChatModel

from crag_graph.models.endpoint import Endpoint
from crag_graph.settings import Settings

_OPTIONS = ("temperature", "top_p", "seed", "max_tokens", "reasoning_effort")
# How much of a passage is shown, beside what, and how many queries are asked for.
_SHOWN = (
    "batch_passages",
    "batch_tokens",
    "passage_tokens",
    "sub_queries",
    "withhold_instructions",
)


def options_of(model: BaseChatModel) -> str:
    """Return a model's address, name and those options that change what it says; no key."""
    endpoint = Endpoint.of(model)
    options = {name: getattr(model, name, None) for name in _OPTIONS}
    return f"{endpoint.kind} {endpoint.host} {endpoint.model} {options}"


def shown_by(settings: Settings) -> str:
    """Return the settings that change what a model sees of a question's passages."""
    return str({name: getattr(settings, name) for name in _SHOWN})
