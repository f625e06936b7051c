"""From a sample to thresholds, and to how sure they are."""

import dataclasses

import numpy as np

from crag_graph.calibration.figures import Figure, Figures, figures_of
from crag_graph.calibration.objectives import Objective
from crag_graph.calibration.resampling import (
    Choice,
    always,
    auc,
    choose,
    draws,
    fold_count,
    held_out_actions,
    interval,
    shuffled_p_value,
    threshold_intervals,
)
from crag_graph.calibration.sample import CLASSES, Sample, actions_of
from crag_graph.errors import InputError
from crag_graph.wording import counted

FEWEST = 10
"""Units below which thresholds would be an accident; refused."""
FEW = 30
"""Units below which it is said that they are too few."""

_DRAWS = 1000
_SHUFFLES = 400
_REPEATS = 10
_SIGNIFICANT = 0.05


@dataclasses.dataclass(frozen=True, kw_only=True)
class Found:
    """Thresholds with their figures; the fields are those of `Calibration`."""

    choice: Choice
    upper: Figure
    lower: Figure
    auc: Figure
    p_value: float
    why_not: tuple[str, ...]
    achieved: Figures
    held_out: Figures
    folds: int
    always: tuple[tuple[str, float], ...]


def check_sample(sample: Sample) -> None:
    """Refuse a sample that no thresholds can be found on.

    Raises:
        InputError: It has fewer than 10 units, or one class only.
    """
    count = len(sample.wanted)
    if count < FEWEST:
        raise InputError(
            f"{counted(count, f'graded {sample.unit}')} with labels "
            f"{'is' if count == 1 else 'are'} too few to calibrate on: give "
            f"{FEWEST} at the very least, {FEW} or more for thresholds to rely on"
        )
    classes = [action for action in CLASSES if sample.counts[action]]
    if len(classes) < 2:
        raise InputError(
            f"every {sample.unit} is labelled {classes[0]}, so nothing can be told apart: add "
            + (
                "questions that the collection cannot answer"
                if classes[0] == "correct"
                else "questions that it can answer"
            )
        )


def find_thresholds(sample: Sample, objective: Objective, *, seed: int = 0) -> Found:
    """Return the best thresholds for `objective` with intervals, held-out figures and tests.

    Raises:
        InputError: The sample is too small, has one class only, or no threshold is allowed.
    """
    check_sample(sample)
    choice = choose(sample, objective)
    if choice is None:
        raise InputError(
            f"no thresholds meet {objective.describe()}: allow more searches"
            if objective.name == "searches"
            else "all scores are the same, so no threshold can be placed"
        )
    units = sample.rules[choice.rule]
    weights = draws(sample, _DRAWS, seed)
    upper, lower = threshold_intervals(sample, choice.rule, objective, weights)
    area = float(auc(units.score, sample.wanted)[0])
    area_low, area_high = interval(auc(units.score, sample.wanted, weights))
    p_value = shuffled_p_value(sample, objective, rounds=_SHUFFLES, seed=seed)
    actions = actions_of(units, upper=choice.pair.upper, lower=choice.pair.lower)
    folds = fold_count(sample)
    out = held_out_actions(sample, objective, folds=folds, repeats=_REPEATS, seed=seed)
    alone = always(sample, objective)
    return Found(
        choice=choice,
        upper=_around(choice.pair.upper, upper),
        lower=_around(choice.pair.lower, lower),
        auc=Figure(value=area, low=area_low, high=area_high),
        p_value=p_value,
        why_not=_why_not(area_low, area_high, p_value, actions, alone),
        achieved=figures_of(actions[None, :], sample.wanted, weights, objective),
        held_out=figures_of(out, sample.wanted, weights, objective),
        folds=folds,
        always=tuple(alone),
    )


def _around(value: float, between: tuple[float, float]) -> Figure:
    low, high = between
    return Figure(value=value, low=min(low, value), high=max(high, value))


def _why_not(
    low: float,
    high: float,
    p_value: float,
    actions: "np.ndarray[tuple[int, ...], np.dtype[np.intp]]",
    alone: list[tuple[str, float]],
) -> tuple[str, ...]:
    """Return why the scores do not tell the classes apart; nothing where they do."""
    reasons = []
    if low <= 0.5:
        reasons.append(
            f"the AUC's 95 % interval, {low:.2f} to {high:.2f}, includes 0.5, which is chance"
        )
    if p_value >= _SIGNIFICANT:
        reasons.append(
            f"shuffled labels can be told apart as well in {p_value:.0%} of cases, so it is no "
            f"better than always choosing {alone[0][0]}"
        )
    if len(np.unique(actions)) == 1:
        only = CLASSES[int(actions[0])]
        reasons.append(f"the best thresholds choose {only} for every question")
    return tuple(reasons)
