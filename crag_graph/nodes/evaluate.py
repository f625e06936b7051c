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
from crag_graph.nodes.reranked import scored_before, together
from crag_graph.settings import Settings
from crag_graph.state import CRAGState, Grade, NodeUsage
from crag_graph.wording import counted


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

    What the same evaluator scored already, while the passages were reranked, is not scored again.
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
        before, left = scored_before(state, question, passages, evaluator=evaluator.name)
        if not left:
            return self._graded(state, passages, before, evaluator.name, known=len(passages))
        try:
            evaluation = evaluator.evaluate(question, left, settings=settings, budget=budget)
        except (ModelError, BudgetExceededError) as error:
            failure = self._failure(error, evaluator.name, settings, spent(state, budget))
            if not failure.fall_back:
                return self._failed(state, passages, failure)
            local = self.services.local_evaluator.get()
            before, left = scored_before(state, question, passages, evaluator=local.name)
            evaluation = local.evaluate(question, left, settings=settings, budget=budget)
            whole = together(before, evaluation)
            return self._graded(state, passages, whole, local.name, failure)
        whole = together(before, evaluation)
        return self._graded(state, passages, whole, evaluator.name, known=len(passages) - len(left))

    async def arun(self, state: CRAGState, settings: Settings) -> Update:
        """Return a grade for every passage, and all strips with their scores."""
        passages = as_passages(state.get("documents") or [], origin="internal")
        if not passages:
            return self._nothing(state)
        evaluator = await self.services.evaluator.aget()
        budget = _budget(state, settings, await self.services.generator.aget())
        question = question_of(state)
        before, left = scored_before(state, question, passages, evaluator=evaluator.name)
        if not left:
            return self._graded(state, passages, before, evaluator.name, known=len(passages))
        try:
            evaluation = await evaluator.aevaluate(question, left, settings=settings, budget=budget)
        except (ModelError, BudgetExceededError) as error:
            failure = self._failure(error, evaluator.name, settings, spent(state, budget))
            if not failure.fall_back:
                return self._failed(state, passages, failure)
            local = await self.services.local_evaluator.aget()
            before, left = scored_before(state, question, passages, evaluator=local.name)
            evaluation = await local.aevaluate(question, left, settings=settings, budget=budget)
            whole = together(before, evaluation)
            return self._graded(state, passages, whole, local.name, failure)
        whole = together(before, evaluation)
        return self._graded(state, passages, whole, evaluator.name, known=len(passages) - len(left))

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
        *,
        known: int = 0,
    ) -> Update:
        grades = align_grades(passages, evaluation, evaluator=evaluator)
        emit("graded", grades=[_brief(grade) for grade in grades])
        unscored = sum(grade["status"] != "scored" for grade in grades)
        graded = f"{len(grades) - unscored} of {counted(len(grades), 'passage')} graded"
        why = f"{graded} by {evaluator}"
        fallbacks = list(evaluation.notes)
        failures = []
        # What was reranked was scored then, in one pass that `retrieve` has counted.
        usage: NodeUsage = {**evaluation.usage, "evaluator_calls": int(known < len(grades))}
        if failure is not None:
            fallbacks.insert(0, f"{failure.evaluator} could not grade, so {evaluator} did")
            failures.append(f"evaluator: {failure.error.message}")
            usage = {**usage, **failure.spent}
        if evaluation.why:
            why = f"{evaluation.why}; {graded}"
        if known:
            why += f", {known} of them while they were reranked"
        update = self.report(
            state,
            decided=evaluation.decided_by or evaluator,
            why=why,
            usage=usage,
            fallbacks=fallbacks,
            failures=failures,
            warnings=[f"{unscored} of {counted(len(grades), 'passage')} could not be graded"]
            * bool(unscored),
        )
        update["decision"]["evaluator"] = evaluator
        return update | {
            "grades": grades,
            "strips": scored_strips(passages, evaluation.strip_scores),
            **_query(state, evaluation),
            **_spent_scores(state),
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
            **_spent_scores(state),
        }


def _query(state: CRAGState, evaluation: Evaluation) -> Update:
    """Return the update of the query for the web where there is one, or was."""
    query = evaluation.search_query
    return {} if query == state.get("search_query", "") else {"search_query": query}


def _spent_scores(state: CRAGState) -> Update:
    """Return the update that drops what reranking left: it is in the grades and strips now."""
    return {"reranked": None} if state.get("reranked") else {}


def _budget(state: CRAGState, settings: Settings, generator: Generator) -> Budget:
    """Return the ledger without the call that a language model will need for the answer."""
    extractive = isinstance(generator, ExtractiveGenerator)
    return budget_of(state, settings, keep_back=0 if extractive else 1)


def _brief(grade: Grade) -> dict[str, object]:
    return {key: grade[key] for key in ("document_id", "score", "status")}
