"""route: turn the grades into one of the three actions, and say why."""

from typing import Literal

from crag_graph.nodes.base import Node, Update, emit
from crag_graph.settings import Settings
from crag_graph.state import CRAGState
from crag_graph.verdict import decide


class RouteNode(Node):
    """Decides between correct, ambiguous and incorrect. Pure: it calls nobody."""

    key = "route"

    def run(self, state: CRAGState, settings: Settings) -> Update:
        """Return the action with its decision card."""
        thresholds = self.services.thresholds(settings)
        grades = state.get("grades") or []
        verdict = decide(grades, thresholds, outage_policy=settings.outage_policy)
        emit("routed", action=verdict.action, score=verdict.score, reason=verdict.reason)
        update = self.report(
            state,
            decided=verdict.action,
            why=verdict.reason,
            fallbacks=[f"outage policy: {settings.outage_policy}"] * (verdict.grading == "failed"),
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

    async def arun(self, state: CRAGState, settings: Settings) -> Update:
        """Return the action with its decision card."""
        return self.run(state, settings)


def next_nodes(state: CRAGState) -> list[Literal["refine", "web_search"]]:
    """Return the nodes that the action leads to; both at once when it is ambiguous."""
    action = state.get("action")
    if action == "correct":
        return ["refine"]
    if action == "incorrect":
        return ["web_search"]
    return ["refine", "web_search"]
