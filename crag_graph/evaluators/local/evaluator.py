"""The local evaluator: grades passages and strips on the processor, without a language model."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from crag_graph.budget import Budget
from crag_graph.evaluators.base import Evaluation, Passage
from crag_graph.evaluators.local.cross import CrossEncoder, find_model
from crag_graph.evaluators.local.features import STRIP_FEATURES, Evidence, gather
from crag_graph.evaluators.local.fit import FIT, Judgement, digest_of_fit, load_fit
from crag_graph.evaluators.local.question import Question
from crag_graph.models.local.minilm import MiniLM, shared_minilm
from crag_graph.models.local.remembered import RememberedVectors
from crag_graph.models.local.running import processors
from crag_graph.settings import Settings
from crag_graph.state import Grade

_EVEN = 0.5
# The kinds of answer whose absence can be seen; a reason or a definition has many forms.
_SEEN = ("date", "number", "name", "place")


class LocalEvaluator:
    """Grades by similarity, late interaction, rare terms, names, numbers and the kind of answer.

    The score is the probability that a question whose best passage has this score can be answered,
    where one question in two can be, as it was on the questions of the fit (`fit.json`). It
    says how far a passage is on the topic and has what was asked for; it does not read what the
    passage says: a passage that states the wrong thing in the right words gets a high score.

    A passage's score follows from its best strip and from the passage as a whole; what only repeats
    the question counts for nothing. Candidates are weighed together: a term that all of them hold
    tells them apart less than a rare one. Questions in other than Latin letters, which the encoder
    was not trained on, are judged by their terms alone.

    Where the package `crag-graph-evaluator` is there, its cross-encoder reads question and passage
    together and is averaged with that: it tells more often whether a sentence answers, or is only
    on the topic.

    Passages that were read a short while ago are not encoded again.

    Args:
        model: The encoder; None takes the process's own, which embeddings use, too.
        fit: The file of weights.
        cross: The folder of the trained cross-encoder; None leaves it out, and by default it is
            used where it is installed.
    """

    name = "local"
    asks_model = False

    def __init__(
        self,
        *,
        model: MiniLM | None = None,
        fit: Path = FIT,
        cross: Path | Literal["installed"] | None = "installed",
    ) -> None:
        self._encoder = RememberedVectors(model or shared_minilm())
        self._fit_file = fit
        folder = find_model() if cross == "installed" else cross
        self._cross = CrossEncoder(folder, threads=processors()) if folder else None

    @property
    def trained(self) -> bool:
        """Whether the trained cross-encoder takes part."""
        return self._cross is not None

    def fingerprint(self, settings: Settings) -> str:  # noqa: ARG002  # no setting changes a score
        """Return what the scores depend on: the fit, how texts are read, and the model."""
        model = self._cross.digest() if self._cross else "evidence"
        return f"{self.name}:{digest_of_fit(self._fit_file)}:{model}"

    def cache_key(self, settings: Settings) -> str:
        """Return the fingerprint: scores depend on nothing else."""
        return self.fingerprint(settings)

    def joint(self, settings: Settings) -> bool:  # noqa: ARG002
        """Return True: candidates are weighed together."""
        return True

    def evaluate(
        self,
        question: str,
        passages: Sequence[Passage],
        *,
        settings: Settings,  # noqa: ARG002  # of the Protocol
        budget: Budget,
    ) -> Evaluation:
        """Return a grade for each passage and a score for each strip that was read.

        Raises:
            BudgetExceededError: The time of the run is over.
            ConfigurationError: The encoder's weights are missing or not the known ones.
        """
        budget.spend()
        gathered = gather(question, passages, self._encoder)
        asked, found = gathered.question, gathered.passages
        fit = load_fit(self._fit_file)
        judged = [fit.judge(evidence, readable=asked.latin) for evidence in found]
        if self._cross and asked.latin:
            judged = self._cross.judge(gathered, judged)
        both = list(zip(found, judged, strict=True))
        return Evaluation(
            grades=[self._grade(asked, evidence, judgement) for evidence, judgement in both],
            strip_scores={key: 0.0 for one in found for key in one.reading.withheld if key}
            | {
                piece.id: score
                for evidence, judgement in both
                for piece, score in zip(evidence.reading.pieces, judgement.strips, strict=True)
                if piece.id
            },
            notes=[
                f"passage {evidence.reading.passage.id} is long: {evidence.reading.skipped} of its "
                f"{len(evidence.reading.passage.strips)} strips were not read"
                for evidence in found
                if evidence.reading.skipped
            ],
        )

    async def aevaluate(
        self, question: str, passages: Sequence[Passage], *, settings: Settings, budget: Budget
    ) -> Evaluation:
        """Return what `evaluate` does, from a thread, so that the event loop goes on."""
        return await asyncio.to_thread(
            self.evaluate, question, passages, settings=settings, budget=budget
        )

    def _grade(self, asked: Question, evidence: Evidence, judgement: Judgement) -> Grade:
        scored = bool(evidence.reading.pieces or evidence.reading.withheld)
        return Grade(
            document_id=evidence.reading.passage.id,
            score=round(judgement.score, 4) if scored else None,
            raw=round(judgement.raw, 4) if judgement.best >= 0 else None,
            status="scored" if scored else "unknown",
            reason=_reason(asked, evidence, judgement) if scored else "the passage is blank",
            evaluator=self.name,
        )


def _reason(asked: Question, evidence: Evidence, judgement: Judgement) -> str:
    """Return one clause that says what the score rests on."""
    if judgement.best < 0:
        if evidence.reading.withheld:
            return "it only gives orders to its reader"
        return "it tells nothing beyond the question"
    row = dict(zip(STRIP_FEATURES, evidence.strips[judgement.best].tolist(), strict=True))
    best = f"best strip {judgement.strips[judgement.best]:.2f}"
    clauses = []
    if evidence.missing:
        clauses.append(f"without {', '.join(evidence.missing[:3])}")
    elif asked.named:
        clauses.append("names and numbers agree")
    if asked.kind in _SEEN and row["fits"] < 0:
        clauses.append(f"no {asked.kind} in it")
    if not clauses:
        clauses.append(f"{'close to' if judgement.score >= _EVEN else 'far from'} the question")
    return f"{best}: {', '.join(clauses)}"
