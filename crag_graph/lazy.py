"""Building a collaborator once, on first use."""

import asyncio
import threading
from collections.abc import Callable
from typing import Generic, Self, TypeVar

T = TypeVar("T")


class Lazy(Generic[T]):
    """A collaborator that is built once, by whoever asks for it first.

    Building may load a model or open a store, so asynchronous callers use `aget`, which builds in
    a thread and costs nothing once it is there. A failed build is tried again at the next call.
    """

    def __init__(self, build: Callable[[], T]) -> None:
        self._build = build
        self._lock = threading.Lock()
        self._ready = False
        self._value: T | None = None

    @classmethod
    def of(cls, value: T) -> Self:
        """Return one that holds `value` already."""
        lazy = cls(lambda: value)
        lazy.get()
        return lazy

    @property
    def ready(self) -> bool:
        """Whether it has been built."""
        return self._ready

    def get(self) -> T:
        """Return the collaborator, built now if it is not there yet."""
        if not self._ready:
            with self._lock:
                if not self._ready:
                    self._value = self._build()
                    self._ready = True
        return self._value  # type: ignore[return-value]

    async def aget(self) -> T:
        """Return the collaborator without blocking the event loop."""
        return self.get() if self._ready else await asyncio.to_thread(self.get)
