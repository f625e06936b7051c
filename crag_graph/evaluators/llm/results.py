"""From the verdicts of a model to an evaluation."""

from collections.abc import Sequence

from crag_graph.errors import BudgetExceededError, CRAGError, EvaluationError, ModelError
from crag_graph.evaluators.llm.batching import Excerpt
from crag_graph.evaluators.llm.grading import Verdict
from crag_graph.models.meter import Meter
from crag_graph.settings import Scale, to_unit
from crag_graph.state import Grade


def grade_of(verdict: Verdict, scale: Scale, evaluator: str) -> Grade:
    """Return the grade that a verdict stands for."""
    return Grade(
        document_id=verdict.excerpt.passage.id,
        score=None if verdict.raw is None else to_unit(verdict.raw, scale),
        raw=verdict.raw,
        status="scored" if verdict.raw is not None else "failed" if verdict.failed else "unknown",
        reason=verdict.reason,
        evaluator=evaluator,
    )


def strip_scores(verdicts: Sequence[Verdict], scale: Scale) -> dict[str, float]:
    """Return the score of each strip that was judged, on 0–1.

    A strip that holds up is worth what its passage is worth; one that does not, or that gives
    orders to the model, is worth nothing. Strips that were not shown for length are not judged.
    """
    scores: dict[str, float] = {}
    for verdict in verdicts:
        item = verdict.excerpt
        if verdict.raw is not None and verdict.strips is not None:
            worth = to_unit(verdict.raw, scale)
            for number in item.shown:
                if identifier := item.strip_id(number):
                    scores[identifier] = worth if number in verdict.strips else 0.0
        scores.update(withheld_scores(item))
    return scores


def withheld_scores(item: Excerpt) -> dict[str, float]:
    """Return a score of 0 for each strip that was kept from the model."""
    strips = item.passage.strips
    return {strips[number - 1]["id"]: 0.0 for number in item.withheld if strips}


def note_cuts(excerpts: Sequence[Excerpt], meter: Meter) -> None:
    """Note which passages were not shown whole, and why."""
    for item in excerpts:
        if item.cut:
            meter.note(f"{item.name} is long and was graded by its beginning and best parts")
        if item.withheld:
            count = len(item.withheld)
            sentences = "a sentence" if count == 1 else f"{count} sentences"
            meter.note(f"{sentences} of {item.name} give orders to the reader and were withheld")


def as_evaluation_error(error: CRAGError) -> CRAGError:
    """Return the error of an evaluation in which nothing was graded."""
    if isinstance(error, BudgetExceededError) or not isinstance(error, ModelError):
        return error
    return EvaluationError(error.message, reason=error.reason, retry_after=error.retry_after)
