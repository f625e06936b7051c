"""web_search: look outside the corpus, and judge what comes back by the same standard."""

import time
from collections.abc import Sequence
from typing import Any

from langchain_core.documents import Document

from crag_graph.errors import BudgetExceededError
from crag_graph.evaluators.grading import as_passages
from crag_graph.models.plan import Plan, arun, run
from crag_graph.nodes.base import Node, Update, budget_of, emit
from crag_graph.nodes.web.approval import approved, can_ask
from crag_graph.nodes.web.effects import Ready, Searches
from crag_graph.nodes.web.findings import Findings
from crag_graph.nodes.web.gate import judge
from crag_graph.nodes.web.queries import private, propose
from crag_graph.search.base import SearchFilters, SearchResult, WebSearch, filtering
from crag_graph.search.deadline import remaining
from crag_graph.search.queries import another_query, fitted, sub_queries
from crag_graph.search.rank import merge, order
from crag_graph.settings import Settings
from crag_graph.state import CRAGState
from crag_graph.text.timely import is_time_sensitive
from crag_graph.wording import counted

_LEAST_SECONDS = 0.5  # with less left, no further search is begun
_HINT = ": set CRAG_WEB_SEARCH or TAVILY_API_KEY to search the web"


class WebSearchNode(Node):
    """Searches the web, and keeps the strips that hold up: the second gate.

    Where nothing holds up and `max_searches` allows it, one search at a time follows with another
    query. A search that fails, times out or passes the budget leaves the run with the evidence that
    it has, and says so. Without a provider nothing leaves the machine.
    """

    key = "web_search"

    def run(self, state: CRAGState, settings: Settings) -> Update:
        """Return the web documents and their strips, each marked as kept or not."""
        return run(self._steps(state, settings))

    async def arun(self, state: CRAGState, settings: Settings) -> Update:
        """Return the web documents and their strips, each marked as kept or not."""
        return await arun(self._steps(state, settings))

    def _steps(self, state: CRAGState, settings: Settings) -> Plan[Update]:
        findings = Findings()
        web: WebSearch | None = yield Ready(self.services.web)
        if web is None:
            return self._off(state, findings, "no provider is configured", hint=_HINT)
        if not settings.web_search:
            return self._off(state, findings, "switched off for this run")
        most = settings.max_searches - state.get("usage", {}).get("web_searches", 0)
        if most < 1:
            return self._off(state, findings, f"max_searches is {settings.max_searches}")
        if settings.approve_searches and not can_ask():
            why = "approve_searches needs a checkpointer and a thread"
            return self._off(state, findings, why, hint=f": {why}")
        proposed = yield from propose(self.services, state, settings, findings)
        queries = fitted(private(proposed, self.services, settings), most)
        if queries and settings.approve_searches:
            agreed = approved(state.get("question", ""), queries, provider=web.name)
            if agreed is None:
                return self._off(state, findings, "a person refused the search")
            queries = fitted(private(sub_queries(agreed), self.services, settings), most)
        if not queries:
            why = "nothing is left of the query once it is redacted"
            return self._off(state, findings, why, hint=f": {why}")
        yield from self._searched(state, settings, web, queries, findings)
        return self._report(state, settings, web, findings)

    def _searched(
        self,
        state: CRAGState,
        settings: Settings,
        web: WebSearch,
        queries: Sequence[str],
        findings: Findings,
    ) -> Plan[None]:
        """Search and judge, and again with another query while nothing holds up."""
        ledger = budget_of(state, settings)
        deadline = time.monotonic() + settings.web_seconds
        thresholds = self.services.thresholds(settings)
        while queries:
            try:
                ledger.spend(searches=len(queries))
            except BudgetExceededError as error:
                findings.stopped(error)
                return
            emit("searching", query="\n".join(queries))
            outcomes = yield Searches(
                web=web,
                queries=queries,
                options=_options(settings),
                seconds=remaining(deadline),
            )
            results = findings.searched(queries, outcomes)
            if not results:
                return  # another query would not mend what failed
            found = findings.found(self._ordered(state, settings, results))
            passages = as_passages(found, origin="web")
            suggested = yield from judge(self.services, state, settings, passages, findings)
            if any(strip["kept"] for strip in findings.selected(settings, thresholds)):
                return
            # With a person's approval, nothing is sent that nobody saw.
            spent = ledger.searches >= settings.max_searches or settings.approve_searches
            if spent or remaining(deadline) < _LEAST_SECONDS:
                return
            further = another_query(state.get("question", ""), findings.queries, suggested)
            queries = private([further] if further else [], self.services, settings)

    def _ordered(
        self, state: CRAGState, settings: Settings, results: Sequence[SearchResult]
    ) -> list[Document]:
        today = self.services.today()
        recent = settings.prefer_recent
        if recent is None:
            recent = is_time_sensitive(state.get("question", ""), today=today)
        return order(
            merge(results), today=today, wikipedia=settings.prefer_wikipedia, recent=recent
        )

    def _off(self, state: CRAGState, findings: Findings, why: str, *, hint: str = "") -> Update:
        return self.report(
            state,
            decided="off",
            why=why,
            usage=findings.usage,
            fallbacks=findings.fallbacks,
            warnings=[f"web search is off{hint}"],
        )

    def _report(
        self, state: CRAGState, settings: Settings, web: WebSearch, findings: Findings
    ) -> Update:
        strips = findings.selected(settings, self.services.thresholds(settings))
        kept = sum(strip["kept"] for strip in strips)
        decided = f"kept {kept} of {counted(len(strips), 'strip')}"
        why = findings.summary(web.name)
        fallbacks = list(findings.fallbacks)
        if not findings.answered or (findings.documents and not findings.grades):
            decided = "failed"
            why = "; ".join(failure.partition(": ")[2] for failure in findings.failures)
            fallbacks.append("went on with what the corpus holds")
        update = self.report(
            state,
            decided=decided,
            why=why,
            usage=findings.usage,
            fallbacks=fallbacks,
            failures=findings.failures,
            warnings=findings.warnings,
        )
        update |= {
            "search_query": "\n".join(findings.queries),
            "web_documents": findings.documents,
        }
        return update | ({"strips": strips} if strips else {})


def _options(settings: Settings) -> dict[str, Any]:
    """Return what a search is called with; filters only where the run has any."""
    filters = SearchFilters(
        topic=settings.topic,
        time_range=settings.time_range,
        include_domains=settings.include_domains,
        exclude_domains=settings.exclude_domains,
    )
    return {"max_results": settings.max_results, **filtering(filters)}
