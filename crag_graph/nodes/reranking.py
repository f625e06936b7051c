"""Reranking: a longer fused list is scored once, the best stay, and their scores are kept."""

import dataclasses
from collections.abc import Sequence
from typing import Self

from langchain_core.documents import Document

from crag_graph.budget import Budget
from crag_graph.errors import BudgetExceededError, CRAGError, ModelError
from crag_graph.evaluators.base import Evaluation, Passage, asks_model
from crag_graph.evaluators.grading import align_grades, as_passages
from crag_graph.nodes.base import spent
from crag_graph.nodes.reranked import scored_now
from crag_graph.services import Services
from crag_graph.settings import Settings
from crag_graph.state import Grade, NodeUsage, Reranked
from crag_graph.verdict import known_score

_MOST_RANKS = 10


def widened(settings: Settings) -> Settings:
    """Return the settings that retrieve as many candidates as are to be reranked."""
    if not settings.rerank_from:
        return settings
    return settings.model_copy(update={"top_k": settings.rerank_from})


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ranking:
    """The passages that stay, and what is to be said of how they were chosen.

    Attributes:
        documents: Best first, at most `top_k`.
        scored: What the reranker said of them; None where it failed.
        why: One clause for the decision card.
        usage: What reranking took.
        error: Why it failed, if it did.
        fallbacks: Sentences for the decision card.
    """

    documents: list[Document]
    scored: Reranked | None = None
    why: str
    usage: NodeUsage
    error: CRAGError | None = None
    fallbacks: Sequence[str] = ()

    @classmethod
    def of(
        cls,
        question: str,
        documents: Sequence[Document],
        passages: Sequence[Passage],
        evaluation: Evaluation,
        *,
        reranker: str,
        top_k: int,
    ) -> Self:
        """Return the `top_k` best of the candidates, which come in the fused order."""
        grades = align_grades(passages, evaluation, evaluator=reranker)
        places = order([known_score(grade) for grade in grades])[:top_k]
        unknown = sum(known_score(grade) is None for grade in grades)
        return cls(
            documents=[_ranked(documents[place], place, grades[place]) for place in places],
            scored=scored_now(
                question,
                [passages[place] for place in places],
                [grades[place] for place in places],
                evaluation,
                evaluator=reranker,
            ),
            why=_moves(places, candidates=len(documents), reranker=reranker),
            usage={**evaluation.usage, "evaluator_calls": 1},
            fallbacks=[
                *evaluation.notes,
                *[f"{unknown} of {len(grades)} candidates could not be scored and keep their rank"]
                * bool(unknown),
            ],
        )

    @classmethod
    def failed(
        cls,
        documents: Sequence[Document],
        error: CRAGError,
        *,
        reranker: str,
        top_k: int,
        usage: NodeUsage,
    ) -> Self:
        """Return the fused order as it is, cut at `top_k`."""
        return cls(
            documents=list(documents[:top_k]),
            why=f"not reranked: {error.message}",
            usage={**usage, "evaluator_calls": 1},
            error=error,
            fallbacks=[f"{reranker} could not rerank, so the fused order stands"],
        )


def rerank(
    services: Services,
    question: str,
    documents: Sequence[Document],
    *,
    settings: Settings,
    budget: Budget,
) -> Ranking:
    """Return the best `top_k` of the candidates, which come in the fused order, by their scores.

    The configured evaluator scores them, unless it asks a language model, since so many passages
    would cost more than they gain: the local evaluator then stands in for it. Where scoring fails
    the fused order stands.
    """
    evaluator = services.evaluator.get()
    reranker = services.local_evaluator.get() if asks_model(evaluator) else evaluator
    passages = as_passages(documents, origin="internal")
    name, top_k = reranker.name, settings.top_k
    try:
        evaluation = reranker.evaluate(question, passages, settings=settings, budget=budget)
    except (ModelError, BudgetExceededError) as error:
        usage = spent({}, budget)
        return Ranking.failed(documents, error, reranker=name, top_k=top_k, usage=usage)
    return Ranking.of(question, documents, passages, evaluation, reranker=name, top_k=top_k)


async def arerank(
    services: Services,
    question: str,
    documents: Sequence[Document],
    *,
    settings: Settings,
    budget: Budget,
) -> Ranking:
    """Return what `rerank` does."""
    evaluator = await services.evaluator.aget()
    reranker = await services.local_evaluator.aget() if asks_model(evaluator) else evaluator
    passages = as_passages(documents, origin="internal")
    name, top_k = reranker.name, settings.top_k
    try:
        evaluation = await reranker.aevaluate(question, passages, settings=settings, budget=budget)
    except (ModelError, BudgetExceededError) as error:
        usage = spent({}, budget)
        return Ranking.failed(documents, error, reranker=name, top_k=top_k, usage=usage)
    return Ranking.of(question, documents, passages, evaluation, reranker=name, top_k=top_k)


def order(scores: Sequence[float | None]) -> list[int]:
    """Return the places of the candidates, best first; equal ones keep their order.

    A candidate without a score keeps its place: that it is unknown is no reason to drop it.
    """
    known = [place for place, score in enumerate(scores) if score is not None]
    best_first = iter(sorted(known, key=lambda place: -(scores[place] or 0.0)))
    return [place if score is None else next(best_first) for place, score in enumerate(scores)]


def _ranked(document: Document, place: int, grade: Grade) -> Document:
    """Return the document with its rank before and its score beside what retrieval says of it."""
    retrieval = document.metadata.get("retrieval", {})
    if not isinstance(retrieval, dict):  # a foreign document's own
        return document
    ranked = {**retrieval, "fused_rank": place + 1, "rerank_score": grade["score"]}
    metadata = {**document.metadata, "retrieval": ranked}
    return Document(id=document.id, page_content=document.page_content, metadata=metadata)


def _moves(places: Sequence[int], *, candidates: int, reranker: str) -> str:
    shown = ", ".join(str(place + 1) for place in places[:_MOST_RANKS])
    more = ", …" if len(places) > _MOST_RANKS else ""
    risen = sum(place >= len(places) for place in places)
    beyond = f", {risen} from beyond rank {len(places)}" if risen else ""
    return f"reranked by {reranker}, of {candidates} kept the fused ranks {shown}{more}{beyond}"
