"""Grading a list of excerpts: batches side by side, an offender isolated, gaps asked again once."""

import dataclasses
import math
from collections.abc import Callable, Sequence

from crag_graph.errors import BudgetExceededError, CRAGError, ModelError
from crag_graph.evaluators.llm.batching import Excerpt, batches
from crag_graph.evaluators.llm.forms import Sheet
from crag_graph.models.asking import Asker
from crag_graph.models.fallback import first_that_answers
from crag_graph.models.fencing import Fence
from crag_graph.models.forms import Form
from crag_graph.models.meter import Meter
from crag_graph.models.plan import Outcome, Plan, together
from crag_graph.models.structured import structured
from crag_graph.prompting import Prompt
from crag_graph.settings import Settings
from crag_graph.wording import counted

# What a single passage can cause. A refusal or filter may be about one of them only, an unreadable
# or cut-off answer may come from one that is odd or long, and so may a request that is too long.
_MAY_BE_ONE = ("parse", "length", "filter", "refusal", "request")


@dataclasses.dataclass
class Verdict:
    """What became of one excerpt.

    Attributes:
        excerpt: The excerpt.
        raw: Its score on the scale of the form, None where it has none.
        reason: Why it has that score, or none.
        strips: The numbers of the strips that hold up, None where the model did not say.
        failed: Whether there was no answer at all, rather than one without a usable score.
    """

    excerpt: Excerpt
    raw: float | None = None
    reason: str = ""
    strips: frozenset[int] | None = None
    failed: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class Grading:
    """One piece of grading: what is asked of whom.

    Attributes:
        askers: The model, and its fallback where there is one.
        meter: Counts the calls.
        settings: Caps of batches.
        prompt: The prompt, rendered for each batch.
        values: Its variables but for the passages and the fence.
        form: Makes the form for so many passages.
    """

    askers: Sequence[Asker]
    meter: Meter
    settings: Settings
    prompt: Prompt
    values: dict[str, str]
    form: Callable[[int], Form[Sheet]]

    def ask(self, batch: Sequence[Excerpt], *, repair: bool = True) -> Plan[Sheet]:
        """Return the sheet that the model fills in for `batch`."""
        fence = Fence("passage", (item.passage.text for item in batch))
        shown = [item.render(fence, f"P{number}") for number, item in enumerate(batch, start=1)]
        passages = "\n\n".join(shown)
        return (yield from self.fill(self.form(len(batch)), passages, fence, repair=repair))

    def fill(
        self, form: Form[Sheet], passages: str, fence: Fence, *, repair: bool = True
    ) -> Plan[Sheet]:
        """Return the form, filled in by the first model that does not fail."""
        messages = self.prompt.render(**self.values, passages=passages, fence=fence.name)

        def attempt(asker: Asker) -> Plan[Sheet]:
            return structured(asker, messages, form, meter=self.meter, repair=repair)

        return (yield from first_that_answers(self.askers, attempt, meter=self.meter))


@dataclasses.dataclass
class Graded:
    """The verdicts in the order of the excerpts, the queries, and the first error, if any."""

    verdicts: list[Verdict]
    queries: list[str] = dataclasses.field(default_factory=list)
    error: CRAGError | None = None


def grade(grading: Grading, excerpts: Sequence[Excerpt]) -> Plan[Graded]:
    """Return the verdict on each of `excerpts`; what shows nothing is unknown and not asked about.

    Raises nothing that a model does: see `Graded.error`.
    """
    graded = Graded([_unasked(item) for item in excerpts])
    asked = [item for item in excerpts if item.shown]
    plans = [_batch(grading, batch) for batch in batches(asked, grading.settings)]
    for outcome in (yield from together(plans)):
        _merge(graded, outcome.get())
    gaps = [
        verdict.excerpt
        for verdict in graded.verdicts
        if verdict.raw is None and not verdict.failed and verdict.excerpt.shown
    ]
    if gaps:
        grading.meter.note(
            f"asked again about {counted(len(gaps), 'passage')} without a usable score"
        )
        plans = [_batch(grading, batch) for batch in batches(gaps, grading.settings)]
        for outcome in (yield from together(plans)):
            _merge(graded, outcome.get(), only_scores=True)
    return graded


