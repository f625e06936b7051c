import asyncio
import sqlite3
import threading
from pathlib import Path

import pytest

from crag_graph.errors import SearchQuotaError
from crag_graph.search.base import SearchResult
from crag_graph.search.limits import Ledger, LimitedSearch, RateLimiter, shared_limiter

FOUND = SearchResult(documents=[], provider="p")


class Provider:
    name = "p"

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def search(self, query, *, max_results, seconds, filters=None) -> SearchResult:
        self.seconds.append(seconds)
        return FOUND

    async def asearch(self, query, *, max_results, seconds, filters=None) -> SearchResult:
        return self.search(query, max_results=max_results, seconds=seconds)


def test_turns_are_spaced_evenly_and_the_first_comes_at_once():
    limiter = RateLimiter(2)
    waits = [limiter.reserve(seconds=10, who="p") for _ in range(4)]
    assert waits == pytest.approx([0, 0.5, 1.0, 1.5], abs=0.2)


def test_a_turn_that_would_come_too_late_is_refused_and_not_taken():
    limiter = RateLimiter(0.1)
    assert limiter.reserve(seconds=1, who="p") == 0
    for _ in range(3):
        with pytest.raises(SearchQuotaError, match="the rate limit for p") as caught:
            limiter.reserve(seconds=1, who="p")
        assert caught.value.retry_after == pytest.approx(10, abs=1)


def test_everybody_in_the_process_shares_one_limiter_a_provider():
    assert shared_limiter("tavily", 3.0) is shared_limiter("tavily", 3.0)
    assert shared_limiter("tavily", 3.0) is not shared_limiter("brave", 3.0)


async def test_a_search_waits_for_its_turn_within_its_time():
    provider = Provider()
    limited = LimitedSearch(provider, limiter=RateLimiter(10))
    for _ in range(2):
        assert limited.search("q", max_results=1, seconds=5) is FOUND
        assert await limited.asearch("q", max_results=1, seconds=5) is FOUND
    assert provider.seconds[0] == pytest.approx(5, abs=0.05)
    assert all(seconds < 4.95 for seconds in provider.seconds[1:])
    slow = LimitedSearch(provider, limiter=RateLimiter(0.01))
    slow.search("q", max_results=1, seconds=5)
    with pytest.raises(SearchQuotaError):
        await slow.asearch("q", max_results=1, seconds=5)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "web_searches.sqlite3"


async def test_past_its_cap_a_month_has_no_more_searches_and_nothing_is_sent(path: Path):
    provider = Provider()
    limited = LimitedSearch(provider, ledger=Ledger(path, cap=2))
    limited.search("q", max_results=1, seconds=5)
    await limited.asearch("q", max_results=1, seconds=5)
    for _ in range(2):
        with pytest.raises(SearchQuotaError, match="CRAG_WEB_MONTHLY_CAP"):
            limited.search("q", max_results=1, seconds=5)
    with pytest.raises(SearchQuotaError):
        await limited.asearch("q", max_results=1, seconds=5)
    assert len(provider.seconds) == 2
    assert Ledger(path, cap=2).spent("p") == 2


def test_the_ledger_counts_each_provider_and_begins_anew_each_month(path: Path):
    months = iter(["2026-11"] * 3 + ["2026-12"] * 9)
    ledger = Ledger(path, cap=1, month=lambda: next(months))
    assert ledger.spent("a") == 0
    assert not path.exists()
    ledger.spend("a")
    ledger.spend("b")
    assert ledger.spent("a") == 1
    ledger.spend("a")  # in December
    assert ledger.spent("a") == 1


def test_a_cap_of_nought_sends_nothing_and_writes_nothing(path: Path):
    with pytest.raises(SearchQuotaError):
        Ledger(path, cap=0).spend("p")
    assert not path.exists()


def test_no_two_writers_take_the_last_search(path: Path):
    refused = []

    def spend() -> None:
        for _ in range(10):
            try:
                Ledger(path, cap=25).spend("p")
            except SearchQuotaError:
                refused.append(1)

    threads = [threading.Thread(target=spend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Ledger(path, cap=25).spent("p") == 25
    assert len(refused) == 15


@pytest.mark.parametrize("broken", ["a file in the way", "not a database"])
def test_a_cap_that_cannot_be_counted_refuses(path: Path, broken: str):
    if broken == "a file in the way":
        path.parent.write_text("x")
    else:
        path.parent.mkdir()
        path.write_text("this is no database, and longer than a header of one " * 9)
    with pytest.raises(SearchQuotaError, match="cannot be counted in"):
        Ledger(path, cap=5).spend("p")


def test_a_ledger_that_another_process_writes_is_waited_for(path: Path):
    ledger = Ledger(path, cap=5)
    ledger.spend("p")
    holder = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN IMMEDIATE")
    timer = threading.Timer(0.2, holder.commit)
    timer.start()
    asyncio.run(LimitedSearch(Provider(), ledger=ledger).asearch("q", max_results=1, seconds=5))
    timer.join()
    holder.close()
    assert ledger.spent("p") == 2
