"""From whatever a provider's client raises to one typed error with its reason."""

import email.utils
import math
import time
from collections.abc import Mapping
from typing import Any

import regex

from crag_graph.errors import ModelError, ModelFailure
from crag_graph.models.endpoint import Endpoint

# How long to wait after a 429 that does not say so itself.
_DEFAULT_WAIT = 1.0
_LONGEST_DETAIL = 200

_QUOTA_SPENT = regex.compile(
    r"insufficient[_ ]quota|exceeded your current quota|billing|credit balance|payment", regex.I
)
_FILTERED = regex.compile(
    r"content[_ ]?(?:filter|policy|management)|responsible ?ai|safety (?:system|filter)", regex.I
)
_FORMAT = regex.compile(
    r"response[_ ]?format|json[_ ]?(?:schema|object|mode)|structured[_ ]?output|tool|function"
    r"|grammar|guided|\bschema\b|\bstrict\b",
    regex.I,
)
_NOT_FORMAT = regex.compile(
    r"context (?:length|window|size)|context_length|too (?:long|large|many tokens)"
    r"|max(?:imum)? (?:context|tokens)|max_(?:completion_)?tokens|temperature|top_p|api key"
    r"|(?:model|deployment)[^.]{0,80}(?:not (?:found|exist)|unknown)|(?:unknown|invalid) model"
    r"|does not exist",
    regex.I,
)
_TIMEOUT_NAMES = ("Timeout",)
_CONNECTION_NAMES = ("ConnectionError", "ConnectError", "TransportError", "ProtocolError")
_UNREADABLE = (ValueError, LookupError, TypeError, AttributeError)


class EndpointError(ModelError):
    """A failed request, with what the other side said about it.

    Attributes:
        status: The HTTP status, where there was an answer.
        detail: The other side's own words, shortened; credentials are masked in `message` only.
        about_format: Whether a simpler way of asking for structured output may be accepted.
        stale: The connection belonged to an event loop that is gone; another one will do.
        completion: What the client could not read, where it kept that.
        shown: Whether a part of the answer was streamed to somebody before it failed.
        started: Whether a reply that was cut off had visible text: a shorter task may then fit.
    """

    def __init__(
        self,
        message: str,
        *,
        reason: ModelFailure,
        retry_after: float | None = None,
        status: int | None = None,
        about_format: bool = False,
        stale: bool = False,
        completion: Any = None,
        started: bool = False,
    ) -> None:
        super().__init__(message, reason=reason, retry_after=retry_after)
        self.status = status
        self.about_format = about_format
        self.stale = stale
        self.completion = completion
        self.started = started
        self.shown = False


def as_model_error(error: Exception, endpoint: Endpoint) -> EndpointError:
    """Return `error` as our own, by its HTTP status, its class and its words.

    A 429 that names no wait gets one of a second, unless the quota is used up for good. A 2xx
    answer that the client cannot read is `parse`. What is none of these counts as `transport`.
    """
    if isinstance(error, EndpointError):
        return error
    if isinstance(error, ModelError):
        return EndpointError(error.message, reason=error.reason, retry_after=error.retry_after)
    names = " ".join(kind.__name__ for kind in type(error).__mro__)
    detail = _detail(error)
    status = _status(error)
    reason = _reason(error, names, detail, status)
    retry_after = _retry_after(error)
    completion = getattr(error, "completion", None)
    if reason == "quota" and retry_after is None and not _QUOTA_SPENT.search(detail):
        retry_after = None if status == 402 else _DEFAULT_WAIT
    return EndpointError(
        _sentence(reason, endpoint, status, detail, names),
        reason=reason,
        retry_after=retry_after,
        status=status,
        about_format=_about_format(reason, names, status, detail),
        stale=_loop_is_gone(error),
        completion=completion,
        started=bool(_content(completion)),
    )


def cut_off(endpoint: Endpoint) -> str:
    """Return the sentence for a reply that hit the limit of output tokens."""
    return (
        f"{endpoint.label} was cut off at its limit of output tokens: raise the limit "
        "(CRAG_MAX_OUTPUT_TOKENS) or ask a model that reasons less"
    )


