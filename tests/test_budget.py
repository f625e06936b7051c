"""The ledger: the call that would pass a limit is never sent."""

import concurrent.futures

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crag_graph.budget import Budget
from crag_graph.errors import BudgetExceededError


def refused(budget: Budget, **spending: int) -> str:
    before = (budget.llm_calls, budget.tokens, budget.searches)
    with pytest.raises(BudgetExceededError) as caught:
        budget.spend(**spending)
    assert (budget.llm_calls, budget.tokens, budget.searches) == before
    assert caught.value.limit in caught.value.message
    return caught.value.limit


def test_no_limit_binds_nothing() -> None:
    budget = Budget()
    budget.spend(llm_calls=1000, tokens=10**9, searches=1000)
    assert (budget.llm_calls, budget.tokens, budget.searches) == (1000, 10**9, 1000)


@pytest.mark.parametrize(
    ("limit", "spending"),
    [("max_llm_calls", "llm_calls"), ("max_tokens", "tokens"), ("max_searches", "searches")],
)
def test_a_limit_may_be_reached_and_not_passed(limit: str, spending: str) -> None:
    budget = Budget(**{limit: 2})
    budget.spend(**{spending: 2})
    assert refused(budget, **{spending: 1}) == limit


def test_a_limit_of_zero_forbids_the_first_call() -> None:
    assert refused(Budget(max_searches=0), searches=1) == "max_searches"


def test_a_spent_limit_does_not_forbid_other_calls() -> None:
    budget = Budget(max_searches=1, searches=1)
    budget.spend(llm_calls=1, tokens=10)
    assert budget.llm_calls == 1


def test_nothing_is_recorded_of_a_call_that_passes_one_of_two_limits() -> None:
    assert refused(Budget(max_llm_calls=5, max_tokens=10), llm_calls=1, tokens=11) == "max_tokens"


def test_once_tokens_are_overdrawn_no_call_is_sent_whose_tokens_are_unknown() -> None:
    budget = Budget(max_tokens=100)
    budget.spend(llm_calls=1, tokens=90)
    budget.record_tokens(20)
    assert budget.tokens == 110
    assert refused(budget, llm_calls=1) == "max_tokens"


def test_when_the_time_is_over_no_call_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("crag_graph.budget.time.monotonic", lambda: now)
    budget = Budget(max_seconds=5, started=100.0)
    now = 105.0
    budget.spend(llm_calls=1)
    assert budget.seconds == 5
    now = 105.5
    assert refused(budget, llm_calls=1) == "max_seconds"


def test_the_limit_and_its_value_are_named() -> None:
    with pytest.raises(BudgetExceededError, match="max_llm_calls is 3"):
        Budget(max_llm_calls=3).spend(llm_calls=4)


@given(st.lists(st.integers(0, 4), max_size=20), st.integers(0, 10))
def test_what_is_spent_never_passes_the_limit(asked: list[int], limit: int) -> None:
    budget = Budget(max_llm_calls=limit)
    for calls in asked:
        if budget.llm_calls + calls > limit:
            refused(budget, llm_calls=calls)
        else:
            budget.spend(llm_calls=calls)
    assert budget.llm_calls <= limit


def test_threads_share_one_ledger() -> None:
    budget = Budget(max_llm_calls=100)

    def spend(_: int) -> bool:
        try:
            budget.spend(llm_calls=1)
        except BudgetExceededError:
            return False
        return True

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        sent = sum(pool.map(spend, range(300)))
    assert sent == budget.llm_calls == 100
