"""evaluate: decompose the passages into strips and let the retrieval evaluator grade them."""

import dataclasses
from collections.abc import Sequence

from crag_graph.budget import Budget
from crag_graph.errors import BudgetExceededError, CRAGError, ModelError
from crag_graph.evaluators.base import Evaluation, Passage
from crag_graph.evaluators.grading import align_grades, as_passages, failed_grades, scored_strips
from crag_graph.generation.base import Generator
from crag_graph.generation.extractive import ExtractiveGenerator
from crag_graph.nodes.base import Node, Update, budget_of, emit, question_of, spent
from crag_graph.settings import Settings
from crag_graph.state import CRAGState, Grade, NodeUsage


@dataclasses.dataclass(frozen=True)
class _Failure:
    """Why the configured evaluator gave nothing, and who is asked instead, if anybody."""

    error: CRAGError
    evaluator: str
    fall_back: bool
    spent: NodeUsage


class EvaluateNode(Node):
    """Grades what was retrieved. When nothing can be graded, the outage policy decides.

    Under the policy `local` the local evaluator grades instead; under `raise` the error ends the
    run; otherwise every grade says `failed` and the route follows from the policy.
    """

    key = "evaluate"

    def run(self, state: CRAGState, settings: Settings) -> Update:
        """Return a grade for every passage, and all strips with their scores."""
        passages = as_passages(state.get("documents") or [], origin="internal")
        if not passages:
            return self._nothing(state)
        evaluator = self.services.evaluator.get()
        budget = _budget(state, settings, self.services.generator.get())
        question = question_of(state)
        try:
            evaluation = evaluator.evaluate(question, passages, settings=settings, budget=budget)
        except (ModelError, BudgetExceededError) as error:
            failure = self._failure(error, evaluator.name, settings, spent(state, budget))
            if not failure.fall_back:
                return self._failed(state, passages, failure)
            local = self.services.local_evaluator.get()
            evaluation = local.evaluate(question, passages, settings=settings, budget=budget)
            return self._graded(state, passages, evaluation, local.name, failure)
        return self._graded(state, passages, evaluation, evaluator.name)

    async def arun(self, state: CRAGState, settings: Settings) -> Update:
        """Return a grade for every passage, and all strips with their scores."""
        passages = as_passages(state.get("documents") or [], origin="internal")
        if not passages:
            return self._nothing(state)
        evaluator = await self.services.evaluator.aget()
        budget = _budget(state, settings, await self.services.generator.aget())
        question = question_of(state)
        try:
            evaluation = await evaluator.aevaluate(
                question, passages, settings=settings, budget=budget
            )
        except (ModelError, BudgetExceededError) as error:
            failure = self._failure(error, evaluator.name, settings, spent(state, budget))
            if not failure.fall_back:
                return self._failed(state, passages, failure)
            local = await self.services.local_evaluator.aget()
            evaluation = await local.aevaluate(question, passages, settings=settings, budget=budget)
            return self._graded(state, passages, evaluation, local.name, failure)
        return self._graded(state, passages, evaluation, evaluator.name)

    @staticmethod
    def _failure(
        error: CRAGError, evaluator: str, settings: Settings, usage: NodeUsage
    ) -> _Failure:
        if isinstance(error, BudgetExceededError):  # no outage: the local one is the cheaper way
            return _Failure(error, evaluator, fall_back=True, spent=usage)
        if settings.outage_policy == "raise":
            raise error
        return _Failure(error, evaluator, settings.outage_policy == "local", usage)

    def _nothing(self, state: CRAGState) -> Update:
        emit("graded", grades=[])
        update = self.report(state, decided="nothing to grade", why="no passage was retrieved")
        return update | {"grades": [], "search_query": ""}

    def _graded(
        self,
        state: CRAGState,
        passages: Sequence[Passage],
        evaluation: Evaluation,
        evaluator: str,
        failure: _Failure | None = None,
    ) -> Update:
        grades = align_grades(passages, evaluation, evaluator=evaluator)
        emit("graded", grades=[_brief(grade) for grade in grades])
        unscored = sum(grade["status"] != "scored" for grade in grades)
        why = f"{len(grades) - unscored} of {len(grades)} passages graded by {evaluator}"
        fallbacks = list(evaluation.notes)
        failures = []
        usage: NodeUsage = {**evaluation.usage, "evaluator_calls": 1}
        if failure is not None:
            fallbacks.insert(0, f"{failure.evaluator} could not grade, so {evaluator} did")
            failures.append(f"evaluator: {failure.error.message}")
            usage = {**usage, **failure.spent}
        update = self.report(
            state,
            decided=evaluator,
            why=why,
            usage=usage,
            fallbacks=fallbacks,
            failures=failures,
            warnings=[f"{unscored} of {len(grades)} passages could not be graded"] * bool(unscored),
        )
        update["decision"]["evaluator"] = evaluator
        return update | {
            "grades": grades,
            "strips": scored_strips(passages, evaluation.strip_scores),
            "search_query": evaluation.search_query,
        }

    def _failed(self, state: CRAGState, passages: Sequence[Passage], failure: _Failure) -> Update:
        reason = failure.error.message
        grades = failed_grades(passages, evaluator=failure.evaluator, reason=reason)
        emit("graded", grades=[_brief(grade) for grade in grades])
        update = self.report(
            state,
            decided="failed",
            why=reason,
            usage={**failure.spent, "evaluator_calls": 1},
            failures=[f"evaluator: {reason}"],
            warnings=[f"grading failed: {reason}"],
        )
        update["decision"]["evaluator"] = failure.evaluator
        return update | {
            "grades": grades,
            "strips": scored_strips(passages, {}),
            "search_query": "",
        }


def _budget(state: CRAGState, settings: Settings, generator: Generator) -> Budget:
    """Return the ledger without the call that a language model will need for the answer."""
    extractive = isinstance(generator, ExtractiveGenerator)
    return budget_of(state, settings, keep_back=0 if extractive else 1)


def _brief(grade: Grade) -> dict[str, object]:
    return {key: grade[key] for key in ("document_id", "score", "status")}
