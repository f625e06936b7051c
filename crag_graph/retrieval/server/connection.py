"""The clients of one server: one for threads, one for each event loop, and how they are called."""

import asyncio
import math
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from crag_graph.errors import CRAGError, StoreError
from crag_graph.retrieval.server.address import ServerAddress
from crag_graph.retrieval.server.errors import as_store_error
from crag_graph.transient import RetryPolicy, aretry, retry

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient, QdrantClient

T = TypeVar("T")

DEFAULT_SECONDS = 10.0


class ServerConnection:
    """Calls a server: each call with a time-out, its errors made ours, repeated where that helps.

    Nothing is sent before the first call. An asynchronous client belongs to the event loop in which
    it was made, so each loop gets its own, and it is closed when that loop ends.

    Args:
        address: The server.
        collection: What messages call the collection.
        api_key: The server's key.
        seconds: Time-out of one attempt, rounded up to whole seconds.
        policy: How often a failed call is repeated.

    Raises:
        ConfigurationError: A key would travel unencrypted.
    """

    def __init__(
        self,
        address: ServerAddress,
        *,
        collection: str,
        api_key: str | None = None,
        seconds: float = DEFAULT_SECONDS,
        policy: RetryPolicy | None = None,
    ) -> None:
        address.require_safe(api_key)
        self.address = address
        self.collection = collection
        self._api_key = api_key
        self._seconds = seconds
        self._policy = policy or RetryPolicy()
        self._lock = threading.Lock()
        self._client: QdrantClient | None = None
        self._sessions: dict[asyncio.AbstractEventLoop, _Session] = {}
        self._failures = _Failures(server=address.shown, collection=collection)
        self._closed = False

    def __repr__(self) -> str:
        return f"ServerConnection({self.address.shown!r}, collection={self.collection!r})"

    def call(self, ask: "Callable[[QdrantClient], T]") -> T:
        """Return what `ask` makes of the client.

        Raises:
            StoreError: The server or the way to it failed, also when tried again.
        """
        client = self._synchronous()

        def attempt() -> T:
            with self._failures:
                return ask(client)

        return retry(attempt, policy=self._policy)

    async def acall(self, ask: "Callable[[AsyncQdrantClient], Awaitable[T]]") -> T:
        """Return what `ask` makes of the client of the running event loop.

        Raises:
            StoreError: The server or the way to it failed, also when tried again.
        """
        client = await self._asynchronous()

        async def attempt() -> T:
            with self._failures:
                return await ask(client)

        return await aretry(attempt, policy=self._policy)

    def close(self) -> None:
        """Close every client, those of running event loops soon after. Twice does nothing."""
        with self._lock:
            self._closed = True
            client, self._client = self._client, None
            sessions = list(self._sessions.items())
        if client is not None:
            client.close()
        for loop, session in sessions:
            if loop.is_running():
                loop.call_soon_threadsafe(session.end)

    def _synchronous(self) -> "QdrantClient":
        from qdrant_client import QdrantClient

        with self._lock:
            self._require_open()
            if self._client is None:
                self._client = QdrantClient(**self._options())
            return self._client

    async def _asynchronous(self) -> "AsyncQdrantClient":
        loop = asyncio.get_running_loop()
        with self._lock:
            self._require_open()
            for other in [known for known in self._sessions if known.is_closed()]:
                del self._sessions[other]
            session = self._sessions.setdefault(loop, _Session(loop, self._make_asynchronous))
        return await session.client()

    def _make_asynchronous(self) -> "AsyncQdrantClient":
        from qdrant_client import AsyncQdrantClient

        return AsyncQdrantClient(**self._options())

    def _options(self) -> dict[str, Any]:
        options: dict[str, Any] = {
            "url": self.address.shown,
            "timeout": max(1, math.ceil(self._seconds)),
            "check_compatibility": False,  # it would ask the server from within the constructor
            # A proxy cannot reach this machine's own ports, and must not see what is sent to them.
            "trust_env": not self.address.is_loopback,
        }
        if self._api_key:
            # As a header, since the parameter warns about http on loopback too.
            options["headers"] = {"api-key": self._api_key}
        if self.address.user:
            options["auth"] = self.address.user
        return options

    def _require_open(self) -> None:
        if self._closed:
            raise StoreError(
                f"the connection to {self.address.shown} was closed before this call: open the "
                "collection again"
            )


class _Session:
    """The client of one event loop, closed when the loop shuts down its asynchronous generators."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, make: "Callable[[], AsyncQdrantClient]"
    ) -> None:
        self._loop = loop
        self._make = make
        self._making = asyncio.Lock()
        self._client: AsyncQdrantClient | None = None
        self._generator: AsyncGenerator[AsyncQdrantClient, None] | None = None

    async def client(self) -> "AsyncQdrantClient":
        """Return the client, made when it is first asked for."""
        async with self._making:
            if self._client is None:
                self._generator = self._live()
                self._client = await anext(self._generator)
            return self._client

    def end(self) -> None:
        """Close the client soon, from within its loop."""
        if self._generator is not None:
            self._loop.create_task(self._generator.aclose())

    async def _live(self) -> "AsyncGenerator[AsyncQdrantClient, None]":
        # In a thread: importing and making a client reads files for half a second.
        client = await asyncio.to_thread(self._make)
        try:
            yield client
        finally:
            self._client = None
            await client.close()


class _Failures:
    """Turns what the client raises into a `StoreError`. Cancellation passes.

    The original is not chained: httpx's errors carry the request, and with it the key.
    """

    def __init__(self, *, server: str, collection: str) -> None:
        self._names = {"server": server, "collection": collection}

    def __enter__(self) -> None:
        return

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, Exception) and not isinstance(error, CRAGError):
            raise as_store_error(error, **self._names) from None
