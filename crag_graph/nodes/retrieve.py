"""retrieve: check the question, begin a new run on the state, find passages."""

import asyncio
import uuid
from collections.abc import Sequence

from langchain_core.documents import Document

from crag_graph.budget import Budget
from crag_graph.errors import CRAGError
from crag_graph.nodes.base import Node, Update, budget_of, emit
from crag_graph.nodes.reranking import Ranking, arerank, rerank, widened
from crag_graph.retrieval.retriever import Retriever
from crag_graph.settings import Settings
from crag_graph.state import CRAGState, NodeUsage, as_documents
from crag_graph.text.clean import clean_question
from crag_graph.text.strips import deduplicate_documents
from crag_graph.tracing.spans import Span, atraced, traced
from crag_graph.wording import counted

# What an earlier question on the thread may have left; nothing of it may answer this one.
_PER_RUN: Update = {
    "grades": [],
    "strips": [],
    "action": None,
    "search_query": "",
    "web_documents": [],
    "answer": "",
    "status": None,
    "citations": [],
    "warnings": [],
    "reranked": None,
}


class RetrieveNode(Node):
    """Finds passages, and resets every key of the state that belongs to a run.

    A store that cannot be reached right now leaves the run without passages of its own and says so;
    one that is misconfigured, locked, damaged or missing ends the run with its typed error, since
    a web search would only hide that.

    With `rerank_from` so many candidates are found and scored, and the best `top_k` stay.
    """

    key = "retrieve"

    def run(self, state: CRAGState, settings: Settings) -> Update:
        """Return the passages and a fresh run."""
        question = self._question(state, settings)
        budget = _budget(settings)
        try:
            retriever = self.services.retriever.get()
            found = traced(
                _call(retriever, question, settings),
                lambda: retriever.retrieve(
                    question, settings=widened(settings), where=state.get("filter")
                ),
            )
            empty = not found and retriever.is_empty()
        except CRAGError as error:
            return self._unavailable(state, question, error)
        documents = _sound(found)
        ranking = None
        if budget is not None and len(documents) > 1:
            ranking = rerank(self.services, question, documents, settings=settings, budget=budget)
        return self._found(state, question, found, documents, ranking, empty=empty)

    async def arun(self, state: CRAGState, settings: Settings) -> Update:
        """Return the passages and a fresh run."""
        question = self._question(state, settings)
        budget = _budget(settings)
        try:
            retriever = await self.services.retriever.aget()
            found = await atraced(
                _call(retriever, question, settings),
                lambda: retriever.aretrieve(
                    question, settings=widened(settings), where=state.get("filter")
                ),
            )
            empty = not found and await asyncio.to_thread(retriever.is_empty)
        except CRAGError as error:
            return self._unavailable(state, question, error)
        documents = _sound(found)
        ranking = None
        if budget is not None and len(documents) > 1:
            ranking = await arerank(
                self.services, question, documents, settings=settings, budget=budget
            )
        return self._found(state, question, found, documents, ranking, empty=empty)

    def run_id(self, state: CRAGState) -> str:
        """Return the id of the run that begins here: always a new one."""
        del state
        return uuid.uuid4().hex

    def _question(self, state: CRAGState, settings: Settings) -> str:
        question = clean_question(state.get("question"))
        self.services.thresholds(settings)  # impossible ones are refused before anything is spent
        return question

    def _found(
        self,
        state: CRAGState,
        question: str,
        found: list[Document],
        documents: list[Document],
        ranking: Ranking | None,
        *,
        empty: bool,
    ) -> Update:
        why = f"{counted(len(found), 'passage')} retrieved"
        if dropped := len(found) - len(documents):
            why += f", {dropped} of them blank or a duplicate of a better one"
        if ranking is not None:
            documents = ranking.documents
            why += f"; {ranking.why}"
        emit("retrieved", passages=len(documents))
        warnings = ["the collection is empty: index documents with `crag ingest`"] if empty else []
        return self._begin(
            state,
            question,
            documents,
            decided="empty collection" if empty else counted(len(documents), "passage"),
            why="nothing has been indexed yet" if empty else why,
            warnings=warnings,
            ranking=ranking,
        )

    def _unavailable(self, state: CRAGState, question: str, error: CRAGError) -> Update:
        if not error.transient:
            raise error
        return self._begin(
            state,
            question,
            [],
            decided="unavailable",
            why=error.message,
            failures=[f"retrieval: {error.message}"],
            fallbacks=["the corpus could not be searched; only the web can answer"],
            warnings=[f"local search is unavailable: {error.message}"],
        )

    def _begin(
        self,
        state: CRAGState,
        question: str,
        documents: list[Document],
        *,
        decided: str,
        why: str,
        failures: Sequence[str] = (),
        fallbacks: Sequence[str] = (),
        warnings: Sequence[str] = (),
        ranking: Ranking | None = None,
    ) -> Update:
        scored = None
        usage: NodeUsage = {}
        if ranking is not None:
            scored, usage = ranking.scored, ranking.usage
            fallbacks = [*fallbacks, *ranking.fallbacks]
            if ranking.error is not None:
                failures = [*failures, f"reranking: {ranking.error.message}"]
                warnings = [*warnings, f"not reranked: {ranking.error.message}"]
        update = self.report(
            {"usage": {"run_id": self.run_id(state)}},
            decided=decided,
            why=why,
            usage=usage,
            fallbacks=fallbacks,
            failures=failures,
            warnings=warnings,
        )
        if question != state.get("question"):
            update["question"] = question
        update |= cleared(state) | {"documents": documents}
        return update | ({} if scored is None else {"reranked": scored})


def cleared(state: CRAGState) -> Update:
    """Return the update that takes an earlier run's results out of `state`, documents aside."""
    return {key: empty for key, empty in _PER_RUN.items() if state.get(key)}


def _budget(settings: Settings) -> Budget | None:
    """Return the ledger of reranking, where there is any.

    A run begins here: what the last one on the thread spent is not its own.
    """
    return budget_of({}, settings) if settings.rerank_from else None


def _sound(found: list[Document]) -> list[Document]:
    """Return what was found without blank passages and repetitions."""
    filled = [document for document in found if document.page_content.strip()]
    # Plain before they are written: a checkpointer sees this, not what a reducer makes of it.
    return as_documents(None, deduplicate_documents(filled))


def _call(retriever: Retriever, question: str, settings: Settings) -> Span | None:
    """Return what the run of the retriever is called; None for one that LangChain traces."""
    if getattr(retriever, "traces_itself", False):
        return None
    about = {"top_k": widened(settings).top_k, "retrieval_mode": settings.retrieval_mode}
    name = retriever.name or type(retriever).__name__
    return Span(component="retriever", name=name, query=question, metadata=about)
