"""web_search: look outside the corpus, and judge what comes back by the same standard."""

from collections.abc import Sequence

from langchain_core.documents import Document

from crag_graph.errors import BudgetExceededError, CRAGError, ModelError, SearchError
from crag_graph.evaluators.base import Evaluation, Passage
from crag_graph.evaluators.grading import align_grades, as_passages, scored_strips
from crag_graph.nodes.base import Node, Update, budget_of, emit
from crag_graph.search.base import WebSearch
from crag_graph.settings import Settings
from crag_graph.state import CRAGState, NodeUsage, as_documents
from crag_graph.text.keywords import keyword_query
from crag_graph.text.strips import deduplicate, select


class WebSearchNode(Node):
    """Searches the web once, and keeps the strips that clear the floor: the second gate.

    A search that fails, times out or passes the budget leaves the run with the evidence that it
    has, and says so. Without a provider nothing leaves the machine.
    """

    key = "web_search"

    def run(self, state: CRAGState, settings: Settings) -> Update:
        """Return the web documents and their strips, each marked as kept or not."""
        web = self.services.web.get()
        if web is None or not settings.web_search:
            return self._off(state, configured=web is not None)
        query = self._query(state)
        try:
            budget_of(state, settings).spend(searches=1)
            found = web.search(
                query, max_results=settings.max_results, seconds=settings.web_seconds
            )
        except (SearchError, BudgetExceededError) as error:
            return self._failed(state, query, error)
        documents, passages = self._passages(found)
        if not passages:
            return self._kept(state, settings, query, web, documents, passages, None)
        try:
            gate = self.services.local_evaluator.get()
            evaluation = gate.evaluate(
                state["question"], passages, settings=settings, budget=budget_of(state, settings)
            )
        except ModelError as error:
            return self._failed(state, query, error, usage={"web_searches": 1})
        return self._kept(state, settings, query, web, documents, passages, evaluation)

    async def arun(self, state: CRAGState, settings: Settings) -> Update:
        """Return the web documents and their strips, each marked as kept or not."""
        web = await self.services.web.aget()
        if web is None or not settings.web_search:
            return self._off(state, configured=web is not None)
        query = self._query(state)
        try:
            budget_of(state, settings).spend(searches=1)
            found = await web.asearch(
                query, max_results=settings.max_results, seconds=settings.web_seconds
            )
        except (SearchError, BudgetExceededError) as error:
            return self._failed(state, query, error)
        documents, passages = self._passages(found)
        if not passages:
            return self._kept(state, settings, query, web, documents, passages, None)
        try:
            gate = await self.services.local_evaluator.aget()
            evaluation = await gate.aevaluate(
                state["question"], passages, settings=settings, budget=budget_of(state, settings)
            )
        except ModelError as error:
            return self._failed(state, query, error, usage={"web_searches": 1})
        return self._kept(state, settings, query, web, documents, passages, evaluation)

    @staticmethod
    def _query(state: CRAGState) -> str:
        query = state.get("search_query") or keyword_query(state["question"])
        emit("searching", query=query)
        return query

    @staticmethod
    def _passages(found: Sequence[Document]) -> tuple[list[Document], list[Passage]]:
        filled = [document for document in found if document.page_content.strip()]
        documents = as_documents(None, filled)
        return documents, as_passages(documents, origin="web")

    def _off(self, state: CRAGState, *, configured: bool) -> Update:
        why = "switched off for this run" if configured else "no provider is configured"
        hint = "" if configured else ": set CRAG_WEB_SEARCH or TAVILY_API_KEY to search the web"
        return self.report(state, decided="off", why=why, warnings=[f"web search is off{hint}"])

    def _failed(
        self, state: CRAGState, query: str, error: CRAGError, usage: NodeUsage | None = None
    ) -> Update:
        spent = usage or {"web_searches": 0 if isinstance(error, BudgetExceededError) else 1}
        update = self.report(
            state,
            decided="failed",
            why=error.message,
            usage=spent,
            failures=[f"web search: {error.message}"],
            fallbacks=["went on with what the corpus holds"],
            warnings=[f"web search failed: {error.message}"],
        )
        return update | {"search_query": query}

    def _kept(
        self,
        state: CRAGState,
        settings: Settings,
        query: str,
        web: WebSearch,
        documents: list[Document],
        passages: Sequence[Passage],
        evaluation: Evaluation | None,
    ) -> Update:
        usage: NodeUsage = {"web_searches": 1}
        best = None
        strips = []
        if evaluation is not None:
            usage = {**evaluation.usage, "evaluator_calls": 1, "web_searches": 1}
            grades = align_grades(passages, evaluation, evaluator="web gate")
            best = max((grade["score"] or 0.0 for grade in grades), default=None)
            strips = deduplicate(
                select(
                    scored_strips(passages, evaluation.strip_scores),
                    floor=settings.strip_floor,
                    top_k=settings.strip_top_k,
                    distinct=True,
                )
            )
        kept = sum(strip["kept"] for strip in strips)
        seen = f"{len(documents)} results from {web.name}"
        why = seen if best is None else f"{seen}, the best of them {best:.2f}"
        update = self.report(state, decided=f"kept {kept} strips", why=why, usage=usage)
        update |= {"search_query": query, "web_documents": documents}
        return update | ({"strips": strips} if strips else {})
