"""Which endpoint a chat model talks to, by what can be shown of it: host and model name."""

import dataclasses
import urllib.parse
from typing import Any

from langchain_core.language_models import BaseChatModel

_URLS = ("openai_api_base", "azure_endpoint", "anthropic_api_url", "base_url", "endpoint_url")
_NAMES = ("model_name", "model", "model_id", "deployment_name")


@dataclasses.dataclass(frozen=True)
class Endpoint:
    """A model at a host. Names never hold credentials.

    Attributes:
        kind: The class of the client, for example `ChatOpenAI`.
        host: Host and port, or the kind where no address is known.
        model: The model's name, or the kind.
        own_retries: How often the client itself repeats a failed request.
    """

    kind: str
    host: str
    model: str
    own_retries: int = 0

    @classmethod
    def of(cls, model: BaseChatModel) -> "Endpoint":
        """Return the endpoint of `model`."""
        kind = type(model).__name__
        retries = getattr(model, "max_retries", None)
        if retries is None and _client_url(model):
            retries = getattr(getattr(model, "root_client", None), "max_retries", 0)
        return cls(
            kind=kind,
            host=_host(model) or kind,
            model=_first_text(model, _NAMES) or kind,
            own_retries=retries if isinstance(retries, int) else 0,
        )

    @property
    def label(self) -> str:
        """The model and where it is served, for a message."""
        if self.host == self.kind:
            return self.model if self.model == self.kind else f"{self.model} ({self.kind})"
        return f"{self.model} at {self.host}"


def _host(model: BaseChatModel) -> str:
    url = _first_text(model, _URLS) or _client_url(model)
    parts = urllib.parse.urlsplit(url if "//" in url else f"//{url}")
    return parts.netloc.rpartition("@")[2]


def _client_url(model: BaseChatModel) -> str:
    """Return the address that an OpenAI client resolved, from the environment for example."""
    client: Any = getattr(model, "root_client", None) or getattr(model, "root_async_client", None)
    url = getattr(client, "base_url", None)
    return "" if url is None else str(url)


def _first_text(model: BaseChatModel, names: tuple[str, ...]) -> str:
    for name in names:
        value = getattr(model, name, None)
        if isinstance(value, str) and value:
            return value
    return ""
