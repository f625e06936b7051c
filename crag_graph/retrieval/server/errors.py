"""What the client of a Qdrant server raises, as this package's own errors.

The client lets through what its layers raise: its own exceptions by status, httpx's wrapped in
another of its own, pydantic's, and a bare JSON error for an answer that was cut off.
"""

import datetime
import email.utils
import json
from collections.abc import Mapping
from typing import Any

from crag_graph.errors import (
    CollectionMismatchError,
    CollectionNotFoundError,
    StoreAuthError,
    StoreError,
    StoreRequestError,
    StoreUnavailableError,
)

_BUSY = (408, 425, 429)
_MISMATCH = ("Vector dimension error", "Not existing vector name", "Conversion between sparse")


def as_store_error(error: Exception, *, server: str, collection: str) -> StoreError:
    """Return the error that stands for `error`.

    Args:
        error: What the client raised.
        server: The server's address, without credentials.
        collection: The collection that was asked for.
    """
    from pydantic import ValidationError
    from qdrant_client.common.client_exceptions import QdrantException, ResourceExhaustedResponse
    from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

    if isinstance(error, StoreError):
        return error
    if isinstance(error, UnexpectedResponse):
        return _by_status(
            error.status_code or 0,
            _said(error.content),
            server=server,
            collection=collection,
            retry_after=_seconds(error.headers),
        )
    if isinstance(error, ResourceExhaustedResponse):
        return _busy(server, 429, str(error), float(error.retry_after_s))
    if isinstance(error, QdrantException):
        # A 429 whose Retry-After is a date: the client keeps it in its message only.
        date = str(error).partition("integer: ")[2]
        return _busy(server, 429, "too many requests", _seconds({"retry-after": date}))
    if isinstance(error, ResponseHandlingException):
        return _transport(error.source, server)
    if isinstance(error, ValidationError):
        return StoreRequestError(
            f"the request to {server} cannot be made ({_line(str(error))}): check the points and "
            "the filter"
        )
    if isinstance(error, ValueError):  # JSON errors are among these
        return StoreUnavailableError(
            f"{server} gave an answer that is cut off or no JSON: check that QDRANT_URL is a "
            "Qdrant server, and try again"
        )
    return StoreError(
        f"the client of {server} failed ({type(error).__name__}: {_line(str(error))})"
    )


def _by_status(
    status: int, said: str, *, server: str, collection: str, retry_after: float | None
) -> StoreError:
    if status in (401, 403):
        return StoreAuthError(
            f"{server} refuses the key ({status}: {said}): check QDRANT_API_KEY and what it allows"
        )
    if status == 404:
        return CollectionNotFoundError(
            f"there is no collection {collection!r} at {server} ({said}): run `crag ingest` to "
            "make it"
        )
    if status in _BUSY or status >= 500:
        return _busy(server, status, said, retry_after)
    if any(sign in said for sign in _MISMATCH):
        return CollectionMismatchError(
            f"the collection {collection!r} at {server} was made for other vectors ({said}): "
            "ingest into another collection"
        )
    return StoreRequestError(
        f"{server} refuses the request for the collection {collection!r} ({status}: {said})"
    )


def _busy(server: str, status: int, said: str, retry_after: float | None) -> StoreUnavailableError:
    return StoreUnavailableError(
        f"{server} cannot answer now ({status}: {said}): try again later",
        retry_after=retry_after,
    )


def _transport(source: object, server: str) -> StoreError:
    if isinstance(source, StoreError):
        return source
    kind = type(source).__name__
    if "Timeout" in kind:
        return StoreUnavailableError(
            f"{server} did not answer in time ({kind}): check that it runs and is not overloaded"
        )
    if kind == "ValidationError":
        return StoreUnavailableError(
            f"{server} gave an answer that is not Qdrant's: check QDRANT_URL and the versions"
        )
    return StoreUnavailableError(
        f"{server} cannot be reached ({kind}: {_line(str(source))}): check that it runs and that "
        "QDRANT_URL is right"
    )


def _said(content: bytes) -> str:
    """Return the server's own words, from its JSON; of other bodies only what they are."""
    try:
        body: Any = json.loads(content)
    except ValueError:
        return "the answer is not Qdrant's" if content.strip() else "no reason given"
    status = body.get("status") if isinstance(body, dict) else None
    words = status.get("error") if isinstance(status, dict) else None
    return _line(str(words)) if words else "no reason given"


def _line(text: str) -> str:
    return " ".join(text.split())[:300].rstrip(".") or "no reason given"


def _seconds(headers: Mapping[str, str]) -> float | None:
    """Return what Retry-After asks for in seconds; it may also be a date (RFC 9110, 10.2.3)."""
    value = (headers.get("retry-after") or "").strip()
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        at = email.utils.parsedate_to_datetime(value)
    except ValueError:
        return None
    if at.tzinfo is None:
        at = at.replace(tzinfo=datetime.UTC)
    return max(0.0, (at - datetime.datetime.now(datetime.UTC)).total_seconds())
