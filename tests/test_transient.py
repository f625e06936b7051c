"""Back-off: what is repeated, however the call is written."""

import dataclasses

import pytest

from crag_graph.errors import StoreAuthError, StoreUnavailableError
from crag_graph.transient import RetryPolicy, aretry


def patient() -> RetryPolicy:
    async def asleep(_: float) -> None:
        return None

    return dataclasses.replace(RetryPolicy(), asleep=asleep)


class Flaky:
    """Fails as told, then answers."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.calls = 0

    async def ask(self) -> str:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return "answer"


@pytest.mark.case(24)
async def test_a_lambda_that_returns_a_coroutine_is_awaited_and_repeated():
    flaky = Flaky(StoreUnavailableError("down"))
    assert await aretry(lambda: flaky.ask(), policy=patient()) == "answer"
    assert flaky.calls == 2


async def test_what_is_not_transient_is_raised_at_once():
    flaky = Flaky(StoreAuthError("no"))
    with pytest.raises(StoreAuthError):
        await aretry(lambda: flaky.ask(), policy=patient())
    assert flaky.calls == 1
