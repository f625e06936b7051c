"""refine: keep the knowledge strips of the corpus that hold up, drop the rest."""

import dataclasses
from collections.abc import Mapping
from typing import Self

from crag_graph.errors import BudgetExceededError, CRAGError, ModelError
from crag_graph.evaluators.base import Evaluation, Passage, RetrievalEvaluator, StripJudge
from crag_graph.evaluators.grading import as_passages, unit_score
from crag_graph.nodes.base import Node, Update, budget_of, emit, question_of, spent
from crag_graph.settings import Settings
from crag_graph.state import CRAGState, NodeUsage, Strip
from crag_graph.text.strips import deduplicate, select
from crag_graph.wording import counted


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Judged:
    """What a strip judge said in a step of its own, or why it said nothing."""

    evaluation: Evaluation = dataclasses.field(default_factory=lambda: Evaluation(grades=()))
    error: CRAGError | None = None

    @classmethod
    def failed(cls, error: CRAGError, usage: NodeUsage) -> Self:
        """Return that nothing was said, and what was paid all the same."""
        return cls(evaluation=Evaluation(grades=(), usage=usage), error=error)


class RefineNode(Node):
    """Selects strips by their scores.

    The evaluation holds these already, but for the staged mode, in which the evaluator is asked
    here. Only passages graded above the lower threshold are used. One graded at or above the upper
    threshold is kept whole when none of its strips clears the floor, and so is one whose strips
    were not judged. When grading failed as a whole, every passage is kept: a failure is never a
    verdict.
    """

    key = "refine"

    def run(self, state: CRAGState, settings: Settings) -> Update:
        """Return the internal strips, each marked as kept or not."""
        usable, high = self._documents(state, settings)
        judge = _judge(self.services.evaluator.get(), state, settings)
        if judge is None:
            return self._selected(state, settings, usable, high, _Judged())
        budget = budget_of(state, settings, keep_back=1)
        passages = _passages(state, usable)
        try:
            evaluation = judge.refine(
                question_of(state), passages, settings=settings, budget=budget
            )
        except (ModelError, BudgetExceededError) as error:
            failed = _Judged.failed(error, spent(state, budget))
            return self._selected(state, settings, usable, usable, failed)
        return self._selected(state, settings, usable, high, _Judged(evaluation=evaluation))

    async def arun(self, state: CRAGState, settings: Settings) -> Update:
        """Return the internal strips, each marked as kept or not."""
        usable, high = self._documents(state, settings)
        judge = _judge(await self.services.evaluator.aget(), state, settings)
        if judge is None:
            return self._selected(state, settings, usable, high, _Judged())
        budget = budget_of(state, settings, keep_back=1)
        passages = _passages(state, usable)
        try:
            evaluation = await judge.arefine(
                question_of(state), passages, settings=settings, budget=budget
            )
        except (ModelError, BudgetExceededError) as error:
            failed = _Judged.failed(error, spent(state, budget))
            return self._selected(state, settings, usable, usable, failed)
        return self._selected(state, settings, usable, high, _Judged(evaluation=evaluation))

    def _documents(self, state: CRAGState, settings: Settings) -> tuple[set[str], set[str]]:
        """Return the documents that may be used, and those that are kept whole if need be."""
        strips = _internal(state)
        scores = {grade["document_id"]: grade["score"] for grade in state.get("grades") or []}
        if all(score is None for score in scores.values()):
            every = {strip["document_id"] for strip in strips}
            return every, every
        thresholds = self.services.thresholds(settings)
        judged = {strip["document_id"] for strip in strips if strip["score"] is not None}
        usable = {key: score for key, score in scores.items() if score and score > thresholds.lower}
        high = {
            key for key, score in usable.items() if key not in judged or score >= thresholds.upper
        }
        return set(usable), high

    def _selected(
        self,
        state: CRAGState,
        settings: Settings,
        usable: set[str],
        high: set[str],
        judged: _Judged,
    ) -> Update:
        evaluation = judged.evaluation
        strips = _scored(_internal(state), evaluation.strip_scores)
        chosen = select(
            [strip for strip in strips if strip["document_id"] in usable],
            floor=settings.strip_floor,
            top_k=settings.strip_top_k,
            keep_documents=high,
            distinct=True,
        )
        by_id = {strip["id"]: strip for strip in deduplicate(chosen)}
        refined: list[Strip] = [by_id.get(strip["id"], strip) for strip in strips]
        kept = sum(strip["kept"] for strip in refined)
        emit("refined", kept=kept, strips=len(refined))
        fallbacks, failures = [*evaluation.notes], []
        if judged.error is not None:
            fallbacks.append("strips could not be judged, so passages are kept whole")
            failures.append(f"refinement: {judged.error.message}")
        update = self.report(
            state,
            decided=f"kept {kept} of {counted(len(refined), 'strip')}",
            why=f"floor {settings.strip_floor:.2f}, at most {settings.strip_top_k}",
            usage=evaluation.usage,
            fallbacks=fallbacks,
            failures=failures,
        )
        return update | ({"strips": refined} if refined else {})


def _judge(
    evaluator: RetrievalEvaluator, state: CRAGState, settings: Settings
) -> StripJudge | None:
    if settings.evaluation_mode != "staged" or not isinstance(evaluator, StripJudge):
        return None
    # Another evaluator stepped in, or grading failed: there is nothing to ask this one.
    scored = {grade["evaluator"] for grade in state.get("grades") or [] if grade["score"]}
    return evaluator if scored == {evaluator.name} else None


def _internal(state: CRAGState) -> list[Strip]:
    return [strip for strip in state.get("strips") or [] if strip["origin"] == "internal"]


def _passages(state: CRAGState, usable: set[str]) -> list[Passage]:
    documents = [item for item in state.get("documents") or [] if item.id in usable]
    return as_passages(documents, origin="internal")


def _scored(strips: list[Strip], scores: Mapping[str, float]) -> list[Strip]:
    """Return the strips with these scores where there are any, none of them kept yet."""
    return [
        {**strip, "score": unit_score(scores.get(strip["id"], strip["score"])), "kept": False}
        for strip in strips
    ]