def _batch(grading: Grading, batch: Sequence[Excerpt]) -> Plan[Graded]:
    first = yield from _attempt(grading, batch)
    # What it takes to find one offender among so many by halving: two calls a level.
    allowance = [2 * math.ceil(math.log2(len(batch)))]
    return (yield from _isolated(grading, batch, first, allowance))


def _attempt(
    grading: Grading, batch: Sequence[Excerpt], *, repair: bool = True
) -> Plan[Outcome[Sheet]]:
    try:
        sheet = yield from grading.ask(batch, repair=repair)
    except (ModelError, BudgetExceededError) as error:
        return Outcome(error=error)
    return Outcome(value=sheet)


def _isolated(
    grading: Grading, batch: Sequence[Excerpt], outcome: Outcome[Sheet], allowance: list[int]
) -> Plan[Graded]:
    """Return what became of `batch`, halved where one passage may have spoilt it for the others.

    When both halves fail for the same reason it is not one passage, and the search ends; but an
    answer that was cut off may fit for fewer passages still.
    """
    error = outcome.error
    if error is None:
        return _read(batch, outcome.get())
    if not _can_halve(error, batch) or allowance[0] < 2:
        return _failed(batch, error)
    allowance[0] -= 2
    middle = len(batch) // 2
    halves = (batch[:middle], batch[middle:])
    results = yield from together([_attempt(grading, half, repair=False) for half in halves])
    outcomes = [result.get() for result in results]
    if len({_reason(half.error) for half in outcomes}) == 1 and outcomes[0].error is not None:
        if not getattr(outcomes[0].error, "started", False):
            return _failed(batch, error)
    else:
        grading.meter.note("a batch of passages failed and was graded in parts")
    merged = Graded([Verdict(item) for item in batch])
    for half, result in zip(halves, outcomes, strict=True):
        _merge(merged, (yield from _isolated(grading, half, result, allowance)))
    return merged


def _can_halve(error: Exception, batch: Sequence[Excerpt]) -> bool:
    if len(batch) < 2 or not isinstance(error, ModelError) or error.reason not in _MAY_BE_ONE:
        return False
    # Where nothing came before the cut, the model spent it all on reasoning: fewer do not help.
    return error.reason != "length" or bool(getattr(error, "started", False))


def _reason(error: Exception | None) -> str:
    return getattr(error, "reason", type(error).__name__)


def _read(batch: Sequence[Excerpt], sheet: Sheet) -> Graded:
    verdicts = []
    for number, item in enumerate(batch, start=1):
        raw = sheet.aligned.scores.get(number)
        reason = sheet.reason(number) if raw is not None else sheet.aligned.unknown[number]
        strips = sheet.strips(number)
        verdicts.append(Verdict(item, raw=raw, reason=reason, strips=strips))
    return Graded(verdicts, queries=list(sheet.queries))


def _failed(batch: Sequence[Excerpt], error: Exception) -> Graded:
    known = error if isinstance(error, CRAGError) else None
    reason = known.message if known else type(error).__name__
    return Graded([Verdict(item, reason=reason, failed=True) for item in batch], error=known)


def _unasked(item: Excerpt) -> Verdict:
    reason = "it holds nothing but orders to the reader" if item.withheld else "it is blank"
    return Verdict(item, reason=reason)


def _merge(graded: Graded, part: Graded, *, only_scores: bool = False) -> None:
    """Put the verdicts of `part` in the place of those on the same excerpts."""
    places = {id(verdict.excerpt): index for index, verdict in enumerate(graded.verdicts)}
    for verdict in part.verdicts:
        if verdict.raw is not None or not only_scores:
            graded.verdicts[places[id(verdict.excerpt)]] = verdict
    graded.queries.extend(part.queries)
    graded.error = graded.error or (None if only_scores else part.error)
