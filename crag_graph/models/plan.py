"""Work with language models written once and run both ways, synchronously and asynchronously.

A plan is a generator: it yields effects (a model call, a pause, several plans side by side) and is
sent what they give. `run` performs the effects in this thread, `arun` on the event loop.
"""

import asyncio
import dataclasses
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from types import TracebackType
from typing import Any, Generic, Self, TypeAlias, TypeVar

from langchain_core.runnables.config import ContextThreadPoolExecutor

T = TypeVar("T")


class Effect(ABC):
    """Something that a plan waits for."""

    @abstractmethod
    def perform(self) -> Any:
        """Return what it gives, blocking this thread."""

    @abstractmethod
    async def aperform(self) -> Any:
        """Return what it gives without blocking the event loop."""


Plan: TypeAlias = Generator[Effect, Any, T]


@dataclasses.dataclass
class Outcome(Generic[T]):
    """What a plan came to: its value, or the error that ended it."""

    value: T | None = None
    error: Exception | None = None

    def get(self) -> T:
        """Return the value, or raise the error."""
        if self.error is not None:
            raise self.error
        return self.value  # type: ignore[return-value]  # set wherever there is no error


class Attempt(Outcome[T]):
    """An outcome that a `with` block fills: an error in it is kept, but cancellation passes."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        if isinstance(error, Exception):
            self.error = error
            return True
        return False


def run(plan: Plan[T]) -> T:
    """Return what `plan` returns, its effects performed in this thread."""
    outcome: Outcome[Any] = Outcome()
    try:
        while True:
            effect = _advance(plan, outcome)
            with Attempt[Any]() as attempt:
                attempt.value = effect.perform()
            outcome = attempt
    except _Finished as finished:
        value: T = finished.value
        return value
    finally:
        plan.close()


async def arun(plan: Plan[T]) -> T:
    """Return what `plan` returns, its effects performed on the running event loop."""
    outcome: Outcome[Any] = Outcome()
    try:
        while True:
            effect = _advance(plan, outcome)
            with Attempt[Any]() as attempt:
                attempt.value = await effect.aperform()
            outcome = attempt
    except _Finished as finished:
        value: T = finished.value
        return value
    finally:
        plan.close()


class _Finished(BaseException):
    """Carries a plan's value out; a StopIteration could not cross a coroutine."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _advance(plan: Plan[Any], outcome: Outcome[Any]) -> Effect:
    try:
        if outcome.error is not None:
            return plan.throw(outcome.error)
        return plan.send(outcome.value)
    except StopIteration as stop:
        raise _Finished(stop.value) from None


@dataclasses.dataclass(frozen=True)
class Pause(Effect):
    """Waits for so many seconds."""

    seconds: float

    def perform(self) -> None:
        """Return when the time is over."""
        time.sleep(self.seconds)

    async def aperform(self) -> None:
        """Return when the time is over."""
        await asyncio.sleep(self.seconds)


@dataclasses.dataclass(frozen=True)
class Offload(Effect):
    """Calls a function that reads files, off the event loop."""

    function: Callable[[], Any]

    def perform(self) -> Any:
        """Return what the function returns."""
        return self.function()

    async def aperform(self) -> Any:
        """Return what the function returns."""
        return await asyncio.to_thread(self.function)


@dataclasses.dataclass(frozen=True)
class _Together(Effect):
    plans: Sequence[Plan[Any]]
    limit: int

    def perform(self) -> list[Outcome[Any]]:
        if len(self.plans) == 1:
            return [_settle(self.plans[0])]
        with ContextThreadPoolExecutor(min(self.limit, len(self.plans))) as pool:
            return list(pool.map(_settle, self.plans))

    async def aperform(self) -> list[Outcome[Any]]:
        gate = asyncio.Semaphore(self.limit)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_asettle(plan, gate)) for plan in self.plans]
        return [task.result() for task in tasks]


def together(plans: Sequence[Plan[T]], *, limit: int = 8) -> Plan[list[Outcome[T]]]:
    """Return the outcome of each plan, in their order, after all have ended.

    Args:
        plans: What to do side by side: in threads, or as tasks of the event loop.
        limit: How many at once.
    """
    if not plans:
        return []
    outcomes: list[Outcome[T]] = yield _Together(plans, limit)
    return outcomes


def _settle(plan: Plan[T]) -> Outcome[T]:
    with Attempt[T]() as attempt:
        attempt.value = run(plan)
    return attempt


async def _asettle(plan: Plan[T], gate: asyncio.Semaphore) -> Outcome[T]:
    async with gate:
        with Attempt[T]() as attempt:
            attempt.value = await arun(plan)
        return attempt
