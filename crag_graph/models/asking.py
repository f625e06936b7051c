"""One request to a chat model: paid for, repeated with back-off, its failure typed."""

import dataclasses
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import Runnable, RunnableConfig

from crag_graph.models.endpoint import Endpoint
from crag_graph.models.failures import EndpointError, as_model_error
from crag_graph.models.loops import PerLoop
from crag_graph.models.meter import Meter
from crag_graph.models.plan import Attempt, Effect, Pause, Plan
from crag_graph.models.reply import text_blocks
from crag_graph.tracing.spans import Span

NOSTREAM = "nostream"
"""The only tag that hides a model's tokens from LangGraph's `messages` stream mode."""

# As many dead connections as a pool may keep (openai's default limit of idle connections).
_MOST_STALE = 100
_JITTER = random.SystemRandom()
# Some chat templates know no system role and their servers refuse it (Gemma 2: "System role not
# supported"); what it would have said then goes before the user's message.
_NO_SYSTEM_ROLE: set[Endpoint] = set()
_SYSTEM_REFUSED = re.compile(
    r"system (?:role|message)s?\b.{0,40}\bnot|(?:only|must be).{0,30}(?:user|assistant).{0,30}role",
    re.I,
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Backoff:
    """How failed requests are repeated.

    Attributes:
        attempts: How often a request is sent at most, from 1.
        first: Seconds before the second attempt; doubled for each further one, with jitter.
        longest: Most seconds to wait, also when the other side asks for more: then it fails.
    """

    attempts: int = 3
    first: float = 0.5
    longest: float = 20.0

    def wait(self, attempt: int, failure: EndpointError) -> float | None:
        """Return the seconds to wait after `attempt` (from 1), or None to give up."""
        if not failure.transient or attempt >= self.attempts:
            return None
        if failure.retry_after is not None:
            return failure.retry_after if failure.retry_after <= self.longest else None
        return min(self.longest, self.first * 2.0 ** (attempt - 1) * _JITTER.uniform(0.75, 1.25))


@dataclasses.dataclass(frozen=True)
class Invoke(Effect):
    """Calls a runnable model."""

    runnable: Runnable[Any, Any]
    messages: Sequence[BaseMessage]
    config: RunnableConfig

    def perform(self) -> Any:
        """Return what the model returns."""
        return self.runnable.invoke(list(self.messages), self.config)

    async def aperform(self) -> Any:
        """Return what the model returns."""
        return await self.runnable.ainvoke(list(self.messages), self.config)


@dataclasses.dataclass(frozen=True)
class _Ready(Effect):
    models: PerLoop

    def perform(self) -> BaseChatModel:
        return self.models.model

    async def aperform(self) -> BaseChatModel:
        return await self.models.get()


class Asker:
    """A chat model behind a door that counts, repeats and names failures.

    A client with retries of its own is not repeated here as well.

    Attributes:
        endpoint: What may be shown of it.
        tags: Given to each call, beside those that say in a trace who calls.
    """

    def __init__(
        self,
        model: BaseChatModel,
        *,
        backoff: Backoff | None = None,
        tags: Sequence[str] = (),
        component: str = "model",
        wrap: Callable[[BaseChatModel], BaseChatModel] | None = None,
    ) -> None:
        """Open the door.

        Args:
            model: The model.
            backoff: How failed requests are repeated.
            tags: For each call.
            component: Who asks, as traces call it: `evaluator`, `generator`, `rewriter`.
            wrap: Puts something around the model that is called.
        """
        self._models = PerLoop(model, wrap=wrap)
        self.endpoint = Endpoint.of(model)
        self.tags = tuple(tags)
        span = Span(component=component, name=self.endpoint.model)
        self._config: RunnableConfig = {**span.config, "tags": [*span.tags, *tags]}
        patience = backoff or Backoff()
        own = self.endpoint.own_retries > 0
        self._backoff = dataclasses.replace(patience, attempts=1) if own else patience

    def model(self) -> Plan[BaseChatModel]:
        """Return the chat model, fit for the event loop that asks."""
        model: BaseChatModel = yield _Ready(self._models)
        return model

    def ask(
        self,
        messages: Sequence[BaseMessage],
        *,
        meter: Meter,
        runnable: Runnable[Any, Any] | None = None,
    ) -> Plan[AIMessage]:
        """Return the model's message, whatever it ended with.

        Args:
            messages: The prompt.
            meter: Counts each attempt, asked before it.
            runnable: The model with something bound to it, in place of the model itself. It may
                return a mapping with the message under `raw`.

        Raises:
            EndpointError: The request failed for good.
            BudgetExceededError: The budget forbids an attempt.
        """
        if runnable is None:
            runnable = yield from self.model()
        attempt, stale = 1, 0
        if self.endpoint in _NO_SYSTEM_ROLE:
            messages = _without_system(messages)
        estimate = meter.dispatch(messages)
        while True:
            with Attempt[Any]() as outcome:
                outcome.value = yield Invoke(runnable, messages, self._config)
            if outcome.error is None:
                result: Any = outcome.value
                message: AIMessage = result["raw"] if isinstance(result, dict) else result
                meter.settle(estimate, message)
                return message
            failure = as_model_error(outcome.error, self.endpoint)
            if failure.stale and stale < _MOST_STALE:
                stale += 1
                continue
            self._settle_unread(failure, estimate, meter)
            if _refuses_system(failure, messages):
                _NO_SYSTEM_ROLE.add(self.endpoint)
                messages = _without_system(messages)
                estimate = meter.dispatch(messages)
                continue
            wait = self._backoff.wait(attempt, failure)
            left = meter.seconds_left()
            if wait is None or (left is not None and wait >= left):
                raise failure
            attempt += 1
            yield Pause(wait)
            estimate = meter.dispatch(messages)

    @staticmethod
    def _settle_unread(failure: EndpointError, estimate: int, meter: Meter) -> None:
        """Count the tokens of a reply that was paid for although the client could not read it."""
        usage = getattr(failure.completion, "usage", None)
        if usage is not None:
            meter.settle_tokens(estimate, usage.prompt_tokens, usage.completion_tokens)


def _refuses_system(failure: EndpointError, messages: Sequence[BaseMessage]) -> bool:
    return (
        failure.status is not None
        and messages[0].type == "system"
        and _SYSTEM_REFUSED.search(failure.message) is not None
    )


def _without_system(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return the messages with the system text in front of the first user message."""
    first, *rest = messages
    if first.type != "system" or not rest:
        return list(messages)
    head, *tail = rest
    return [HumanMessage(f"{text_blocks(first.content)}\n\n{text_blocks(head.content)}"), *tail]
