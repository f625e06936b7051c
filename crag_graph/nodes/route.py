"""route: turn the grades into one of the three actions, and say why."""

import asyncio
from typing import Any, Literal

from langchain_core.runnables import Runnable, RunnableConfig
from typing_extensions import TypedDict

from crag_graph.evaluators.fingerprint import fingerprint_of
from crag_graph.nodes.base import Node, Update, emit
from crag_graph.settings import Settings, Thresholds
from crag_graph.state import Action, CRAGState
from crag_graph.verdict import decide


class RouteNode(Node):
    """Decides between correct, ambiguous and incorrect. It calls nobody.

    Thresholds that were calibrated on another evaluator's scores are used, with a warning.
    """

    key = "route"

    def run(self, state: CRAGState, settings: Settings) -> Update:
        """Return the action with its decision card."""
        thresholds = self.services.thresholds(settings)
        return self._routed(state, settings, thresholds, self._foreign(state, settings, thresholds))

    async def arun(self, state: CRAGState, settings: Settings) -> Update:
        """Return the action with its decision card."""
        thresholds = self.services.thresholds(settings)
        foreign = ""
        if thresholds.evaluator:  # looking may read the file of a prompt
            foreign = await asyncio.to_thread(self._foreign, state, settings, thresholds)
        return self._routed(state, settings, thresholds, foreign)

    def _routed(
        self, state: CRAGState, settings: Settings, thresholds: Thresholds, foreign: str
    ) -> Update:
        grades = state.get("grades") or []
        verdict = decide(grades, thresholds, outage_policy=settings.outage_policy)
        emit("routed", action=verdict.action, score=verdict.score, reason=verdict.reason)
        update = self.report(
            state,
            decided=verdict.action,
            why=verdict.reason,
            fallbacks=[f"outage policy: {settings.outage_policy}"] * (verdict.grading == "failed"),
            warnings=[foreign] * bool(foreign),
        )
        update["decision"] |= {
            "action": verdict.action,
            "reason": verdict.reason,
            "score": verdict.score,
            "margin": verdict.margin,
            "grading": verdict.grading,
            "aggregate": thresholds.aggregate,
            "upper": thresholds.upper,
            "lower": thresholds.lower,
            "profile": thresholds.profile,
            "provenance": thresholds.provenance,
        }
        return update | {"action": verdict.action}

    def _foreign(self, state: CRAGState, settings: Settings, thresholds: Thresholds) -> str:
        """Return the warning that the thresholds are those of other scores; empty when not."""
        decision = state.get("decision") or {}
        graded_by = decision.get("evaluator", "")
        if not thresholds.evaluator or not graded_by:
            return ""
        again = f"calibrate again with `crag calibrate`, since thresholds of {thresholds.evaluator}"
        if graded_by != thresholds.evaluator:
            return (
                f"profile {thresholds.profile} was calibrated with the evaluator "
                f"{thresholds.evaluator}, but {graded_by} graded this run: {again} do not carry "
                f"over to {graded_by}"
            )
        for each in (self.services.evaluator, self.services.local_evaluator):
            evaluator = each.get() if each.ready else None
            if evaluator is None or evaluator.name != graded_by:
                continue
            if thresholds.fingerprint in ("", fingerprint_of(evaluator, settings)):
                return ""
            return (
                f"profile {thresholds.profile} was calibrated with another model, fit, prompt or "
                f"mode of the evaluator {graded_by} than graded this run: {again} may not carry "
                "over to it"
            )
        return ""


class Routed(TypedDict, total=False):
    """What the way on depends on. Narrow, since LangGraph reduces what an edge reads once more."""

    action: Action | None


NextNodes = list[Literal["refine", "web_search"]]


def next_nodes(state: Routed) -> NextNodes:
    """Return the nodes that the action leads to; both at once when it is ambiguous."""
    action = state.get("action")
    if action == "correct":
        return ["refine"]
    if action == "incorrect":
        return ["web_search"]
    return ["refine", "web_search"]


class RouteEdge(Runnable[Routed, NextNodes]):
    """`next_nodes` for LangGraph, which would make a run of its own of every call of a function.

    A tenth of what an empty graph costs a question went into that, and the card says it anyway.
    """

    def __init__(self) -> None:
        self.name = "next_nodes"
        # LangGraph tells by its annotations what an edge reads; without, it reads the whole state.
        self.__annotations__ = {"state": Routed}

    def __call__(self, state: Routed) -> NextNodes:
        """Return the nodes that the action leads to."""
        return next_nodes(state)

    def invoke(self, input: Routed, config: RunnableConfig | None = None, **_: Any) -> NextNodes:
        """Return the nodes that the action leads to."""
        del config
        return next_nodes(input)

    async def ainvoke(
        self, input: Routed, config: RunnableConfig | None = None, **_: Any
    ) -> NextNodes:
        """Return the nodes that the action leads to."""
        del config
        return next_nodes(input)