def _reason(error: Exception, names: str, detail: str, status: int | None) -> ModelFailure:
    if "LengthFinishReason" in names:
        return "length"
    if "ContentFilterFinishReason" in names:
        return "filter"
    if "Refusal" in names:
        return "refusal"
    if status is not None and status >= 400:
        return _reason_of_status(status, detail)
    if isinstance(error, TimeoutError | OSError) or any(
        name in names for name in (*_TIMEOUT_NAMES, *_CONNECTION_NAMES)
    ):
        return "transport"
    return "parse" if isinstance(error, _UNREADABLE) else "transport"


def _reason_of_status(status: int, detail: str) -> ModelFailure:
    if status in (400, 403, 422) and _FILTERED.search(detail):
        return "filter"
    if status in (401, 403):
        return "auth"
    if status in (402, 429):
        return "quota"
    if status in (408, 409, 425):
        return "transport"
    # Some servers answer 500 to a way of structured output that they do not know.
    if status < 500 or status in (501, 505) or (_FORMAT.search(detail) and status == 500):
        return "request"
    return "transport"


def _about_format(reason: ModelFailure, names: str, status: int | None, detail: str) -> bool:
    if reason == "parse":
        return "ValidationError" in names  # the client took offence at a tool call's arguments
    if reason != "request" or _NOT_FORMAT.search(detail):
        return False
    return status in (400, 422) or _FORMAT.search(detail) is not None


def _content(completion: Any) -> str:
    choices = getattr(completion, "choices", None) or [None]
    return getattr(getattr(choices[0], "message", None), "content", None) or ""


def _sentence(
    reason: ModelFailure, endpoint: Endpoint, status: int | None, detail: str, names: str
) -> str:
    said = f": {detail}" if detail else ""
    code = "" if status is None else f" (HTTP {status})"
    where = endpoint.label
    match reason:
        case "length":
            return cut_off(endpoint)
        case "filter":
            return f"{where} stopped at its content filter{code}"
        case "refusal":
            return f"{where} refused{said}"
        case "auth":
            return f"{where} refuses the key or its rights{code}: check the provider's API key"
        case "quota":
            return (
                f"{where} limits requests or its quota is used up{code}{said}; wait, or name a "
                "fallback model"
            )
        case "request":
            return f"{where} refuses the request as it was sent{code}{said}"
        case "parse":
            return f"{where} returned no answer that can be read; check its base URL{said}"
        case "transport" if status is None and any(name in names for name in _TIMEOUT_NAMES):
            return f"{where} did not answer in time; raise CRAG_MODEL_TIMEOUT or try again"
        case _:
            return f"{where} cannot be reached or is overloaded{code}{said}"


def _status(error: Exception) -> int | None:
    candidates = [
        getattr(error, "status_code", None),
        getattr(getattr(error, "response", None), "status_code", None),
        getattr(error, "code", None),
        _payload(error).get("code"),
        _payload(error).get("status"),
    ]
    for candidate in candidates:
        if isinstance(candidate, int | str) and str(candidate).isdigit():
            status = int(candidate)
            if 100 <= status <= 599 and status != 200:
                return status
    return None


def _payload(error: Exception) -> Mapping[str, Any]:
    """Return the error object that some gateways send with status 200."""
    first = error.args[0] if error.args else None
    return first if isinstance(first, Mapping) else {}


def _detail(error: Exception) -> str:
    body = getattr(error, "body", None)
    source = body if isinstance(body, Mapping) else _payload(error)
    inner = source.get("error")
    message = (inner.get("message") if isinstance(inner, Mapping) else inner) or source.get(
        "message"
    )
    code = source.get("code")
    text = " ".join(str(message or error).split())
    if isinstance(code, str) and code and code not in text:
        text = f"{text} [{code}]"
    return text if len(text) <= _LONGEST_DETAIL else f"{text[:_LONGEST_DETAIL]}…"


def _retry_after(error: Exception) -> float | None:
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        raw = headers.get(name)
        if raw is None:
            continue
        try:
            seconds = float(raw) * unit
        except ValueError:
            when = email.utils.parsedate_tz(raw)
            if when is None:
                continue
            seconds = email.utils.mktime_tz(when) - time.time()
        if math.isfinite(seconds):
            return max(0.0, seconds)
    return None


def _loop_is_gone(error: BaseException | None) -> bool:
    """Return whether a pooled connection of a closed event loop was picked (successive `run`s)."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, RuntimeError) and "Event loop is closed" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False
