"""The cascade: a cheap evaluator decides what is clear, a language model what is not."""

import dataclasses
from collections.abc import Callable, Sequence

from crag_graph.budget import Budget
from crag_graph.errors import BudgetExceededError, ConfigurationError, ModelError
from crag_graph.evaluators.base import Evaluation, Passage, RetrievalEvaluator
from crag_graph.evaluators.cascade_stages import First, any_scored, decided, fallen_back, stands
from crag_graph.evaluators.fingerprint import fingerprint_of
from crag_graph.evaluators.grading import align_grades
from crag_graph.settings import Settings, Thresholds
from crag_graph.state import NodeUsage
from crag_graph.verdict import decide
from crag_graph.wording import counted


class CascadeEvaluator:
    """Asks `first`, and `then` only where the question's aggregate lies in the grey band.

    The aggregate of the run (best, mean or k-th best grade) is what the verdict is made of, so it
    is what the band is compared with: where it reaches `settings.grey_upper`, or is not above
    `settings.grey_lower`, the grades of `first` stand and no model is asked. Unset, the band
    reaches from each threshold halfway to the end of the scale, since a score just beyond a
    threshold is no surer than one just before it (`benchmarks.cascade` measures it). `then` is
    asked, too, when `first` failed, or calls incorrect what it could not grade in part.

    All grades and strips come from the one that decided. Where `then` fails, those of `first` stand
    and a note says so; of a passage that `then` alone could not grade, the grade of `first` stands.
    Web pages are put to `then` only if no model was asked in the run before, so that a question
    takes two calls at most: this one, and the answer's.

    Args:
        first: Grades every question.
        then: Grades those in the band; a language model.
        thresholds: Returns the thresholds of a run.
    """

    name = "cascade"
    asks_model = True

    def __init__(
        self,
        first: RetrievalEvaluator,
        then: RetrievalEvaluator,
        *,
        thresholds: Callable[[Settings], Thresholds] = Settings.thresholds,
    ) -> None:
        self.first = first
        self.then = then
        self._thresholds = thresholds
        self._names = (first.name, then.name)

    def evaluate(
        self, question: str, passages: Sequence[Passage], *, settings: Settings, budget: Budget
    ) -> Evaluation:
        """Return the evaluation of the stage that decided.

        Raises:
            EvaluationError: Neither could grade anything.
        """
        band = self._band(settings)
        try:
            evaluation = self.first.evaluate(question, passages, settings=settings, budget=budget)
        except ModelError as error:
            found = self._failed(error)
        else:
            found = self._judged(passages, evaluation, band, budget)
        if not found.ask:
            return stands(found, self.first.name)
        before = budget.llm_calls, budget.tokens
        try:
            second = self.then.evaluate(
                question, passages, settings=_fused(settings), budget=budget
            )
        except (ModelError, BudgetExceededError) as error:
            return fallen_back(found, error, _spent(budget, before), self._names)
        return decided(passages, found, second, self._names)

    async def aevaluate(
        self, question: str, passages: Sequence[Passage], *, settings: Settings, budget: Budget
    ) -> Evaluation:
        """Return what `evaluate` does."""
        band = self._band(settings)
        try:
            evaluation = await self.first.aevaluate(
                question, passages, settings=settings, budget=budget
            )
        except ModelError as error:
            found = self._failed(error)
        else:
            found = self._judged(passages, evaluation, band, budget)
        if not found.ask:
            return stands(found, self.first.name)
        before = budget.llm_calls, budget.tokens
        try:
            second = await self.then.aevaluate(
                question, passages, settings=_fused(settings), budget=budget
            )
        except (ModelError, BudgetExceededError) as error:
            return fallen_back(found, error, _spent(budget, before), self._names)
        return decided(passages, found, second, self._names)

    def fingerprint(self, settings: Settings) -> str:
        """Return what scores depend on besides question and passages. May read files."""
        band = self._band(settings)
        stages = (fingerprint_of(stage, settings) for stage in (self.first, self.then))
        return f"{self.name}:{band.lower:g}-{band.upper:g}:{'+'.join(stages)}"

    def _band(self, settings: Settings) -> Thresholds:
        """Return the ends of the grey band as thresholds, with the aggregate of the run."""
        thresholds = self._thresholds(settings)
        upper, lower = settings.grey_upper, settings.grey_lower
        upper = (1 + thresholds.upper) / 2 if upper is None else upper
        lower = thresholds.lower / 2 if lower is None else lower
        if lower > upper:
            raise ConfigurationError(
                f"grey_lower ({lower:g}) is above grey_upper ({upper:g}); an unset one follows "
                f"from the thresholds of profile {thresholds.profile!r}"
            )
        return dataclasses.replace(thresholds, upper=upper, lower=lower)

    def _judged(
        self,
        passages: Sequence[Passage],
        evaluation: Evaluation,
        band: Thresholds,
        budget: Budget,
    ) -> First:
        grades = align_grades(passages, evaluation, evaluator=self.first.name)
        evaluation = dataclasses.replace(evaluation, grades=grades)
        verdict = decide(grades, band)
        shown = f"{self.first.name} {verdict.score:.2f}" if verdict.score is not None else ""
        limits = f"{band.lower:.2f}–{band.upper:.2f}"
        failed = sum(grade["status"] == "failed" for grade in grades)
        if verdict.score is None:
            ask, why = bool(passages), f"{self.first.name} could grade no passage"
        elif verdict.action == "incorrect" and failed:
            every = counted(len(grades), "passage")
            ask, why = True, f"{self.first.name} could not grade {failed} of {every}"
        elif verdict.action == "ambiguous":
            ask, why = True, f"{shown} is in the grey band {limits}"
        else:
            ask, why = False, f"{shown} is outside of the grey band {limits}"
        web = bool(passages) and all(passage.origin == "web" for passage in passages)
        if ask and web and budget.llm_calls and any_scored(grades):
            ask, why = False, f"{why}, but the run has asked a model already"
        return First(evaluation=evaluation, ask=ask, why=why)

    def _failed(self, error: ModelError) -> First:
        why = f"{self.first.name} failed ({error.message})"
        return First(error=error, ask=True, why=why)


def _fused(settings: Settings) -> Settings:
    """Return the settings of the second stage: what is asked is asked in one call."""
    if settings.evaluation_mode != "staged":
        return settings
    return settings.model_copy(update={"evaluation_mode": "fused"})


def _spent(budget: Budget, before: tuple[int, int]) -> NodeUsage:
    """Return what was paid for a stage that then failed."""
    calls, tokens = budget.llm_calls - before[0], budget.tokens - before[1]
    return {"llm_calls": calls, "input_tokens": tokens}
