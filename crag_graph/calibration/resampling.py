"""How sure the thresholds are: bootstrap over questions, cross-validation, shuffled labels.

Questions are drawn, not passages: the passages of one question are not independent of each other.
Everything is seeded.
"""

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from crag_graph.calibration.objectives import Objective
from crag_graph.calibration.sample import (
    CLASSES,
    Aggregated,
    Floats,
    Ints,
    Rule,
    Sample,
    Weights,
    actions_of,
)
from crag_graph.calibration.sweep import Pair, best_values, sweep, sweeps

GAPS = 96
"""Gaps tried for each resample; the thresholds themselves are swept in all of them."""

_BETTER = 0.01
_LEVEL = 0.95
_FEWEST_IN_FOLD = 2
_ROWS = 50  # of draws that are multiplied at once

Interval = tuple[float, float]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Choice:
    """Thresholds with the rule that they are compared by."""

    rule: Rule
    pair: Pair


def choose(sample: Sample, objective: Objective) -> Choice | None:
    """Return the best rule and pair of thresholds; None where no threshold can be placed.

    A rule must be better than the ones before it by a unit's worth, and by a point at least, to be
    taken in their place.
    """
    best: Choice | None = None
    for rule, units in sample.rules.items():
        pair = sweep(units, sample.wanted, objective)
        if pair is None:
            continue
        if best is None or pair.value > best.pair.value + _margin(sample, best.pair):
            best = Choice(rule=rule, pair=pair)
    return best


def _margin(sample: Sample, before: Pair) -> float:
    """Return by how much a rule must be better: less is the luck of single units."""
    return max(_BETTER, 1 / len(sample.wanted)) * max(1.0, abs(before.value))


def auc(score: Floats, wanted: Ints, weights: Weights | None = None) -> Floats:
    """Return the chance that of two units of different classes the higher class scores higher.

    Ties count half. With two classes it is the area under the ROC curve; with three it is over all
    pairs of different classes.

    Args:
        score: One a unit.
        wanted: Classes.
        weights: How often each unit counts, rows × units; by default one row of ones.

    Returns:
        One value a row of weights, 0.5 where a row holds one class only.
    """
    rows: Weights = np.ones((1, len(score))) if weights is None else weights
    # By the places of the scores rather than by pairs of units, of which there may be too many.
    values, places = np.unique(score, return_inverse=True)
    size, classes = len(values), len(CLASSES)
    keys = wanted * size + places
    areas = np.empty(len(rows))
    for number, row in enumerate(rows):
        counts = np.bincount(keys, weights=row, minlength=classes * size).reshape(classes, size)
        lower = np.vstack([np.zeros(size), counts[:-1].cumsum(axis=0)])  # of all lower classes
        won = float((counts * (lower.cumsum(axis=1) - lower / 2)).sum())
        pairs = float((counts.sum(axis=1) * lower.sum(axis=1)).sum())
        areas[number] = won / pairs if pairs else 0.5
    return areas


def draws(sample: Sample, count: int, seed: int) -> NDArray[np.uint8]:
    """Return `count` bootstrap weights, rows × units: all units of a question are drawn together.

    Rows in which a class of the sample is missing are drawn again, a few times.
    """
    random = np.random.default_rng(seed)
    groups = int(sample.groups.max()) + 1
    classes = [np.flatnonzero(sample.wanted == number) for number in np.unique(sample.wanted)]
    rows: list[NDArray[np.uint8]] = []
    spare = 10 * count
    while len(rows) < count:
        drawn = np.bincount(random.integers(0, groups, groups), minlength=groups)
        # Drawn more than 255 times is nothing that happens, and eight bytes would be gigabytes.
        weights = np.minimum(drawn, 255).astype(np.uint8)[sample.groups]
        whole = all(weights[members].any() for members in classes)
        if whole or not spare:
            rows.append(weights)
        else:
            spare -= 1
    return np.array(rows)


def interval(values: Floats) -> Interval:
    """Return the middle 95 % of `values`."""
    tail = (1 - _LEVEL) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return float(low), float(high)


def threshold_intervals(
    sample: Sample, rule: Rule, objective: Objective, weights: Weights
) -> tuple[Interval, Interval]:
    """Return the intervals of the upper and the lower threshold, chosen anew in each resample."""
    units = sample.rules[rule]
    found = sweeps(units, sample.wanted[None, :], weights, objective, most=GAPS)
    pairs = [pair for pair in found if pair is not None]
    if not pairs:
        return (0.0, 1.0), (0.0, 1.0)
    return (
        interval(np.array([pair.upper for pair in pairs])),
        interval(np.array([pair.lower for pair in pairs])),
    )


