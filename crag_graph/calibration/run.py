"""From a labels file to thresholds: read, grade once, sweep, resample."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

from crag_graph.calibration.grading import Graded, Grader, Progress, with_passages
from crag_graph.calibration.labels import LabelSet, read_labels
from crag_graph.calibration.objectives import Objective
from crag_graph.calibration.result import Calibration
from crag_graph.calibration.sample import CLASSES, Rule, Sample, Unit, choose_unit, make_sample
from crag_graph.calibration.scores import ScoreStore
from crag_graph.calibration.thresholds import FEW, find_thresholds
from crag_graph.calibration.values import LabelScale
from crag_graph.evaluators.base import asks_model
from crag_graph.services import Services
from crag_graph.settings import Settings


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plan:
    """What grading would take, asked before it begins.

    Attributes:
        questions: All of them.
        waiting: Questions that must be graded now; the others' scores are kept.
        passages: Passages of these.
        calls: Requests to a language model that this takes, by the settings' batches; about, since
            long passages need more and a cascade fewer. 0 where no model is asked.
        evaluator: The evaluator's name.
    """

    questions: int
    waiting: int
    passages: int
    calls: int
    evaluator: str


def calibrate(
    labels: LabelSet | Path | str,
    *,
    services: Services | None = None,
    settings: Settings | None = None,
    objective: Objective | None = None,
    label_scale: LabelScale = "auto",
    min_relevant_docs: int = 1,
    unit: Unit | None = None,
    store: ScoreStore | None = None,
    limit: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    retrieving: Progress | None = None,
    approve: Callable[[Plan], None] | None = None,
) -> Calibration:
    """Return the thresholds that the labels call for, with how sure they are. Writes no profile.

    `crag_graph.calibration.write_profile` does that. Whether macro-F1 is three-way follows from the
    labels.

    Args:
        labels: The labels, or their file.
        services: Whose evaluator grades, and whose retriever finds passages for questions that
            have none; by default those that the environment names.
        settings: Of a run: `top_k`, `evaluation_mode`, prompts and so on.
        objective: What to optimise; by default macro-F1.
        label_scale: Of numeric labels.
        min_relevant_docs: How many passages must be relevant for a question to want correct.
        unit: Calibrate on questions or on single passages; by default questions, where they differ.
        store: Where scores are kept; by default in memory alone.
        limit: At most so many questions, the first ones.
        seed: Of all resampling.
        progress: Told how many questions are graded, and of how many.
        retrieving: Told how many questions have their passages, where these must be retrieved.
        approve: Asked before anything is graded; it raises to forbid that.

    Raises:
        InputError: The labels cannot be used, are too few, or want one action only.
        CRAGError: Retrieval or grading failed; what was graded before is kept in `store`.
    """
    services = services or Services.from_env()
    settings = settings or Settings()
    objective = objective or Objective()
    known = (
        labels
        if isinstance(labels, LabelSet)
        else read_labels(Path(labels), scale=label_scale, min_relevant_docs=min_relevant_docs)
    )
    if limit is not None:
        known = dataclasses.replace(known, questions=known.questions[:limit])
    graded, grader = _grade(known, services, settings, store, (retrieving, progress), approve)
    unit = unit or choose_unit(graded.questions)
    sample = make_sample(graded.questions, graded.scores, unit=unit)
    objective = dataclasses.replace(objective, three_way=sample.three_way)
    found = find_thresholds(sample, objective, seed=seed)
    return Calibration(
        labels=known,
        sample=sample,
        objective=objective,
        evaluator=grader.evaluator.name,
        fingerprint=grader.fingerprint,
        rule=found.choice.rule,
        upper=found.upper,
        lower=found.lower,
        auc=found.auc,
        p_value=found.p_value,
        separable=not found.why_not,
        why_not=found.why_not,
        achieved=found.achieved,
        held_out=found.held_out,
        folds=found.folds,
        always=found.always,
        notes=(*known.notes, *_notes(known, graded, sample, settings, found.choice.rule)),
        calls=graded.calls,
        reused=graded.reused,
    )


def _grade(
    labels: LabelSet,
    services: Services,
    settings: Settings,
    store: ScoreStore | None,
    told: tuple[Progress | None, Progress | None],
    approve: Callable[[Plan], None] | None,
) -> tuple[Graded, Grader]:
    evaluator = services.evaluator.get()
    needs_retrieval = any(not question.passages for question in labels.questions)
    retriever = services.retriever.get() if needs_retrieval else None
    questions, documents = with_passages(labels.questions, retriever, settings, progress=told[0])
    grader = Grader(evaluator, settings, store or ScoreStore(None))
    if approve is not None:
        waiting = grader.waiting(questions, documents)
        passages = sum(len(documents[number]) for number in waiting)
        size = 1 if settings.evaluation_mode == "per_passage" else settings.batch_passages
        paid = evaluator is not services.local_evaluator.get() and asks_model(evaluator)
        calls = sum(-(-len(documents[number]) // size) for number in waiting) if paid else 0
        approve(
            Plan(
                questions=len(questions),
                waiting=len(waiting),
                passages=passages,
                calls=calls,
                evaluator=evaluator.name,
            )
        )
    return grader.grade(questions, documents, progress=told[1]), grader


def _notes(
    labels: LabelSet, graded: Graded, sample: Sample, settings: Settings, rule: Rule
) -> list[str]:
    """Return what the reader should know about the sample."""
    notes = []
    count = len(sample.wanted)
    if sample.unit == "passage":
        notes.append(
            "nearly all questions want the same action, so each passage is judged by itself; add "
            "questions that the collection cannot answer to calibrate on whole questions"
        )
    if count < FEW:
        notes.append(
            f"{count} {sample.unit}s are too few to rely on: the intervals are wide, label {FEW} "
            "or more"
        )
    if sample.ungraded:
        notes.append(f"{sample.ungraded} {sample.unit}s without any grade were left out")
    if graded.failed:
        notes.append(f"{graded.failed} passages could not be graded; run it again to try them")
    fewest = min(number for number in sample.counts.values() if number)
    if fewest < 10:
        scarce = next(action for action in CLASSES if sample.counts[action] == fewest)
        notes.append(f"only {fewest} {sample.unit}s want {scarce}: label more of them")
    if labels.form == "passages" and rule.aggregate == "max" and sample.passages < settings.top_k:
        notes.append(
            f"the labels have {_passages(sample.passages)} a {sample.unit}, but a run grades "
            f"{settings.top_k}, and the best of more passages scores higher: label all that is "
            "retrieved, or label questions (should_answer) instead"
        )
    return notes


def _passages(count: float) -> str:
    return "1 passage" if count == 1 else f"{count:g} passages"
