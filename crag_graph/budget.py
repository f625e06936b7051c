"""The ledger of one run: what it has spent, asked before each dispatch."""

import dataclasses
import threading
import time

from crag_graph.errors import BudgetExceededError


@dataclasses.dataclass(kw_only=True)
class Budget:
    """What a run may still spend. A limit of None does not bind. Safe to share between threads.

    `spend` is asked before a call, so that the call which would pass a limit is never sent.

    Attributes:
        max_llm_calls: Requests to language models.
        max_tokens: Tokens in and out, over all of them.
        max_searches: Searches sent to a provider.
        max_seconds: Wall time since the ledger was opened.
    """

    max_llm_calls: int | None = None
    max_tokens: int | None = None
    max_searches: int | None = None
    max_seconds: float | None = None
    llm_calls: int = 0
    tokens: int = 0
    searches: int = 0
    started: float = dataclasses.field(default_factory=time.monotonic)
    _lock: threading.Lock = dataclasses.field(
        default_factory=threading.Lock, init=False, repr=False, compare=False
    )

    def spend(self, *, llm_calls: int = 0, tokens: int = 0, searches: int = 0) -> None:
        """Record a call that is about to be sent.

        Raises:
            BudgetExceededError: It would pass a limit; nothing is recorded then.
        """
        with self._lock:
            self._check("max_llm_calls", self.llm_calls + llm_calls, self.max_llm_calls, llm_calls)
            # A call whose tokens are not known beforehand is one too many once they are used up.
            self._check("max_tokens", self.tokens + tokens, self.max_tokens, tokens or llm_calls)
            self._check("max_searches", self.searches + searches, self.max_searches, searches)
            self._check("max_seconds", self.seconds, self.max_seconds, 1)
            self.llm_calls += llm_calls
            self.tokens += tokens
            self.searches += searches

    def record_tokens(self, tokens: int) -> None:
        """Add tokens that a finished call took beyond what was asked for beforehand."""
        with self._lock:
            self.tokens += tokens

    @property
    def seconds(self) -> float:
        """Seconds of wall time since the ledger was opened."""
        return time.monotonic() - self.started

    @staticmethod
    def _check(limit: str, total: float, most: float | None, asked: float) -> None:
        if most is not None and asked and total > most:
            raise BudgetExceededError(
                f"the run's budget is spent: {limit} is {most:g}; raise it in Settings to go on",
                limit=limit,
            )
