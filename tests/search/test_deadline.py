import asyncio
import contextvars
import threading

import pytest

from crag_graph.errors import SearchQuotaError, SearchUnavailableError
from crag_graph.search.deadline import acall_within, agather_within, call_within, gather_within

NEVER = threading.Event()


def hang() -> str:
    NEVER.wait(60)
    return "late"


def refuse() -> str:
    raise SearchQuotaError("no more")


async def ahang() -> str:
    while True:  # holds on to its cancellation
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            if NEVER.is_set():
                raise


@pytest.mark.case(42)
def test_a_call_that_hangs_is_left_and_named():
    with pytest.raises(SearchUnavailableError, match=r"W gave no answer within 0\.05 seconds"):
        call_within(hang, seconds=0.05, what="W")


@pytest.mark.case(42)
async def test_a_blocking_call_that_hangs_holds_up_no_loop():
    with pytest.raises(SearchUnavailableError, match="W gave no answer"):
        await acall_within(hang, seconds=0.05, what="W")


@pytest.mark.case(42)
def test_no_event_loop_waits_at_its_end_for_what_was_left_behind():
    async def main() -> str:
        try:
            return await acall_within(hang, seconds=0.05, what="W")
        except SearchUnavailableError:
            return "went on"

    done: list[str] = []
    thread = threading.Thread(target=lambda: done.append(asyncio.run(main())), daemon=True)
    thread.start()
    thread.join(20)
    assert done == ["went on"]


async def test_results_and_errors_come_through():
    assert call_within(lambda: 7, seconds=9, what="W") == 7
    assert await acall_within(lambda: 7, seconds=9, what="W") == 7
    with pytest.raises(SearchQuotaError):
        call_within(refuse, seconds=9, what="W")
    with pytest.raises(SearchQuotaError):
        await acall_within(refuse, seconds=9, what="W")


async def test_a_timeout_of_the_call_itself_is_its_own_error():
    def late() -> str:
        raise TimeoutError("inside")

    with pytest.raises(TimeoutError, match="inside"):
        call_within(late, seconds=9, what="W")
    with pytest.raises(TimeoutError, match="inside"):
        await acall_within(late, seconds=9, what="W")


@pytest.mark.case(45)
async def test_of_several_calls_each_has_its_own_outcome():
    def kinds(outcomes: list) -> list:
        return [o if isinstance(o, str) else type(o) for o in outcomes]

    expected = ["good", SearchQuotaError, SearchUnavailableError]
    calls = [lambda: "good", refuse, hang]
    assert kinds(gather_within(calls, seconds=0.2, what="W")) == expected

    async def good() -> str:
        return "good"

    async def arefuse() -> str:
        return refuse()

    assert kinds(await agather_within([good, arefuse, ahang], seconds=0.2, what="W")) == expected
    NEVER.set()


async def test_an_error_that_is_no_search_error_is_raised():
    def bug() -> str:
        raise KeyError("bug")

    async def abug() -> str:
        return bug()

    with pytest.raises(KeyError):
        gather_within([bug], seconds=9, what="W")
    with pytest.raises(KeyError):
        await agather_within([abug], seconds=9, what="W")


def test_the_thread_sees_the_context_of_the_caller():
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")
    variable.set("mine")
    assert call_within(variable.get, seconds=9, what="W") == "mine"
