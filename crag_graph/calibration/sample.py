"""What is calibrated on: for each unit its scores under every aggregate, and the action it wants.

A unit is a question with all its passages, as a run would see it, or one labelled passage by
itself. Classes are numbered 0 incorrect, 1 ambiguous, 2 correct.
"""

import dataclasses
import statistics
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crag_graph.calibration.labels import LabelledQuestion
from crag_graph.settings import Aggregate, Thresholds
from crag_graph.state import Action

Unit = Literal["question", "passage"]
Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Classes = Ints | NDArray[np.int8]
Weights = NDArray[np.float64] | NDArray[np.uint8] | NDArray[np.bool_]
"""How often each unit counts: rows × units, of any kind of number."""

CLASSES: tuple[Action, ...] = ("incorrect", "ambiguous", "correct")
_CLASS = {action: number for number, action in enumerate(CLASSES)}
_FEWEST_A_CLASS = 5


@dataclasses.dataclass(frozen=True, order=True)
class Rule:
    """An aggregate, with the k of `kth_best`; 1 for the others."""

    aggregate: Aggregate
    k: int = 1


RULES = (Rule("max"), Rule("mean"), Rule("kth_best", 2), Rule("kth_best", 3))
"""What is tried, the first of equally good ones chosen. The best one is `kth_best` with k = 1."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Aggregated:
    """The units under one rule.

    Attributes:
        score: What the upper threshold is compared with, 0–1, one a unit.
        best: What the lower one is compared with: the best passage under `kth_best`, else `score`.
    """

    score: Floats
    best: Floats


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sample:
    """The units.

    Attributes:
        unit: What one of them is.
        rules: The units' scores under each rule.
        wanted: The class of each unit, 0–2.
        groups: The question that each belongs to, counted from 0: what is drawn together.
        passages: The median number of passages of a unit.
        ungraded: Units left out because none of their passages has a grade.
    """

    unit: Unit
    rules: Mapping[Rule, Aggregated]
    wanted: Ints
    groups: Ints
    passages: float
    ungraded: int = 0

    @property
    def counts(self) -> dict[Action, int]:
        """How many units want each action."""
        found = np.bincount(self.wanted, minlength=len(CLASSES))
        return {action: int(found[number]) for number, action in enumerate(CLASSES)}

    @property
    def three_way(self) -> bool:
        """Whether any unit wants to be ambiguous."""
        return bool((self.wanted == _CLASS["ambiguous"]).any())


def aggregated(scores: Sequence[Sequence[float]], rule: Rule) -> Aggregated:
    """Return the aggregates of each unit's known scores, exactly as `crag_graph.verdict` has them.

    Args:
        scores: Of each unit at least one.
        rule: The aggregate.
    """
    best = np.array([max(unit) for unit in scores], dtype=np.float64)
    if rule.aggregate == "mean":
        mean = np.array([float(statistics.mean(unit)) for unit in scores], dtype=np.float64)
        return Aggregated(score=mean, best=mean)
    if rule.aggregate == "max" or rule.k == 1:
        return Aggregated(score=best, best=best)
    kth = [
        sorted(unit, reverse=True)[rule.k - 1] if rule.k <= len(unit) else 0.0 for unit in scores
    ]
    return Aggregated(score=np.array(kth, dtype=np.float64), best=best)


def actions_of(units: Aggregated, *, upper: float, lower: float) -> Ints:
    """Return the class of the action that each unit would take, by the rule of the verdict."""
    actions = np.full(len(units.score), _CLASS["ambiguous"], dtype=np.intp)
    actions[units.best <= lower] = _CLASS["incorrect"]
    actions[units.score >= upper] = _CLASS["correct"]
    return actions


def rule_of(thresholds: Thresholds) -> Rule:
    """Return the rule that `thresholds` are compared by."""
    k = thresholds.min_relevant_docs if thresholds.aggregate == "kth_best" else 1
    return Rule(thresholds.aggregate, k)


def choose_unit(questions: Sequence[LabelledQuestion]) -> Unit:
    """Return what to calibrate on: questions, unless nearly all of them want the same action.

    In a set where every question has its relevant passage only the passages tell anything apart.
    """
    wanted = [question.wanted for question in questions]
    if sum(wanted.count(action) >= _FEWEST_A_CLASS for action in CLASSES) > 1:
        return "question"
    classes = [passage.wanted for question in questions for passage in question.passages]
    enough = sum(classes.count(action) >= _FEWEST_A_CLASS for action in CLASSES) > 1
    return "passage" if enough else "question"


def make_sample(
    questions: Sequence[LabelledQuestion],
    scores: Sequence[Sequence[float | None]],
    *,
    unit: Unit,
    rules: Sequence[Rule] = RULES,
) -> Sample:
    """Return the sample of graded questions.

    Args:
        questions: With their labels.
        scores: For each question one score a passage, 0–1, None where there is no grade.
        unit: What is calibrated on.
        rules: The aggregates; for passages only `max` means anything.
    """
    known: list[list[float]] = []
    wanted: list[int] = []
    groups: list[int] = []
    ungraded = 0
    for number, (question, graded) in enumerate(zip(questions, scores, strict=True)):
        if unit == "question":
            pieces = [(question.wanted, [score for score in graded if score is not None])]
        else:
            pieces = [
                (passage.wanted, [] if score is None else [score])
                for passage, score in zip(question.passages, graded, strict=True)
                if passage.wanted is not None
            ]
        for action, some in pieces:
            if not some:
                ungraded += 1
                continue
            known.append(some)
            wanted.append(_CLASS[action or "incorrect"])
            groups.append(number)
    several = any(len(some) > 1 for some in known)
    return Sample(
        unit=unit,
        rules={rule: aggregated(known, rule) for rule in (rules if several else rules[:1])},
        wanted=np.array(wanted, dtype=np.intp),
        groups=np.unique(np.array(groups, dtype=np.intp), return_inverse=True)[1],
        passages=float(statistics.median(len(some) for some in known)) if known else 0.0,
        ungraded=ungraded,
    )
