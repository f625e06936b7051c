"""Chat models by name, built when they are first needed, with one sentence when they cannot be."""

import dataclasses
import functools
import math
import os
from collections.abc import Mapping
from typing import Any, Literal, Self

from langchain_core.language_models import BaseChatModel
from langchain_core.rate_limiters import InMemoryRateLimiter
from pydantic import ValidationError

from crag_graph.errors import ConfigurationError
from crag_graph.models.plan import Attempt

Role = Literal["chat", "evaluator"]

VARIABLES: dict[Role, str] = {"chat": "CRAG_CHAT_MODEL", "evaluator": "CRAG_EVALUATOR_MODEL"}
FALLBACK_VARIABLES: dict[Role, str] = {
    "chat": "CRAG_CHAT_FALLBACK_MODEL",
    "evaluator": "CRAG_EVALUATOR_FALLBACK_MODEL",
}
DEFAULT_TIMEOUT = 120.0
"""Seconds; a model on a laptop's processor may take a minute to read a long prompt."""

# Where each provider's client looks for its key (the providers' own documentation).
_KEYS = {
    "openai": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "google_genai": "GOOGLE_API_KEY",
    "groq": "GROQ_API_KEY",
    "mistralai": "MISTRAL_API_KEY",
    "deepseek": "DEEPSEEK_API_KEY",
    "cohere": "COHERE_API_KEY",
    "fireworks": "FIREWORKS_API_KEY",
    "together": "TOGETHER_API_KEY",
    "xai": "XAI_API_KEY",
    "openrouter": "OPENROUTER_API_KEY",
    "azure_openai": "AZURE_OPENAI_API_KEY",
}
_NO_KEY_NEEDED = "none"  # for OpenAI-compatible servers at OPENAI_BASE_URL that check none


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """How models are called.

    Attributes:
        timeout: Seconds that one request may take.
        temperature: Sent only where it is set, since reasoning models refuse it.
        max_output_tokens: Sent only where it is set.
        max_output_tokens_field: The request's field for it, for OpenAI-compatible servers that do
            not know `max_completion_tokens`: usually `max_tokens`.
        requests_per_second: Most requests that start in a second, over all roles of an endpoint.
    """

    timeout: float = DEFAULT_TIMEOUT
    temperature: float | None = None
    max_output_tokens: int | None = None
    max_output_tokens_field: str = ""
    requests_per_second: float | None = None

    @classmethod
    def from_env(cls, environ: Mapping[str, str] = os.environ) -> Self:
        """Return the options that the environment names; blank counts as unset.

        Raises:
            ConfigurationError: A value is not a number in its range; the message names it.
        """
        tokens = _number(environ, "CRAG_MAX_OUTPUT_TOKENS", low=1, high=1_000_000)
        return cls(
            timeout=_number(environ, "CRAG_MODEL_TIMEOUT", low=0.1, high=3600) or DEFAULT_TIMEOUT,
            temperature=_number(environ, "CRAG_TEMPERATURE", low=0, high=2),
            max_output_tokens=None if tokens is None else int(tokens),
            max_output_tokens_field=environ.get("CRAG_MAX_OUTPUT_TOKENS_FIELD", "").strip(),
            requests_per_second=_number(environ, "CRAG_REQUESTS_PER_SECOND", low=0.01, high=10_000),
        )


def load_chat_model(
    spec: str | BaseChatModel,
    *,
    role: Role,
    options: ModelOptions | None = None,
    environ: Mapping[str, str] = os.environ,
) -> BaseChatModel:
    """Return the chat model that `spec` names; a `BaseChatModel` is returned as it is.

    The client repeats nothing by itself: back-off is in one place, for all providers. Loading
    imports the provider's package and may read certificates: not for an event loop.

    Args:
        spec: `provider:model`, as for `init_chat_model`.
        role: What it is for; messages name the role's variable.
        options: How it is called; by default as the environment says.
        environ: Where keys and addresses are looked up for OpenAI-compatible endpoints.

    Raises:
        ConfigurationError: The provider is unknown, its package or its key is missing, or an
            option is not accepted.
    """
    if isinstance(spec, BaseChatModel):
        return spec
    variable = VARIABLES[role]
    options = options or ModelOptions.from_env(environ)
    provider, colon, name = spec.strip().partition(":")
    if not colon or not provider or not name:
        raise ConfigurationError(
            f"{variable} is {spec!r}; write provider:model, for example openai:gpt-4o-mini"
        )
    arguments = _arguments(provider, options, environ, variable)
    with Attempt[BaseChatModel]() as attempt:
        attempt.value = _build(spec.strip(), arguments)
    if attempt.error is None:
        return attempt.get()
    if isinstance(attempt.error, ImportError):
        package = f"langchain-{provider.replace('_', '-')}"
        raise ConfigurationError(
            f"{variable} is {spec!r}, which needs a package that is not installed: "
            f"run `pip install {package}`"
        )
    key = _KEYS.get(provider)
    hint = f"; is {key} set?" if key and not environ.get(key, "").strip() else ""
    raise ConfigurationError(
        f"{variable} is {spec!r}, which cannot be used: {_reason(attempt.error)}{hint}"
    )


def _reason(error: Exception) -> str:
    """Return one clause of what a provider's constructor raised, without what it was given."""
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        return f"{'.'.join(map(str, first['loc'])) or 'its options'}: {first['msg']}"
    return str(error).partition("\n")[0]


def _arguments(
    provider: str, options: ModelOptions, environ: Mapping[str, str], variable: str
) -> dict[str, Any]:
    arguments: dict[str, Any] = {"timeout": options.timeout, "max_retries": 0}
    if options.temperature is not None:
        arguments["temperature"] = options.temperature
    if options.max_output_tokens is not None:
        if options.max_output_tokens_field:
            body = {options.max_output_tokens_field: options.max_output_tokens}
            arguments["extra_body"] = body
        else:
            arguments["max_tokens"] = options.max_output_tokens
    url = ""
    if provider == "openai":
        url = (environ.get("OPENAI_BASE_URL") or environ.get("OPENAI_API_BASE") or "").strip()
        key = environ.get("OPENAI_API_KEY", "").strip()
        if not key and not url:
            raise ConfigurationError(
                f"{variable} names an OpenAI model, but OPENAI_API_KEY is not set"
            )
        arguments["api_key"] = key or _NO_KEY_NEEDED
        if url:
            arguments["base_url"] = url
    if options.requests_per_second is not None:
        arguments["rate_limiter"] = _limiter(f"{provider} {url}", options.requests_per_second)
    return arguments


def _build(spec: str, arguments: Mapping[str, Any]) -> BaseChatModel:
    from langchain.chat_models import init_chat_model

    model: BaseChatModel = init_chat_model(spec, **arguments)
    return model


@functools.lru_cache(maxsize=32)
def _limiter(endpoint: str, requests_per_second: float) -> InMemoryRateLimiter:
    """Return the one rate limiter of an endpoint, shared by all models that talk to it."""
    del endpoint
    return InMemoryRateLimiter(
        requests_per_second=requests_per_second,
        check_every_n_seconds=min(0.1, 0.5 / requests_per_second),
        max_bucket_size=max(1.0, requests_per_second),
    )


def _number(environ: Mapping[str, str], variable: str, *, low: float, high: float) -> float | None:
    raw = environ.get(variable, "").strip()
    if not raw:
        return None
    try:
        value = float(raw)
    except ValueError:
        value = math.nan
    if not low <= value <= high:
        raise ConfigurationError(
            f"{variable} is {raw!r}; a number from {low:g} to {high:g} is needed"
        )
    return value
