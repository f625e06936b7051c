"""Trying again: how often, how long, and what is never repeated."""

import asyncio
from typing import Any

import pytest

from crag_graph.errors import StoreError, StoreUnavailableError
from crag_graph.transient import RetryPolicy, aretry, retry


class Calls:
    """Fails as told, then returns `done`."""

    def __init__(self, *failures: BaseException) -> None:
        self.failures = list(failures)
        self.count = 0

    def __call__(self) -> str:
        self.count += 1
        if self.failures:
            raise self.failures.pop(0)
        return "done"

    async def later(self) -> str:
        return self()


def busy(retry_after: float | None = None) -> StoreUnavailableError:
    return StoreUnavailableError("busy", retry_after=retry_after)


def attempt(calls: Calls, *, asynchronous: bool, **options: Any) -> tuple[Any, list[float]]:
    """Return what came of it, an exception included, and the pauses."""
    slept: list[float] = []

    async def asleep(seconds: float) -> None:
        slept.append(seconds)

    given = {"sleep": slept.append, "asleep": asleep, "jitter": lambda: 1.0} | options
    policy = RetryPolicy(**given)
    try:
        if asynchronous:
            return asyncio.run(aretry(calls.later, policy=policy)), slept
        return retry(calls, policy=policy), slept
    except Exception as error:  # noqa: BLE001
        return error, slept


both = pytest.mark.parametrize("asynchronous", [False, True])


@both
def test_a_transient_failure_is_waited_out(*, asynchronous: bool) -> None:
    calls = Calls(busy(), busy(), busy())
    assert attempt(calls, asynchronous=asynchronous) == ("done", [0.25, 0.5, 1.0])
    assert calls.count == 4


@both
def test_the_last_error_is_raised_as_it_is(*, asynchronous: bool) -> None:
    failures = [busy() for _ in range(9)]
    calls = Calls(*failures)
    error, slept = attempt(calls, asynchronous=asynchronous)
    assert error is failures[3]
    assert len(slept) == 3


@both
@pytest.mark.parametrize("failure", [StoreError("no"), ValueError("no"), OSError("no")])
def test_other_failures_are_not_repeated(failure: Exception, *, asynchronous: bool) -> None:
    calls = Calls(failure)
    assert attempt(calls, asynchronous=asynchronous) == (failure, [])
    assert calls.count == 1


@both
def test_what_the_other_side_asks_for_is_kept(*, asynchronous: bool) -> None:
    calls = Calls(busy(6), busy(0), busy(-3))
    assert attempt(calls, asynchronous=asynchronous) == ("done", [6.25, 0.25, 0.25])


@both
def test_no_wait_passes_the_deadline(*, asynchronous: bool) -> None:
    calls = Calls(busy(6), busy(6), busy(6), busy(6))
    error, slept = attempt(calls, asynchronous=asynchronous, seconds=13)
    assert isinstance(error, StoreUnavailableError)
    assert slept == [6.25, 6.25]
    assert attempt(Calls(busy(14)), asynchronous=asynchronous, seconds=13)[1] == []


def test_jitter_draws_the_second_half_of_a_wait() -> None:
    for share, expected in ((0.0, 0.125), (1.0, 0.25)):
        policy = RetryPolicy(jitter=lambda share=share: share)  # type: ignore[misc]
        assert policy.wait(attempt=1, retry_after=None) == expected
    assert RetryPolicy(jitter=lambda: 1.0).wait(attempt=50, retry_after=None) == 4.0


async def test_cancelling_ends_the_waiting() -> None:
    calls = Calls(*[busy() for _ in range(9)])
    policy = RetryPolicy(base=60, longest=60, seconds=600)
    asking = asyncio.create_task(aretry(calls.later, policy=policy))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert calls.count == 1
