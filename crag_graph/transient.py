"""Trying again: the one place where a call to a server is repeated."""

import dataclasses
import random
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

from crag_graph.errors import CRAGError

if TYPE_CHECKING:
    from tenacity import RetryCallState

T = TypeVar("T")


@dataclasses.dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    """How often and how long a call is repeated that failed with a transient error.

    Attributes:
        attempts: Calls in all, from 1.
        seconds: Wall time in all; a wait that would pass it is not begun, and the error is raised.
        base: The first wait is at most so many seconds; each further one at most twice the last.
        longest: No wait of ours is longer; one that the other side asks for may be.
        jitter: Gives a number of 0–1 by which the second half of a wait is drawn: clients that
            failed together must not come back together.
        sleep: Waits, in synchronous calls.
        asleep: Waits, in asynchronous ones.
    """

    attempts: int = 4
    seconds: float = 20.0
    base: float = 0.25
    longest: float = 4.0
    jitter: Callable[[], float] = random.random
    sleep: Callable[[float], None] = time.sleep
    asleep: Callable[[float], Awaitable[None]] | None = None

    def wait(self, *, attempt: int, retry_after: float | None) -> float:
        """Return the seconds to wait after the `attempt`-th call, from 1.

        Where the other side asked for a time, it is kept, with a little jitter on top.
        """
        if retry_after is not None:
            return max(0.0, retry_after) + self.base * self.jitter()
        most = min(self.longest, self.base * 2 ** (attempt - 1))
        return float(most * (0.5 + 0.5 * self.jitter()))


def retry(call: Callable[[], T], *, policy: RetryPolicy) -> T:
    """Return what `call` gives, repeated while it raises a transient `CRAGError`.

    Raises:
        CRAGError: The last one, when it is not transient or the policy allows no more.
    """
    from tenacity import Retrying

    return Retrying(sleep=policy.sleep, **_options(policy))(call)


async def aretry(call: Callable[[], Awaitable[T]], *, policy: RetryPolicy) -> T:
    """Return what `retry` does; a cancellation is passed on at once."""
    from tenacity import AsyncRetrying

    options = _options(policy)
    if policy.asleep is not None:
        options["sleep"] = policy.asleep

    async def attempt() -> T:
        # Awaited here: tenacity looks whether `call` is a coroutine function, which a lambda that
        # returns a coroutine is not.
        return await call()

    return await AsyncRetrying(**options)(attempt)


def _options(policy: RetryPolicy) -> dict[str, Any]:
    from tenacity import retry_if_exception

    def wait(state: "RetryCallState") -> float:
        error = state.outcome.exception() if state.outcome is not None else None
        asked = error.retry_after if isinstance(error, CRAGError) else None
        return policy.wait(attempt=state.attempt_number, retry_after=asked)

    def stop(state: "RetryCallState") -> bool:
        # The clock does not move where a test replaces the sleeping; what was slept counts anyway.
        elapsed = max(state.seconds_since_start or 0.0, state.idle_for)
        return (
            state.attempt_number >= policy.attempts
            or elapsed + state.upcoming_sleep > policy.seconds
        )

    return {
        "wait": wait,
        "stop": stop,
        "retry": retry_if_exception(_is_transient),
        "reraise": True,
    }


def _is_transient(error: BaseException) -> bool:
    return isinstance(error, CRAGError) and error.transient
