"""The ways of asking a chat model for structured output, bound to it."""

import inspect
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable

from crag_graph.models.forms import Form

METHODS = ("json_schema", "function_calling", "json_mode", "text")
"""From the strictest to the one that every model takes."""

# langchain-openai answers a wish for json_schema with a warning and a tool call for these.
_WITHOUT_JSON_SCHEMA = ("gpt-3", "gpt-4-")


def bound(
    model: BaseChatModel, form: Form[Any], method: str, *, name: str
) -> Runnable[Any, Any] | None:
    """Return the model with the method bound to it, or None when its class does not know it."""
    if method == "text":
        return model
    if method == "json_schema" and _known_without_schema(name):
        return None
    if method != "function_calling" and _speaks_chat_completions(model):
        return _with_format(model, form, method)
    make = model.with_structured_output
    takes_strict = "strict" in inspect.signature(make).parameters and method != "json_mode"
    options: dict[str, Any] = {"strict": True} if takes_strict else {}
    try:
        return make(form.schema, method=method, include_raw=True, **options)
    except (NotImplementedError, ValueError, TypeError):
        return None


def _speaks_chat_completions(model: BaseChatModel) -> bool:
    """Return whether this is langchain-openai's client for chat completions, or one made of it."""
    known = hasattr(model, "extra_body") and hasattr(model, "root_async_client")
    return known and not getattr(model, "use_responses_api", None)


def _with_format(model: BaseChatModel, form: Form[Any], method: str) -> Runnable[Any, Any]:
    """Return `model` with the wish for a format in the body of its requests.

    The client's own way would walk through the whole schema at each call and read the reply before
    we do, raising where it was cut off: that costs more time than all the rest of a call.
    """
    wish: dict[str, Any] = {"type": "json_object"}
    if method == "json_schema":
        schema = {key: value for key, value in form.schema.items() if key != "title"}
        described = {"name": form.name, "description": form.description, "strict": True}
        wish = {"type": "json_schema", "json_schema": described | {"schema": schema}}
    body = getattr(model, "extra_body", None) or {}
    return model.bind(extra_body={**body, "response_format": wish})


def _known_without_schema(name: str) -> bool:
    return name == "gpt-4" or name.startswith(_WITHOUT_JSON_SCHEMA)
