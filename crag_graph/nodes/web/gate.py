"""The second gate: web results are judged before anything is made of them."""

from collections.abc import Sequence
from typing import Any

from crag_graph.budget import Budget
from crag_graph.errors import BudgetExceededError, ModelError
from crag_graph.evaluators.base import Evaluation, Passage, RetrievalEvaluator, asks_model
from crag_graph.models.plan import Plan
from crag_graph.nodes.base import budget_of
from crag_graph.nodes.web.effects import Call, Ready
from crag_graph.nodes.web.findings import Findings
from crag_graph.nodes.web.queries import reserved_calls
from crag_graph.services import Services
from crag_graph.settings import Settings
from crag_graph.state import CRAGState


def judge(
    services: Services,
    state: CRAGState,
    settings: Settings,
    passages: Sequence[Passage],
    findings: Findings,
) -> Plan[str]:
    """Return the query that the gate suggests for a further search; empty where it suggests none.

    The run's own evaluator judges where it asks no language model, or with `web_gate` `llm`; the
    local one otherwise, and where that cannot. What nobody could judge is not used.
    """
    if not passages:
        return ""
    gates = [services.local_evaluator]
    own: RetrievalEvaluator = yield Ready(services.evaluator)
    if settings.web_gate == "llm" or not asks_model(own):
        gates.insert(0, services.evaluator)
    for lazy in gates:
        gate: RetrievalEvaluator = yield Ready(lazy)
        budget = budget_of(state, settings, keep_back=reserved_calls(state, settings))
        budget.llm_calls += findings.usage.get("llm_calls", 0)
        before = budget.llm_calls, budget.tokens
        try:
            evaluation: Evaluation = yield _evaluation(gate, state, settings, passages, budget)
        except (ModelError, BudgetExceededError) as error:
            findings.failures.append(f"web gate: {error.message}")
            calls, tokens = budget.llm_calls - before[0], budget.tokens - before[1]
            findings.spend({"llm_calls": calls, "input_tokens": tokens})
            continue
        findings.judged(passages, evaluation, gate=gate.name)
        return evaluation.search_query
    findings.warnings.append("web results could not be judged, so none of them is used")
    return ""


def _evaluation(
    gate: RetrievalEvaluator,
    state: CRAGState,
    settings: Settings,
    passages: Sequence[Passage],
    budget: Budget,
) -> Call:
    options: dict[str, Any] = {"settings": settings, "budget": budget}
    return Call(
        lambda: gate.evaluate(state.get("question", ""), passages, **options),
        lambda: gate.aevaluate(state.get("question", ""), passages, **options),
    )
