"""Where the queries of a web step come from."""

from collections.abc import Sequence
from typing import Any

from crag_graph.evaluators.base import QueryRewriter, Rewrite
from crag_graph.models.plan import Plan
from crag_graph.nodes.base import budget_of
from crag_graph.nodes.web.effects import Call, Once, Ready
from crag_graph.nodes.web.findings import Findings
from crag_graph.search.queries import sub_queries
from crag_graph.services import Services
from crag_graph.settings import Settings
from crag_graph.state import CRAGState
from crag_graph.text.keywords import keyword_query


def propose(
    services: Services, state: CRAGState, settings: Settings, findings: Findings
) -> Plan[Sequence[str]]:
    """Return the queries that the evaluation left, else the evaluator's rewrite, else keywords.

    An evaluator that could not grade is not asked for a rewrite either.
    """
    if queries := sub_queries(state.get("search_query")):
        return queries
    question = state.get("question", "")
    evaluator = yield Ready(services.evaluator)
    grades = state.get("grades") or []
    failed = bool(grades) and all(grade["status"] == "failed" for grade in grades)
    if failed or not isinstance(evaluator, QueryRewriter):
        return [keyword_query(question)]
    budget = budget_of(state, settings, keep_back=reserved_calls(state, settings))

    def rewrite() -> dict[str, Any]:
        return _plain(evaluator.rewrite(question, settings=settings, budget=budget))

    async def arewrite() -> dict[str, Any]:
        return _plain(await evaluator.arewrite(question, settings=settings, budget=budget))

    # A node that waits for a person begins anew when the run goes on.
    call = Once if settings.approve_searches else Call
    rewritten = yield call(rewrite, arewrite)
    findings.spend(rewritten["usage"])
    findings.fallbacks += rewritten["notes"]
    return sub_queries(rewritten["queries"]) or [keyword_query(question)]


def private(queries: Sequence[str], services: Services, settings: Settings) -> list[str]:
    """Return `queries` as they may leave the machine: redacted, unless the run does without."""
    if not settings.redact_queries:
        return list(queries)
    return [redacted for query in queries if (redacted := services.redact_query(query).strip())]


def reserved_calls(state: CRAGState, settings: Settings) -> int:
    """Return the model calls that are not this node's: the answer, and refine beside it."""
    beside = state.get("action") == "ambiguous" and settings.evaluation_mode == "staged"
    return 2 if beside else 1


def _plain(rewrite: Rewrite) -> dict[str, Any]:
    return {
        "queries": list(rewrite.queries),
        "usage": dict(rewrite.usage),
        "notes": list(rewrite.notes),
    }
