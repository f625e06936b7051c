"""Wall time that holds whatever is being waited for, in synchronous and asynchronous callers.

A blocking call cannot be interrupted in Python: not the look-up of a host name, nor a server that
sends a byte a second. So it runs in a daemon thread, and when its time is over it is left behind:
the caller goes on, and the process may end without it.
"""

import asyncio
import concurrent.futures
import contextvars
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from crag_graph.errors import SearchError, SearchUnavailableError

T = TypeVar("T")


def too_late(what: str, seconds: float) -> SearchUnavailableError:
    """Return the error that says that `what` took longer than `seconds`."""
    return SearchUnavailableError(f"{what} gave no answer within {seconds:.3g} seconds")


def call_within(function: Callable[[], T], *, seconds: float, what: str) -> T:
    """Return what `function` returns, called in a thread of its own.

    Raises:
        SearchUnavailableError: It took longer than `seconds`; `what` is named.
    """
    future = _start(function)
    concurrent.futures.wait([future], timeout=max(0.0, seconds))
    if not future.done():
        raise too_late(what, seconds)
    return future.result()


async def acall_within(function: Callable[[], T], *, seconds: float, what: str) -> T:
    """Return what the blocking `function` returns, without holding up the event loop.

    Unlike with `asyncio.to_thread`, neither the loop nor the process waits for it at its end.

    Raises:
        SearchUnavailableError: It took longer than `seconds`; `what` is named.
    """
    future = asyncio.wrap_future(_start(function))
    await asyncio.wait([future], timeout=max(0.0, seconds))
    if not future.done():
        future.cancel()
        raise too_late(what, seconds)
    return future.result()


def gather_within(
    functions: Sequence[Callable[[], T]], *, seconds: float, what: str
) -> list[T | SearchError]:
    """Return the results of `functions`, called at once, each in a thread, in their order.

    A `SearchError` stands in the place of its result, and so does one for who took too long.
    """
    futures = [_start(function) for function in functions]
    concurrent.futures.wait(futures, timeout=max(0.0, seconds))
    outcomes: list[T | SearchError] = [_outcome(future, seconds, what) for future in futures]
    return outcomes


async def agather_within(
    functions: Sequence[Callable[[], Awaitable[T]]], *, seconds: float, what: str
) -> list[T | SearchError]:
    """Return what `functions` return, awaited at once; errors as in `gather_within`.

    Who takes too long is cancelled and not waited for, in case it holds on to its cancellation.
    """
    tasks = [asyncio.ensure_future(_awaited(function)) for function in functions]
    try:
        await asyncio.wait(tasks, timeout=max(0.0, seconds))
        return [_outcome(task, seconds, what) for task in tasks]
    finally:
        for task in tasks:
            task.cancel()


def remaining(deadline: float) -> float:
    """Return the seconds that are left until `deadline` (of `time.monotonic`), at least 0."""
    return max(0.0, deadline - time.monotonic())


def _start(function: Callable[[], T]) -> "concurrent.futures.Future[T]":
    future: concurrent.futures.Future[T] = concurrent.futures.Future()
    context = contextvars.copy_context()  # the run's callbacks and settings, for what asks for them

    def work() -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            future.set_result(context.run(function))
        except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
            future.set_exception(error)

    threading.Thread(target=work, name="crag-web-search", daemon=True).start()
    return future


async def _awaited(function: Callable[[], Awaitable[T]]) -> T:
    return await function()


def _outcome(
    future: "concurrent.futures.Future[Any] | asyncio.Task[Any]", seconds: float, what: str
) -> Any:
    if not future.done():
        return too_late(what, seconds)
    error = future.exception()
    if isinstance(error, SearchError):
        return error
    return future.result()
