"""What every node has in common: both entries, the run's settings, usage and the event stream."""

import time
import uuid
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.config import get_stream_writer
from langgraph.runtime import get_runtime

from crag_graph.budget import Budget
from crag_graph.services import Services
from crag_graph.settings import Settings
from crag_graph.state import CRAGState, NodeUsage, Stage

Update = dict[str, Any]

_OUTSIDE = (RuntimeError, KeyError)  # of a graph, where a node is called by itself
_FIRST = "retrieve"  # the node with which a run begins


class Node(Runnable[CRAGState, Update]):
    """A node of the graph, with a synchronous and an asynchronous entry that give the same result.

    A subclass sets `key` and implements `run` and `arun`; both take the state, in which any key may
    be missing, and the settings of the run.
    """

    key: ClassVar[str]

    def __init__(self, services: Services) -> None:
        self.services = services
        self.name = self.key

    @abstractmethod
    def run(self, state: CRAGState, settings: Settings) -> Update:
        """Return the update of the state."""

    @abstractmethod
    async def arun(self, state: CRAGState, settings: Settings) -> Update:
        """Return the update of the state."""

    def invoke(
        self, input: CRAGState, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Update:
        """Return the update of the state, with what the node took in `usage`."""
        del config, kwargs  # the run's context reaches a node through the runtime
        started = time.perf_counter()
        settings = _settings()
        self.services.prepare(settings, anew=self.key == _FIRST)
        return self._timed(self.run(input, settings), input, started)

    async def ainvoke(
        self, input: CRAGState, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Update:
        """Return the update of the state, with what the node took in `usage`."""
        del config, kwargs  # the run's context reaches a node through the runtime
        started = time.perf_counter()
        settings = _settings()
        await self.services.aprepare(settings, anew=self.key == _FIRST)
        return self._timed(await self.arun(input, settings), input, started)

    def report(
        self,
        state: CRAGState,
        *,
        decided: str,
        why: str,
        usage: NodeUsage | None = None,
        fallbacks: Sequence[str] = (),
        failures: Sequence[str] = (),
        warnings: Sequence[str] = (),
    ) -> Update:
        """Return the node's part of the decision card and of the usage."""
        run_id = run_id_of(state)
        card: Stage = {"decided": decided, "why": why}
        if fallbacks:
            card["fallbacks"] = [*fallbacks]
        if failures:
            card["failures"] = [*failures]
        if warnings:
            card["warnings"] = [*warnings]
        return {
            "decision": {"run_id": run_id, "stages": {self.key: card}},
            "usage": {"run_id": run_id, "nodes": {self.key: usage or {}}},
        }

    def _timed(self, update: Update, state: CRAGState, started: float) -> Update:
        if "usage" not in update:
            update["usage"] = {"run_id": run_id_of(state), "nodes": {self.key: {}}}
        update["usage"]["nodes"][self.key]["seconds"] = round(time.perf_counter() - started, 6)
        self.finished(state, update)
        return update

    def finished(self, state: CRAGState, update: Update) -> None:
        """Look at what the node did, its seconds included; for logs."""


def run_id_of(state: CRAGState) -> str:
    """Return the id of the run that `state` belongs to, made up where it has none yet."""
    return state.get("usage", {}).get("run_id") or uuid.uuid4().hex


def question_of(state: CRAGState) -> str:
    """Return the question of the run; empty where a node is called without one."""
    return state.get("question", "")


def budget_of(state: CRAGState, settings: Settings, *, keep_back: int = 0) -> Budget:
    """Return the ledger of the run, with what its earlier nodes spent already in it.

    Args:
        state: Its usage says what was spent. Seconds are those of the nodes: the time that a person
            takes over an interrupt does not count.
        settings: The limits.
        keep_back: Model calls that are not this node's to spend: the answer's, and that of a node
            that runs at the same moment.
    """
    usage = state.get("usage", {})
    calls = settings.max_llm_calls
    return Budget(
        max_llm_calls=None if calls is None else max(0, calls - keep_back),
        max_tokens=settings.max_tokens,
        max_seconds=settings.max_seconds,
        max_searches=settings.max_searches,
        llm_calls=usage.get("llm_calls", 0),
        tokens=usage.get("input_tokens", 0) + usage.get("output_tokens", 0),
        searches=usage.get("web_searches", 0),
        started=time.monotonic() - usage.get("seconds", 0.0),
    )


def spent(state: CRAGState, budget: Budget) -> NodeUsage:
    """Return what went through `budget` in this node: for calls that were paid and then failed."""
    usage = state.get("usage", {})
    tokens = budget.tokens - usage.get("input_tokens", 0) - usage.get("output_tokens", 0)
    return {"llm_calls": budget.llm_calls - usage.get("llm_calls", 0), "input_tokens": tokens}


def emit(event: str, **data: Any) -> None:
    """Send a custom event to whoever streams the run; outside of a graph nobody does."""
    try:
        writer = get_stream_writer()
    except _OUTSIDE:
        return
    writer({"event": event, **data})


def _settings() -> Settings:
    try:
        context = get_runtime().context
    except _OUTSIDE:
        context = None
    return Settings.of(context)
