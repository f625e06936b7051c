"""The evaluator over any pair scorer: cross-encoders, the paper's T5, hosted rerankers."""

import asyncio
import dataclasses
import hashlib
from collections.abc import Sequence

from crag_graph.budget import Budget
from crag_graph.errors import CRAGError, EvaluationError, ModelError
from crag_graph.evaluators.base import Evaluation, Passage
from crag_graph.evaluators.llm.results import as_evaluation_error
from crag_graph.evaluators.pairs import Reader, Reading
from crag_graph.models.scorers.base import PairScorer
from crag_graph.settings import Settings
from crag_graph.state import Grade
from crag_graph.wording import counted

_AT_ONCE = 4  # requests that one evaluation keeps open
_READING = 1  # changes with what is made of a passage: windows, titles, strips

_Scores = list[float | None]


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Plan:
    """What is scored for one evaluation.

    Attributes:
        question: As the scorer reads it.
        readings: The texts of each passage.
        batches: Each text once, texts of like length together.
    """

    question: str
    readings: list[Reading]
    batches: list[list[str]]


@dataclasses.dataclass(kw_only=True)
class _Results:
    """Text → raw score, and text → why it has none."""

    raw: dict[str, float | None] = dataclasses.field(default_factory=dict)
    failed: dict[str, CRAGError] = dataclasses.field(default_factory=dict)


class ScoringEvaluator:
    """Grades passages and strips by the scores of a `PairScorer`, each on its own.

    A passage's score is that of its whole text, or of the best of its windows where it is longer
    than the scorer reads; nothing is dropped. A strip's score is its own. All texts of a question
    go to the scorer in one batch or few. What a request failed for has a `failed` grade, what came
    back without a number an unknown one.

    Args:
        scorer: Scores pairs.
        titles: Whether a passage's title stands before its text; the paper's T5 saw none.
    """

    asks_model = False

    def __init__(self, scorer: PairScorer, *, titles: bool = True) -> None:
        self.scorer = scorer
        self.name = scorer.name
        self._titles = titles

    def evaluate(
        self,
        question: str,
        passages: Sequence[Passage],
        *,
        settings: Settings,  # noqa: ARG002  # of the Protocol
        budget: Budget,
    ) -> Evaluation:
        """Return a grade for each passage and a score for each strip.

        Raises:
            BudgetExceededError: The time of the run is over.
            EvaluationError: Nothing at all could be scored.
        """
        budget.spend()
        plan = self._plan(question, passages)
        results = _Results()
        for batch in plan.batches:
            try:
                found = self.scorer.score(plan.question, batch, seconds=_left(budget))
            except ModelError as error:
                _fail(results, batch, error)
            else:
                results.raw.update(zip(batch, found, strict=True))
        return self._evaluation(plan, results)

    async def aevaluate(
        self,
        question: str,
        passages: Sequence[Passage],
        *,
        settings: Settings,  # noqa: ARG002  # of the Protocol
        budget: Budget,
    ) -> Evaluation:
        """Return what `evaluate` does, requests side by side."""
        budget.spend()
        plan = await asyncio.to_thread(self._plan, question, passages)
        results = _Results()
        gate = asyncio.Semaphore(_AT_ONCE)

        async def score(batch: list[str]) -> None:
            try:
                async with gate:
                    found = await self.scorer.ascore(plan.question, batch, seconds=_left(budget))
            except ModelError as error:
                _fail(results, batch, error)
            else:
                results.raw.update(zip(batch, found, strict=True))

        async with asyncio.TaskGroup() as group:
            for batch in plan.batches:
                group.create_task(score(batch))
        return self._evaluation(plan, results)

    def fingerprint(self, settings: Settings) -> str:
        """Return what scores depend on besides question and passage. May read the model's files."""
        del settings  # none of them changes a score
        own = f"{_READING}:{self._titles}:{self.scorer.fingerprint()}"
        return f"{self.name}:{hashlib.sha256(own.encode()).hexdigest()[:12]}"

    def cache_key(self, settings: Settings) -> str:
        """Return the fingerprint: scores depend on nothing else."""
        return self.fingerprint(settings)

    def joint(self, settings: Settings) -> bool:
        """Return False: each passage is scored on its own."""
        del settings
        return False

    def _plan(self, question: str, passages: Sequence[Passage]) -> _Plan:
        reader = Reader(self.scorer, question, titles=self._titles)
        readings = [reader.read(passage) for passage in passages]
        texts = dict.fromkeys(
            text
            for reading in readings
            for pieces in (reading.windows, *reading.strips.values())
            for text in pieces
        )
        # The longest first: where a part fails, it is one of passages or one of strips.
        ordered = sorted(texts, key=len, reverse=True)
        most = self.scorer.most_texts
        batches = [ordered[start : start + most] for start in range(0, len(ordered), most)]
        return _Plan(question=reader.question, readings=readings, batches=batches)

    def _evaluation(self, plan: _Plan, results: _Results) -> Evaluation:
        grades = [self._grade(reading, results) for reading in plan.readings]
        statuses = {grade["status"] for grade in grades}
        if "failed" in statuses and "scored" not in statuses:
            raise as_evaluation_error(next(iter(results.failed.values())))
        strips = {
            key: score
            for reading in plan.readings
            for key, pieces in reading.strips.items()
            if (score := self.scorer.scale.to_unit(_best(pieces, results))) is not None
        }
        notes = [
            f"{reading.passage.title or reading.passage.id} is long and was graded by the best of "
            f"its {len(reading.windows)} windows"
            for reading in plan.readings
            if len(reading.windows) > 1
        ]
        if results.failed:
            reason = next(iter(results.failed.values())).message
            texts = counted(len(results.failed), "text")
            notes.append(f"{texts} could not be scored: {reason}")
        return Evaluation(grades=grades, strip_scores=strips, notes=notes)

    def _grade(self, reading: Reading, results: _Results) -> Grade:
        raw = _best(reading.windows, results)
        score = self.scorer.scale.to_unit(raw)
        error = next((results.failed[w] for w in reading.windows if w in results.failed), None)
        grade = Grade(
            document_id=reading.passage.id,
            score=None,
            raw=None if raw is None else round(raw, 6),
            status="unknown",
            reason="the passage is blank",
            evaluator=self.name,
        )
        if error is not None:  # a part of it may hold what the others lack
            return {**grade, "raw": None, "status": "failed", "reason": error.message}
        if score is not None:
            windows = len(reading.windows)
            part = "the passage" if windows == 1 else f"the best of {windows} windows"
            reason = f"{part} scores {raw:.3g} on the scale of {self.name}"
            return {**grade, "score": round(score, 6), "status": "scored", "reason": reason}
        if reading.windows:
            reason = "the scorer gave no usable score for it"
            return {**grade, "raw": None, "reason": reason}
        return grade


def _best(pieces: Sequence[str], results: _Results) -> float | None:
    known = [raw for piece in pieces if (raw := results.raw.get(piece)) is not None]
    return max(known, default=None)


def _fail(results: _Results, batch: Sequence[str], error: ModelError) -> None:
    results.failed.update(dict.fromkeys(batch, error))


def _left(budget: Budget) -> float | None:
    """Return the seconds that the run may still take.

    Raises:
        EvaluationError: There are none left.
    """
    if budget.max_seconds is None:
        return None
    left = budget.max_seconds - budget.seconds
    if left <= 0:
        raise EvaluationError(
            f"max_seconds ({budget.max_seconds:g}) is over; raise it in Settings to go on",
            reason="transport",
        )
    return left
