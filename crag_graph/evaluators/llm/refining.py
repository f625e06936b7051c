"""Grading strips in a step of their own, as in the textbook form: 1–5 each."""

from collections.abc import Sequence

from crag_graph.errors import BudgetExceededError, CRAGError, ModelError
from crag_graph.evaluators.llm.batching import Excerpt, batches
from crag_graph.evaluators.llm.forms import strips_form
from crag_graph.evaluators.llm.grading import Grading
from crag_graph.evaluators.llm.results import withheld_scores
from crag_graph.models.fencing import Fence, numbered
from crag_graph.models.plan import Plan, together
from crag_graph.settings import to_unit


def refine(
    grading: Grading, excerpts: Sequence[Excerpt]
) -> Plan[tuple[dict[str, float], CRAGError | None]]:
    """Return the score of each strip by its id, and the first error, if any.

    A strip that the model left out is not in it, one that was kept from the model is 0.
    """
    judged = [item for item in excerpts if item.shown and item.passage.strips]
    plans = [_batch(grading, batch) for batch in batches(judged, grading.settings)]
    scores: dict[str, float] = {}
    first: CRAGError | None = None
    for outcome in (yield from together(plans)):
        if isinstance(outcome.error, ModelError | BudgetExceededError):
            first = first or outcome.error
            grading.meter.note(f"some strips could not be judged: {outcome.error.message}")
        else:
            scores.update(outcome.get())
    if first is None or scores:
        for item in excerpts:
            scores.update(withheld_scores(item))
    return scores, first


def _batch(grading: Grading, batch: Sequence[Excerpt]) -> Plan[dict[str, float]]:
    fence = Fence("passage", (item.passage.text for item in batch))
    identifiers: list[str] = []
    shown: list[str] = []
    for label, item in enumerate(batch, start=1):
        lines: list[tuple[int, str]] = []
        for number, text in item.shown.items():
            identifiers.append(item.passage.strips[number - 1]["id"])
            lines.append((len(identifiers), text))
        shown.append(fence.wrap(numbered(lines), id=f"P{label}", title=item.title))
    form = strips_form(len(identifiers))
    sheet = yield from grading.fill(form, "\n\n".join(shown), fence)
    return {
        identifiers[number - 1]: to_unit(score, "five_point")
        for number, score in sheet.aligned.scores.items()
    }
