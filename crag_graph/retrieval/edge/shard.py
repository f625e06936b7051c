"""One open engine per store and process, shared by all who open it."""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from crag_graph.errors import StoreError
from crag_graph.retrieval.edge.disk import OPEN_BYTES, require_free
from crag_graph.retrieval.edge.errors import as_store_error, closed, is_engine_error

if TYPE_CHECKING:
    from qdrant_edge import EdgeConfig, EdgeShard

T = TypeVar("T")

# By path and process: a forked child must neither use nor close what it inherited.
_open_shards: dict[tuple[Path, int], "Shard"] = {}
_registry_lock = threading.Lock()


class Shard:
    """A loaded store. Opening it twice in one process gives the same one, counted.

    The engine locks a store against every second opening, that of its own process included. It
    works in threads, which a forked child does not have: there its calls would never return. So
    every call first asks whether this is still the process that loaded the engine.
    """

    def __init__(self, path: Path, engine: "EdgeShard") -> None:
        self.path = path
        self._engine = engine
        self._users = 1
        self._process = os.getpid()

    @classmethod
    def open(cls, path: Path, *, verify: "Callable[[Shard], None]") -> "Shard":
        """Return the store at `path`, loaded and verified unless this process has it open already.

        Raises:
            StoreLockedError: Another process holds it.
            StoreDamagedError: It cannot be loaded; or what `verify` raises.
            StoreFullError: The disk has too little room to load it safely.
        """
        from qdrant_edge import EdgeShard

        path = path.resolve()
        key = (path, os.getpid())
        with _registry_lock:
            shared = _open_shards.get(key)
            if shared is not None:
                shared._users += 1
                return shared
            require_free(path, needed=OPEN_BYTES)
            shard = cls(path, _guarded(path, lambda: EdgeShard.load(str(path)), loading=True))
            try:
                verify(shard)
            except BaseException:
                _abandon(shard._engine)
                raise
            _open_shards[key] = shard
            return shard

    @staticmethod
    def create(path: Path, config: "EdgeConfig", prepare: "Callable[[EdgeShard], None]") -> None:
        """Make an empty store at `path`, let `prepare` set it up, and leave it closed."""
        from qdrant_edge import EdgeShard

        def make() -> None:
            engine = EdgeShard.create(str(path), config)
            prepare(engine)
            engine.flush()
            engine.close()

        _guarded(path, make, loading=False)

    def call(self, ask: "Callable[[EdgeShard], T]") -> T:
        """Return what `ask` makes of the engine.

        Raises:
            StoreError: The engine failed, was closed, or was loaded by the parent process.
        """
        if self._process != os.getpid():
            raise StoreError(
                f"the store {self.path} was opened before this process was forked, and cannot be "
                "used in it: start processes with the spawn method, or open stores after forking"
            )
        if self._users == 0:
            raise closed(self.path)
        return _guarded(self.path, lambda: ask(self._engine), loading=False)

    def release(self) -> None:
        """Let go of the store; the last one who does flushes and closes it."""
        if self._process != os.getpid():
            return  # the parent's; closing it here would touch its files
        with _registry_lock:
            self._users -= 1
            if self._users > 0:
                return
            _open_shards.pop((self.path, self._process), None)

        def close(engine: "EdgeShard") -> None:
            engine.flush()
            engine.close()

        _guarded(self.path, lambda: close(self._engine), loading=False)


def _abandon(engine: "EdgeShard") -> None:
    """Close what was found unsound; its own complaints about that would hide the finding."""
    try:
        engine.close()
    except BaseException as error:
        if not is_engine_error(error):
            raise


def _guarded(path: Path, act: Callable[[], T], *, loading: bool) -> T:
    try:
        return act()
    except BaseException as error:
        if not is_engine_error(error):
            raise
        raise as_store_error(error, path=path, loading=loading) from error
