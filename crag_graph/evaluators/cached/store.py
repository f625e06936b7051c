"""The store of cached grades: it may be slow, damaged or gone, and no question fails for it."""

import importlib.util
import os
import threading
import time
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from langgraph.cache.base import BaseCache

from crag_graph.errors import ConfigurationError
from crag_graph.evaluators.cached.backends import (
    BoundedMemory,
    open_redis,
    open_sqlite,
    swallowed,
)
from crag_graph.redaction import redact

_NAMESPACE = ("crag", "grades")
_DAYS = 30
_PAUSE = 30.0  # seconds without a further try after a failure
_REDIS = ("redis", "rediss", "unix")


class GradeStore:
    """Entries of JSON under hashed keys. Threads may share one; no method raises.

    After a failure the cache is left alone for half a minute, so that one that is gone costs its
    time-out once, not with each question.

    Args:
        open_cache: Opens the cache; called on first use, in a thread.
        label: What decision cards call it; no credentials.
        days: How long an entry is kept; None: for ever.
    """

    def __init__(
        self, open_cache: Callable[[], BaseCache[Any]], *, label: str, days: int | None = _DAYS
    ) -> None:
        self.label = label
        self._open = open_cache
        self._seconds = None if days is None else days * 86_400
        self._lock = threading.Lock()
        self._cache: tuple[int, BaseCache[Any]] | None = None
        self._down: tuple[float, str] = (0.0, "")

    def get(self, keys: Sequence[str]) -> tuple[dict[str, Any], str]:
        """Return what is kept under `keys`, and why nothing could be looked up; empty: it could."""

        def look(cache: BaseCache[Any]) -> dict[str, Any]:
            found = cache.get([(_NAMESPACE, key) for key in keys])
            return {key: value for (_, key), value in found.items()}

        found, trouble = self._attempt(look)
        return found or {}, trouble

    def set(self, entries: Mapping[str, Any]) -> str:
        """Keep `entries`; return why they could not be kept, empty where they could."""

        def keep(cache: BaseCache[Any]) -> None:
            cache.set({(_NAMESPACE, key): (value, self._seconds) for key, value in entries.items()})

        return self._attempt(keep)[1] if entries else ""

    def _attempt(self, call: Callable[[BaseCache[Any]], Any]) -> tuple[Any, str]:
        until, trouble = self._down
        if time.monotonic() < until:
            return None, trouble
        try:
            cache = self._opened()
            result = call(cache)
            failure = swallowed(cache)
        except Exception as error:  # noqa: BLE001 - whatever a cache raises, the question goes on
            failure, result = error, None
        if failure is None:
            return result, ""
        said = redact(" ".join(str(failure).split())[:160]) or type(failure).__name__
        self._down = (time.monotonic() + _PAUSE, f"{type(failure).__name__}: {said}")
        return None, self._down[1]

    def _opened(self) -> BaseCache[Any]:
        with self._lock:
            # A connection does not survive a fork.
            if self._cache is None or self._cache[0] != os.getpid():
                self._cache = (os.getpid(), self._open())
            return self._cache[1]


def grade_store(name: str, *, home: Path) -> GradeStore | None:
    """Return the store that `CRAG_CACHE` names; None where it is off.

    Args:
        name: `off`, `memory`, `sqlite`, `sqlite:PATH` or a Redis URL.
        home: The data folder, in which the file of `sqlite` lies.

    Raises:
        ConfigurationError: There is no such cache, or what it needs is not installed.
    """
    kind, _, rest = name.partition(":")
    kind = kind.strip().lower()
    if kind in ("", "off") and not rest:
        return None
    if kind == "memory" and not rest:
        return GradeStore(BoundedMemory, label="memory", days=None)
    if kind == "sqlite":
        _need("langgraph.cache.sqlite", name="sqlite")
        path = Path(rest).expanduser() if rest else home / "cache" / "grades.sqlite"
        return GradeStore(lambda: open_sqlite(path), label="sqlite")
    if kind in _REDIS and rest.startswith("//"):
        _need("redis", name=kind)
        host = urllib.parse.urlsplit(name).netloc.rpartition("@")[2]
        return GradeStore(lambda: open_redis(name), label=f"redis at {host or 'a socket'}")
    raise ConfigurationError(
        f"CRAG_CACHE: there is no {kind!r}; there are off, memory, sqlite, sqlite:PATH and redis://…"
    )


def _need(module: str, *, name: str) -> None:
    try:
        found = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        found = None
    if found is None:
        raise ConfigurationError(
            f"CRAG_CACHE is {name}, and {module} is missing: pip install 'crag-graph[cache]'"
        )
