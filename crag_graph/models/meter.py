"""Counting what one piece of work with models takes, and asking the budget before each call."""

import threading
from collections.abc import Sequence

from langchain_core.messages import BaseMessage

from crag_graph.budget import Budget
from crag_graph.models.reply import reported_tokens, text_blocks
from crag_graph.state import NodeUsage
from crag_graph.text.tokens import estimate_tokens

_PER_MESSAGE = 4  # role and separators, about


class Meter:
    """Counts calls and tokens against a budget. Safe to share between threads.

    Attributes:
        budget: Asked before each dispatch.
        notes: Sentences for the decision card, each once, in the order in which they came up.
    """

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self._notes: dict[str, None] = {}
        self._calls = 0
        self._input_tokens = 0
        self._output_tokens = 0
        self._lock = threading.Lock()

    def dispatch(self, messages: Sequence[BaseMessage]) -> int:
        """Return how many tokens `messages` take, about, entered as a call that is being sent.

        Raises:
            BudgetExceededError: The budget forbids the call; nothing is counted.
        """
        estimate = count_messages(messages)
        self.budget.spend(llm_calls=1, tokens=estimate)
        with self._lock:
            self._calls += 1
        return estimate

    def settle(self, estimate: int, reply: BaseMessage) -> None:
        """Count the tokens of an answered call: the provider's figures, else an estimate."""
        counted = (estimate, _output_estimate(reply))
        self.settle_tokens(estimate, *(reported_tokens(reply) or counted))

    def settle_tokens(self, estimate: int, input_tokens: int, output_tokens: int) -> None:
        """Count the tokens of an answered call, of which `estimate` were entered beforehand."""
        self.budget.record_tokens(input_tokens + output_tokens - estimate)
        with self._lock:
            self._input_tokens += input_tokens
            self._output_tokens += output_tokens

    def note(self, sentence: str) -> None:
        """Add a sentence for the decision card."""
        with self._lock:
            self._notes.setdefault(sentence)

    @property
    def notes(self) -> tuple[str, ...]:
        """The sentences so far."""
        return tuple(self._notes)

    @property
    def usage(self) -> NodeUsage:
        """Calls and tokens so far."""
        return {
            "llm_calls": self._calls,
            "input_tokens": self._input_tokens,
            "output_tokens": self._output_tokens,
        }

    def seconds_left(self) -> float | None:
        """Return how long the run may still take, None where nothing limits it."""
        limit = self.budget.max_seconds
        return None if limit is None else limit - self.budget.seconds


def count_messages(messages: Sequence[BaseMessage]) -> int:
    """Return how many tokens `messages` take as a prompt, about."""
    return sum(estimate_tokens(text_blocks(message.content)) + _PER_MESSAGE for message in messages)


def _output_estimate(reply: BaseMessage) -> int:
    calls = "".join(str(call["args"]) for call in getattr(reply, "tool_calls", ()))
    return estimate_tokens(text_blocks(reply.content) + calls)