def held_out_actions(
    sample: Sample, objective: Objective, *, folds: int, repeats: int, seed: int
) -> Ints:
    """Return the actions of units under thresholds and a rule chosen without them.

    Returns:
        repeats × units classes of actions.
    """
    random = np.random.default_rng(seed)
    rules = list(sample.rules.items())
    found = np.empty((repeats, len(sample.wanted)), dtype=np.intp)
    parts = [_folds(sample, folds, random) for _ in range(repeats)]
    weights = np.array([fold[None, :] != np.arange(folds)[:, None] for fold in parts])
    flat = weights.reshape(-1, len(sample.wanted))
    chosen: list[tuple[Aggregated, Pair] | None] = [None] * len(flat)
    for _, units in rules:
        swept = sweeps(units, sample.wanted[None, :], flat, objective, most=GAPS * 2)
        for row, pair in enumerate(swept):
            before = chosen[row]
            if pair is None:
                continue
            if before is None or pair.value > before[1].value + _margin(sample, before[1]):
                chosen[row] = units, pair
    for repeat in range(repeats):
        for fold in range(folds):
            choice = chosen[repeat * folds + fold]
            out = parts[repeat] == fold
            if choice is None:
                found[repeat, out] = 1  # no threshold at all: ambiguous
                continue
            units, pair = choice
            actions = actions_of(units, upper=pair.upper, lower=pair.lower)
            found[repeat, out] = actions[out]
    return found


def shuffled_p_value(sample: Sample, objective: Objective, *, rounds: int, seed: int) -> float:
    """Return how often shuffled labels can be told apart as well as the real ones.

    The whole sweep is run on each shuffle, so that its own optimism is part of the comparison.
    """
    random = np.random.default_rng(seed)
    permuted = [random.permutation(sample.wanted).astype(np.int8) for _ in range(rounds)]
    shuffled = np.array([sample.wanted.astype(np.int8), *permuted])
    weights = np.broadcast_to(np.ones(len(sample.wanted)), shuffled.shape)
    best = np.max(
        [
            best_values(units, shuffled, weights, objective, most=GAPS)
            for units in sample.rules.values()
        ],
        axis=0,
    )
    if not np.isfinite(best[0]):
        return 1.0
    return float((1 + (best[1:] >= best[0] - 1e-9).sum()) / (rounds + 1))


def fold_count(sample: Sample, most: int = 5) -> int:
    """Return into how many parts the sample can be cut so that each holds some of each class."""
    fewest = min(_questions_of(sample).values(), default=0)
    return max(2, min(most, fewest // _FEWEST_IN_FOLD))


def _questions_of(sample: Sample) -> dict[int, int]:
    return {
        number: len(np.unique(sample.groups[sample.wanted == number]))
        for number in range(len(CLASSES))
        if (sample.wanted == number).any()
    }


def _folds(sample: Sample, folds: int, random: np.random.Generator) -> Ints:
    """Return the fold of each unit: questions stay together, classes are spread evenly."""
    count = int(sample.groups.max()) + 1
    highest = np.zeros(count, dtype=np.intp)
    np.maximum.at(highest, sample.groups, sample.wanted)
    of_group = np.empty(count, dtype=np.intp)
    for start, number in enumerate(np.unique(highest)):
        members = random.permutation(np.flatnonzero(highest == number))
        of_group[members] = (np.arange(len(members)) + start) % folds
    return of_group[sample.groups]


def tallies(actions: Ints, wanted: Ints, weights: Weights) -> Iterator[NDArray[np.float64]]:
    """Yield, for each row of `actions`, its confusion counts: draws × action × class wanted."""
    size = len(CLASSES)
    for row in np.atleast_2d(actions):
        cell = row * size + wanted
        marks = (cell[:, None] == np.arange(size * size)[None, :]).astype(np.float32)
        # Whole numbers, so that single precision is exact.
        counts = [
            weights[start : start + _ROWS].astype(np.float32) @ marks
            for start in range(0, len(weights), _ROWS)
        ]
        yield np.concatenate(counts).reshape(-1, size, size).astype(np.float64)


def always(sample: Sample, objective: Objective) -> list[tuple[str, float]]:
    """Return what it would be worth to take one action always, best first."""
    total = [float((sample.wanted == number).sum()) for number in range(len(CLASSES))]
    nothing = (0.0, 0.0, 0.0)
    whole = (total[0], total[1], total[2])
    values: Sequence[tuple[str, float]] = [
        ("correct", float(objective.value(whole, nothing, whole))),
        ("ambiguous", float(objective.value(nothing, nothing, whole))),
        ("incorrect", float(objective.value(nothing, whole, whole))),
    ]
    return sorted(values, key=lambda item: -item[1])
