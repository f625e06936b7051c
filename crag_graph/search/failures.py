"""What went wrong at a search provider, as errors of this package."""

import dataclasses
import datetime
import email.utils
import json
from typing import Any

import httpx

from crag_graph.errors import (
    ConfigurationError,
    SearchAuthError,
    SearchError,
    SearchQuotaError,
    SearchRequestError,
    SearchUnavailableError,
)

_MOST_DETAIL = 200  # characters of the provider's own words
_LONGEST_WAIT = 3600.0
_AUTH = frozenset({401, 403, 407})
# 402 is Exa's "no more credits"; 432 and 433 are Tavily's plan and pay-as-you-go limits.
_QUOTA = frozenset({402, 429, 432, 433})
_TRANSIENT = frozenset({408, 425})


@dataclasses.dataclass(frozen=True, kw_only=True)
class Place:
    """Who is asked, and where: what every error message names.

    Attributes:
        label: The provider, as people write it.
        host: Host and port, without credentials.
        key_variable: The environment variable of its key; empty where it takes none.
        url_variable: The environment variable of its address.
    """

    label: str
    host: str
    key_variable: str
    url_variable: str

    def __str__(self) -> str:
        return f"{self.label} at {self.host}"


def host_of(base_url: str, variable: str) -> str:
    """Return the host of `base_url`, with its port where one is given.

    Raises:
        ConfigurationError: It is no http or https address; `variable` is named.
    """
    try:
        url = httpx.URL(base_url)
    except httpx.InvalidURL:
        url = httpx.URL("")
    if url.scheme not in ("http", "https") or not url.host:
        raise ConfigurationError(f"{variable}: an address such as https://s.example.org is needed")
    return url.netloc.decode("ascii")


def status_error(place: Place, response: httpx.Response, detail: str = "") -> SearchError | None:
    """Return the error that the status of `response` stands for; None when it stands for none.

    Args:
        place: Who answered.
        response: Read to its end.
        detail: The provider's own words, where they were found in the body.
    """
    status = response.status_code
    if 200 <= status < 300:
        return None
    said = f" ({status}: {' '.join(detail.split())[:_MOST_DETAIL]})" if detail else f" ({status})"
    if status in _AUTH:
        check = f"check {place.key_variable}" if place.key_variable else "it may block this client"
        return SearchAuthError(f"{place} refuses access{said}: {check}")
    if status in _QUOTA:
        return SearchQuotaError(
            f"the quota or rate limit of {place} is used up{said}",
            retry_after=retry_after(response),
        )
    if status >= 500 or status in _TRANSIENT:
        return SearchUnavailableError(
            f"{place} cannot answer right now{said}", retry_after=retry_after(response)
        )
    if 300 <= status < 400:
        target = httpx.URL(response.headers.get("location", "")).host or "another path"
        return SearchRequestError(
            f"{place} redirects to {target}{said}: set {place.url_variable} to the final address"
        )
    return SearchRequestError(f"{place} refuses the request{said}")


def transport_error(place: Place, error: Exception) -> SearchError:
    """Return the error for a request that got no whole answer.

    The httpx exception holds the request, and with it the key: raise the result outside of the
    `except` block, so that it does not carry the other one along.
    """
    if isinstance(error, httpx.TimeoutException):
        return SearchUnavailableError(f"{place} did not answer in time")
    if isinstance(error, httpx.UnsupportedProtocol | httpx.InvalidURL | httpx.LocalProtocolError):
        return SearchRequestError(f"{place} cannot be asked: check {place.url_variable}")
    if isinstance(error, httpx.ProxyError):
        return SearchUnavailableError(f"the proxy on the way to {place} failed: {error}")
    if isinstance(error, httpx.ConnectError):
        return SearchUnavailableError(f"{place} cannot be reached: {error}")
    return SearchUnavailableError(f"the connection to {place} broke off: {type(error).__name__}")


def json_object(place: Place, content: bytes) -> dict[str, Any]:
    """Return the JSON object that `content` is.

    Raises:
        SearchUnavailableError: It is something else: a login page, an error text, a cut-off body.
    """
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        body = None
    if isinstance(body, dict):
        return body
    shape = "HTML" if content.lstrip()[:1] == b"<" else "something else"
    raise SearchUnavailableError(
        f"{place} answered with {shape} instead of a JSON object: check {place.url_variable}"
    )


def detail_of(response: httpx.Response, *path: str) -> str:
    """Return the text under `path` in the body of `response`; empty when there is none."""
    try:
        value: Any = json.loads(response.content)
    except (ValueError, RecursionError):
        return ""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""


def retry_after(response: httpx.Response) -> float | None:
    """Return the seconds that `response` asks to wait (RFC 9110, section 10.2.3), at most an hour.

    `Retry-After` is a number of seconds or a date. None when it is missing or makes no sense.
    """
    value = response.headers.get("retry-after", "").strip()
    try:
        seconds = float(value) if value[:1].isdigit() else _until(value)
    except (ValueError, TypeError):
        return None
    return min(max(0.0, seconds), _LONGEST_WAIT)


def _until(value: str) -> float:
    when = email.utils.parsedate_to_datetime(value)
    if when.tzinfo is None:
        when = when.replace(tzinfo=datetime.UTC)
    return (when - datetime.datetime.now(datetime.UTC)).total_seconds()
