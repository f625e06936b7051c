"""Where grades are cached: langgraph's caches for memory, SQLite and Redis, opened on first use."""

import collections
import json
import sqlite3
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from langgraph.cache.base import BaseCache, FullKey, Namespace

MOST_IN_MEMORY = 20_000  # entries, of about 1 KB each
_REDIS_SECONDS = 1.0  # a cache that takes longer than this saves nothing
_PREFIX = "crag-graph:"


class JSONSerializer:
    """Keeps values as JSON, so that nothing but data comes back from a shared cache."""

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Return the value as JSON."""
        return "json", json.dumps(obj, ensure_ascii=True).encode()

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Return the value that `data` holds.

        Raises:
            ValueError: It is not ours, or damaged.
        """
        kind, raw = data
        if kind != "json":
            raise ValueError(f"an entry of the kind {kind!r}")
        return json.loads(raw)


class BoundedMemory(BaseCache[Any]):
    """A cache in this process that forgets what was used least recently.

    Args:
        most: How many entries it keeps.
    """

    def __init__(self, *, most: int = MOST_IN_MEMORY) -> None:
        super().__init__(serde=JSONSerializer())
        self._most = most
        self._entries: collections.OrderedDict[FullKey, tuple[str, bytes]] = (
            collections.OrderedDict()
        )
        self._lock = threading.Lock()

    def get(self, keys: Sequence[FullKey]) -> dict[FullKey, Any]:
        """Return what is kept under `keys`."""
        found = {}
        with self._lock:
            for key in keys:
                if key in self._entries:
                    self._entries.move_to_end(key)
                    found[key] = self._entries[key]
        return {key: self.serde.loads_typed(entry) for key, entry in found.items()}

    def set(self, pairs: Mapping[FullKey, tuple[Any, int | None]]) -> None:
        """Keep `pairs`; their time to live is not looked at."""
        made = {key: self.serde.dumps_typed(value) for key, (value, _) in pairs.items()}
        with self._lock:
            for key, entry in made.items():
                self._entries[key] = entry
                self._entries.move_to_end(key)
            while len(self._entries) > self._most:
                self._entries.popitem(last=False)

    def clear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        """Forget what is kept under `namespaces`, by default everything."""
        with self._lock:
            for key in list(self._entries):
                if namespaces is None or key[0] in namespaces:
                    del self._entries[key]

    async def aget(self, keys: Sequence[FullKey]) -> dict[FullKey, Any]:
        """Return what is kept under `keys`."""
        return self.get(keys)

    async def aset(self, pairs: Mapping[FullKey, tuple[Any, int | None]]) -> None:
        """Keep `pairs`."""
        self.set(pairs)

    async def aclear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        """Forget what is kept under `namespaces`."""
        self.clear(namespaces)


def open_sqlite(path: Path) -> BaseCache[Any]:
    """Return the cache in the file `path`, made if it is not there; expired entries are removed."""
    from langgraph.cache.sqlite import SqliteCache

    path.parent.mkdir(parents=True, exist_ok=True)
    cache: BaseCache[Any] = SqliteCache(path=str(path), serde=JSONSerializer())
    # It removes an expired entry only when it is asked for, and the key of a model or prompt that
    # is gone is never asked for again.
    connection = sqlite3.connect(path)
    try:
        with connection:
            connection.execute("DELETE FROM cache WHERE expiry < ?", (time.time(),))
    finally:
        connection.close()
    return cache


def open_redis(url: str) -> BaseCache[Any]:
    """Return the cache on the Redis server at `url`; nothing is sent before it is asked."""
    import redis
    from langgraph.cache.redis import RedisCache
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    client = redis.Redis.from_url(
        url,
        socket_timeout=_REDIS_SECONDS,
        socket_connect_timeout=_REDIS_SECONDS,
        retry=Retry(NoBackoff(), 0),
        protocol=2,  # which every server speaks, those before version 6, too
    )
    return RedisCache(_Honest(client), serde=JSONSerializer(), prefix=_PREFIX)


class _Honest:
    """A Redis client whose failures are raised after all: langgraph's cache swallows them."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.failures = threading.local()

    def mget(self, keys: Sequence[str]) -> Any:
        return self._noted(lambda: self._client.mget(keys))

    def pipeline(self) -> "_HonestPipeline":
        return _HonestPipeline(self, self._client.pipeline(transaction=False))

    def _noted(self, call: Any) -> Any:
        try:
            return call()
        except Exception as error:
            self.failures.last = error
            raise


class _HonestPipeline:
    def __init__(self, client: _Honest, pipeline: Any) -> None:
        self._client = client
        self._pipeline = pipeline

    def set(self, *arguments: Any) -> None:
        self._pipeline.set(*arguments)

    def setex(self, key: str, seconds: int, value: bytes) -> None:
        self._pipeline.set(key, value, ex=seconds)  # the client warns of its own setex

    def execute(self) -> Any:
        return self._client._noted(self._pipeline.execute)


def swallowed(cache: BaseCache[Any]) -> Exception | None:
    """Return the failure of this thread's last call that `cache` swallowed, once."""
    client = getattr(cache, "redis", None)
    if not isinstance(client, _Honest):
        return None
    failure: Exception | None = getattr(client.failures, "last", None)
    client.failures.last = None
    return failure
