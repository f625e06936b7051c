"""The cache for evaluators that also judge strips and write queries in steps of their own."""

import asyncio
import dataclasses
from collections.abc import Sequence
from typing import Any

from crag_graph.budget import Budget
from crag_graph.evaluators.base import Evaluation, Passage, Rewrite
from crag_graph.evaluators.cached.entries import (
    Keys,
    hashed,
    passage_hash,
    spans_of,
    strips_from,
)
from crag_graph.evaluators.cached.grades import CachedEvaluator, failed_note
from crag_graph.settings import Settings
from crag_graph.state import NodeUsage
from crag_graph.wording import counted


class CachedModel(CachedEvaluator):
    """`CachedEvaluator` over a `StripJudge` and `QueryRewriter`, whose steps it keeps as well.

    The strips of a refinement are kept as a set, when each passage has a score for one of them at
    least; queries when the model wrote them, and not where the question's keywords stepped in.
    """

    inner: Any

    def refine(
        self, question: str, passages: Sequence[Passage], *, settings: Settings, budget: Budget
    ) -> Evaluation:
        """Return the scores of the strips of `passages`; there are no grades in it."""
        key, known, trouble = self._strips(question, passages, settings)
        if known is not None:
            return known
        fresh = self.inner.refine(question, passages, settings=settings, budget=budget)
        return self._noted(fresh, trouble or self._keep_strips(key, passages, fresh))

    async def arefine(
        self, question: str, passages: Sequence[Passage], *, settings: Settings, budget: Budget
    ) -> Evaluation:
        """Return what `refine` does."""
        key, known, trouble = await asyncio.to_thread(self._strips, question, passages, settings)
        if known is not None:
            return known
        fresh = await self.inner.arefine(question, passages, settings=settings, budget=budget)
        kept = await asyncio.to_thread(self._keep_strips, key, passages, fresh)
        return self._noted(fresh, trouble or kept)

    def rewrite(self, question: str, *, settings: Settings, budget: Budget) -> Rewrite:
        """Return queries for the web."""
        key, known = self._queries(question, settings)
        if known is not None:
            return Rewrite(queries=known, usage={"cache_hits": 1})
        fresh: Rewrite = self.inner.rewrite(question, settings=settings, budget=budget)
        self._keep_queries(key, fresh)
        return fresh

    async def arewrite(self, question: str, *, settings: Settings, budget: Budget) -> Rewrite:
        """Return what `rewrite` does."""
        key, known = await asyncio.to_thread(self._queries, question, settings)
        if known is not None:
            return Rewrite(queries=known, usage={"cache_hits": 1})
        fresh: Rewrite = await self.inner.arewrite(question, settings=settings, budget=budget)
        await asyncio.to_thread(self._keep_queries, key, fresh)
        return fresh

    def _strips(
        self, question: str, passages: Sequence[Passage], settings: Settings
    ) -> tuple[str, Evaluation | None, str]:
        """Return the key of a refinement, what is kept of it, and why it could not be looked up."""
        basis = f"{self.basis(question, settings)}:refine"
        key = Keys.of(basis, question, passages, joint=True).together
        entries, trouble = self.store.get([key])
        kept = entries.get(key)
        if not isinstance(kept, dict):
            return key, None, trouble
        scores: dict[str, float] = {}
        for passage in passages:
            known = strips_from(kept.get(passage_hash(passage)), passage)
            if known is None:
                return key, None, trouble
            scores.update(known)
        which = counted(len(passages), "passage")
        note = f"the strips of {which} came from the cache ({self.store.label})"
        usage: NodeUsage = {"cache_hits": len(passages)}
        return key, Evaluation(grades=(), strip_scores=scores, usage=usage, notes=[note]), ""

    def _keep_strips(self, key: str, passages: Sequence[Passage], fresh: Evaluation) -> str:
        spans = {passage_hash(each): spans_of(each, fresh.strip_scores) for each in passages}
        return self.store.set({key: spans}) if all(spans.values()) else ""

    def _noted(self, fresh: Evaluation, trouble: str) -> Evaluation:
        if not trouble:
            return fresh
        return dataclasses.replace(fresh, notes=[*fresh.notes, failed_note(self.store, trouble)])

    def _queries(self, question: str, settings: Settings) -> tuple[str, list[str] | None]:
        key = hashed(self.basis(question, settings), "rewrite", question)
        kept = self.store.get([key])[0].get(key)
        if isinstance(kept, list) and kept and all(isinstance(query, str) for query in kept):
            return key, kept
        return key, None

    def _keep_queries(self, key: str, fresh: Rewrite) -> None:
        if fresh.queries and not fresh.notes:
            self.store.set({key: list(fresh.queries)})
