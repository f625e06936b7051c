"""What the search providers over HTTP have in common."""

import abc
import asyncio
import dataclasses
import functools
import ssl
import time
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import httpx

from crag_graph.errors import ConfigurationError, SearchError, SearchUnavailableError
from crag_graph.search.base import MAX_QUERY_CHARACTERS, SearchFilters, SearchResult
from crag_graph.search.deadline import call_within, remaining, too_late
from crag_graph.search.failures import (
    Place,
    host_of,
    json_object,
    status_error,
    transport_error,
)
from crag_graph.search.results import Hit, to_result
from crag_graph.text.clean import shorten
from crag_graph.transient import RetryPolicy, aretry

MAX_BODY_BYTES = 8 * 1024 * 1024
"""The largest answer that is read, decompressed."""
_GRACE = 0.2  # seconds in which an asynchronous search that is out of time can say so itself
# A proxy of the environment is for the way out, not for what listens on this machine.
_DIRECT: Mapping[str, None] = {
    f"all://{host}": None for host in ("localhost", "127.0.0.1", "[::1]")
}


@functools.cache
def _ssl_context() -> ssl.SSLContext:
    """Return the TLS context that all searches share: loading certificates takes a while."""
    return httpx.create_ssl_context()


class _Client(httpx.AsyncClient):
    """A client that reads answers whole, up to a size, and raises the failures they stand for."""

    def __init__(
        self, place: Place, failure: Callable[[httpx.Response], SearchError | None], **options: Any
    ) -> None:
        super().__init__(**options)
        self._place = place
        self._failure = failure

    async def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        """Return the answer, decompressed and read."""
        response = await super().send(request, **{**options, "stream": True})
        body = bytearray()
        try:
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > MAX_BODY_BYTES:
                    raise _too_large(self._place)
        finally:
            await response.aclose()
        headers = response.headers.copy()
        for name in ("content-encoding", "content-length", "transfer-encoding"):
            headers.pop(name, None)
        whole = httpx.Response(
            response.status_code, headers=headers, content=bytes(body), request=request
        )
        if (failure := self._failure(whole)) is not None:
            raise failure
        return whole


@dataclasses.dataclass(frozen=True, kw_only=True)
class Asked:
    """One search, as the provider is asked: the query cut to its limit, the count to its most."""

    query: str
    max_results: int
    filters: SearchFilters
    seconds: float


class HTTPSearch(abc.ABC):
    """A web search over HTTP. Both entries run the same coroutine.

    The synchronous one runs it on an event loop in a thread of its own: only there does the wall
    time hold against a server that sends its answer drop by drop, and it works where a loop runs
    already, as in a notebook. A connection lives for one search, so that a provider may be shared
    by threads, event loops and forked processes.

    Args:
        api_key: The provider's key, where it takes one.
        base_url: Where it is asked in place of its own address: a gateway, or your own server.
        retries: How often a transient failure is tried again, within the time of the search.
    """

    name: str
    label: ClassVar[str]
    default_url: ClassVar[str] = ""
    key_variable: ClassVar[str] = ""
    url_variable: ClassVar[str]
    most_results: ClassVar[int] = 20
    longest_query: ClassVar[int] = MAX_QUERY_CHARACTERS

    def __init__(self, *, api_key: str = "", base_url: str = "", retries: int = 1) -> None:
        self._api_key = api_key.strip()
        self._base_url = (base_url or self.default_url).rstrip("/")
        self._retries = retries
        if self.key_variable and not self._api_key:
            raise ConfigurationError(f"{self.label} needs a key: set {self.key_variable}")
        if not (self._api_key.isascii() and self._api_key.isprintable()):
            raise ConfigurationError(f"{self.key_variable} holds characters that no key has")
        self._place = Place(
            label=self.label,
            host=host_of(self._base_url, self.url_variable),
            key_variable=self.key_variable,
            url_variable=self.url_variable,
        )
        self._ssl_context = _ssl_context()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(host={self._place.host!r})"

    def search(
        self,
        query: str,
        *,
        max_results: int,
        seconds: float,
        filters: SearchFilters | None = None,
    ) -> SearchResult:
        """Return at most `max_results` documents for `query`."""

        def run() -> SearchResult:
            return asyncio.run(
                self.asearch(query, max_results=max_results, seconds=seconds, filters=filters)
            )

        return call_within(run, seconds=seconds + _GRACE, what=str(self._place))

    async def asearch(
        self,
        query: str,
        *,
        max_results: int,
        seconds: float,
        filters: SearchFilters | None = None,
    ) -> SearchResult:
        """Return at most `max_results` documents for `query`."""
        deadline = time.monotonic() + seconds
        asked = Asked(
            query=shorten(query, self.longest_query),
            max_results=min(max_results, self.most_results),
            filters=filters or SearchFilters(),
            seconds=seconds,
        )
        late: SearchError
        try:
            async with asyncio.timeout(seconds), self._client(seconds) as client:
                policy = RetryPolicy(attempts=1 + self._retries, seconds=remaining(deadline))
                attempt = functools.partial(self._attempt, client, asked)
                return await aretry(attempt, policy=policy)
        except TimeoutError:
            late = too_late(str(self._place), seconds)
        raise late

    async def _attempt(self, client: httpx.AsyncClient, asked: Asked) -> SearchResult:
        failure: SearchError
        try:
            return await self._ask(client, asked)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            failure = transport_error(self._place, error)
        raise failure

    async def _answer(
        self, client: httpx.AsyncClient, request: httpx.Request, asked: Asked
    ) -> SearchResult:
        """Return what one request finds."""
        response = await client.send(request)
        return await self._result(json_object(self._place, response.content), asked)

    async def _result(self, body: Mapping[str, Any], asked: Asked) -> SearchResult:
        """Return what the body of an answer holds. In a thread, since cleaning takes its time."""
        return await asyncio.to_thread(
            to_result,
            self._items(body),
            self._hit,
            provider=self.name,
            query=asked.query,
            max_results=asked.max_results,
            filters=asked.filters,
            notes=self._notes(body),
        )

    def _client(self, seconds: float) -> _Client:
        return _Client(
            self._place,
            self._failure,
            headers=self._headers(),
            timeout=seconds,
            verify=self._ssl_context,
            mounts=dict(_DIRECT),
        )

    def _headers(self) -> dict[str, str]:
        return {"accept": "application/json"}

    @abc.abstractmethod
    async def _ask(self, client: httpx.AsyncClient, asked: Asked) -> SearchResult:
        """Return what is found, asked once."""

    @abc.abstractmethod
    def _items(self, body: Mapping[str, Any]) -> object:
        """Return what should be the list of results in the answer."""

    @abc.abstractmethod
    def _hit(self, item: Mapping[str, Any]) -> Hit:
        """Return the hit that one item of the list stands for."""

    def _failure(self, response: httpx.Response) -> SearchError | None:
        """Return the error that `response` stands for; None when it stands for none."""
        return status_error(self._place, response)

    def _notes(self, body: Mapping[str, Any]) -> list[str]:
        """Return sentences for the decision card that the answer gives rise to."""
        del body
        return []


def _too_large(place: Place) -> SearchError:
    error = SearchUnavailableError(f"{place} sent more than {MAX_BODY_BYTES // 1024**2} MiB")
    error.transient = False  # it would be as large again
    return error
