"""Limits that all searches of a process, or of a month, share."""

import asyncio
import contextlib
import datetime
import functools
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from crag_graph.errors import SearchQuotaError
from crag_graph.search.base import SearchFilters, SearchResult, WebSearch, filtering

_CREATE = (
    "CREATE TABLE IF NOT EXISTS searches (month TEXT, provider TEXT, sent INTEGER NOT NULL, "
    "PRIMARY KEY (month, provider))"
)
# One statement, so that two processes cannot both take the last search of a month.
_SPEND = (
    "INSERT INTO searches VALUES (?, ?, 1) ON CONFLICT (month, provider) "
    "DO UPDATE SET sent = sent + 1 WHERE sent < ?"
)
_BUSY_SECONDS = 5.0


class RateLimiter:
    """Spaces searches evenly, over all threads and event loops of the process.

    Args:
        per_second: The most searches in a second, above 0.
    """

    def __init__(self, per_second: float) -> None:
        self._interval = 1.0 / per_second
        self._lock = threading.Lock()
        self._free_at = 0.0

    def reserve(self, *, seconds: float, who: str) -> float:
        """Return how long to wait for the turn that is reserved with this call.

        Raises:
            SearchQuotaError: It would come later than in `seconds`; no turn is taken then.
        """
        with self._lock:
            now = time.monotonic()
            wait = max(0.0, self._free_at - now)
            if wait >= seconds:
                raise SearchQuotaError(
                    f"the rate limit for {who} leaves no turn within {seconds:.3g} seconds",
                    retry_after=wait,
                )
            self._free_at = now + wait + self._interval
        return wait


@functools.cache
def shared_limiter(provider: str, per_second: float) -> RateLimiter:
    """Return the limiter of `provider` that everybody in this process shares."""
    del provider  # the cache tells the limiters apart by it
    return RateLimiter(per_second)


def _month() -> str:
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m")


class Ledger:
    """Counts the searches sent in a calendar month (UTC), for all processes that share its file.

    Args:
        path: The SQLite file; made with its folder when it is first written.
        cap: The most searches in a month for each provider, from 0.
        month: Says which month it is, as `2026-11`.
    """

    def __init__(self, path: Path, *, cap: int, month: Callable[[], str] = _month) -> None:
        self.path = path
        self.cap = cap
        self._month = month

    def spend(self, provider: str) -> None:
        """Record a search that is about to be sent to `provider`.

        Raises:
            SearchQuotaError: The cap is reached, or the file cannot be written, since a cap that
                is not counted is none. Nothing is recorded then.
        """
        try:
            taken = self.cap > 0 and self._taken(provider)
        except (sqlite3.Error, OSError) as error:
            raise SearchQuotaError(
                f"the searches of the month cannot be counted in {self.path} ({error}): make it "
                "writable, or unset CRAG_WEB_MONTHLY_CAP"
            ) from error
        if not taken:
            raise SearchQuotaError(
                f"{provider} has had its {self.cap} searches of {self._month()}: raise "
                "CRAG_WEB_MONTHLY_CAP to go on"
            )

    def spent(self, provider: str) -> int:
        """Return how many searches were sent to `provider` this month; 0 without a file."""
        if not self.path.exists():
            return 0
        with self._open() as connection:
            row = connection.execute(
                "SELECT sent FROM searches WHERE month = ? AND provider = ?",
                (self._month(), provider),
            ).fetchone()
        return int(row[0]) if row else 0

    def _taken(self, provider: str) -> bool:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._open() as connection:
            cursor = connection.execute(_SPEND, (self._month(), provider, self.cap))
            return cursor.rowcount == 1

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with contextlib.closing(
            sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None)
        ) as connection:
            connection.execute(_CREATE)
            yield connection


class LimitedSearch:
    """A provider that keeps to a rate and to a monthly cap.

    Args:
        inner: Who is asked.
        limiter: Its rate; None does not limit it.
        ledger: Its months; None does not count them.
    """

    def __init__(
        self, inner: WebSearch, *, limiter: RateLimiter | None = None, ledger: Ledger | None = None
    ) -> None:
        self.inner = inner
        self.name = inner.name
        self._limiter = limiter
        self._ledger = ledger

    def __repr__(self) -> str:
        return f"LimitedSearch({self.inner!r})"

    def search(
        self,
        query: str,
        *,
        max_results: int,
        seconds: float,
        filters: SearchFilters | None = None,
    ) -> SearchResult:
        """Return what the provider finds, when its turn has come."""
        started = time.monotonic()
        time.sleep(self._reserve(seconds))
        if self._ledger is not None:
            self._ledger.spend(self.name)
        left = seconds - (time.monotonic() - started)
        return self.inner.search(query, max_results=max_results, seconds=left, **filtering(filters))

    async def asearch(
        self,
        query: str,
        *,
        max_results: int,
        seconds: float,
        filters: SearchFilters | None = None,
    ) -> SearchResult:
        """Return what the provider finds, when its turn has come."""
        started = time.monotonic()
        await asyncio.sleep(self._reserve(seconds))
        if self._ledger is not None:
            await asyncio.to_thread(self._ledger.spend, self.name)
        left = seconds - (time.monotonic() - started)
        return await self.inner.asearch(
            query, max_results=max_results, seconds=left, **filtering(filters)
        )

    def _reserve(self, seconds: float) -> float:
        if self._limiter is None:
            return 0.0
        return self._limiter.reserve(seconds=seconds, who=self.name)
