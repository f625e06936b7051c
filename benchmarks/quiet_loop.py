"""An event loop whose clock runs as if the process had a processor of its own.

Its time is the process's processor time plus the time that it would have waited. Waiting is
skipped, so other programs on the machine, which stretch wall time, do not show. It is meant for
coroutines that wait with `asyncio.sleep`; sockets would not keep its time.
"""

import asyncio
import selectors
import time
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_GRACE = 0.002  # seconds that are really waited first, for a thread that is at work


class _SkippingSelector(selectors.DefaultSelector):
    skipped = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or timeout <= 0:
            return super().select(timeout)
        events = super().select(min(timeout, _GRACE))
        if not events:
            self.skipped += timeout
        return events


class QuietLoop(asyncio.SelectorEventLoop):
    """The loop; `time()` is its clock."""

    def __init__(self) -> None:
        self._skipping = _SkippingSelector()
        super().__init__(self._skipping)

    def time(self) -> float:
        """Return seconds of processor time and of skipped waits."""
        return time.process_time() + self._skipping.skipped


def run_quietly(work: Coroutine[Any, Any, T]) -> T:
    """Return what `work` returns, run on a loop of this kind."""
    with asyncio.Runner(loop_factory=QuietLoop) as runner:
        return runner.run(work)
