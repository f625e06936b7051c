"""What the exceptions of embedding providers mean, without importing any of them."""

import re
from types import TracebackType

from crag_graph.errors import ConfigurationError, CRAGError, EmbeddingError, ModelFailure
from crag_graph.redaction import redact

_ADVICE: dict[ModelFailure, str] = {
    "auth": "check the key in the environment",
    "quota": "wait, or raise the quota with the provider",
    "transport": "check that the server runs and can be reached",
    "request": "check the model's name and how long a text it takes",
    "parse": "check that the server speaks the embeddings protocol",
}


class EmbeddingFailures:
    """Turns whatever a provider raises within it into an `EmbeddingError`.

    The original is not chained: its message and its request may hold a key. `KeyboardInterrupt` and
    cancellation pass.
    """

    def __init__(self, model: str) -> None:
        self._model = model

    def __enter__(self) -> None:
        return

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, Exception) and not isinstance(error, CRAGError):
            reason = _reason(error)
            raise EmbeddingError(
                f"the embedding model {self._model} failed{_host(error)} "
                f"({type(error).__name__}: {_said(error)}); {_ADVICE[reason]}",
                reason=reason,
                retry_after=_retry_after(error),
            ) from None


class SetupFailures:
    """Turns whatever is raised while a provider's class is set up into a `ConfigurationError`."""

    def __init__(self, model: str) -> None:
        self._model = model

    def __enter__(self) -> None:
        return

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, ImportError):
            package = re.search(r"langchain[-_][a-z0-9_-]+", str(error))
            missing = package[0].replace("_", "-") if package else _said(error)
            raise ConfigurationError(
                f"embeddings {self._model!r} need the package {missing}; install it"
            ) from None
        if isinstance(error, Exception):
            raise ConfigurationError(
                f"embeddings {self._model!r} cannot be set up: {_said(error)}"
            ) from None


def unsound_answer(model: str, what: str) -> EmbeddingError:
    """Return the error that says `what` is wrong with what the model gave."""
    return EmbeddingError(f"the embedding model {model} {what}; {_ADVICE['parse']}", reason="parse")


def _said(error: BaseException) -> str:
    text, _, _ = str(error).partition("\nSupported providers")  # LangChain's list of all of them
    return " ".join(redact(text).split())[:200].rstrip(".") or "no message"


def _reason(error: Exception) -> ModelFailure:
    status = getattr(error, "status_code", None)
    if status is None:
        status = getattr(getattr(error, "response", None), "status_code", None)
    if isinstance(status, int):
        if status in (401, 403):
            return "auth"
        if status == 429:
            return "quota"
        return "transport" if status >= 500 or status in (408, 409) else "request"
    name = type(error).__name__
    if isinstance(error, OSError) or "Connect" in name or "Timeout" in name:
        return "transport"
    return "parse" if isinstance(error, LookupError | TypeError | ValueError) else "request"


def _retry_after(error: Exception) -> float | None:
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    try:
        return max(0.0, float(headers["retry-after"]))
    except (KeyError, TypeError, ValueError):
        return None


def _host(error: Exception) -> str:
    host = getattr(getattr(getattr(error, "request", None), "url", None), "host", None)
    return f" at {host}" if isinstance(host, str) and host else ""
