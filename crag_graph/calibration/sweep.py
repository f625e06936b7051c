"""All thresholds at once: what each pair would be worth, and the pair in the middle of the best.

A threshold that lies between two neighbouring scores decides the same wherever it lies between
them, so only the gaps between scores are tried. Among equally good gaps the widest stretch is
taken, and its centre: never a threshold that sits on a score.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crag_graph.calibration.objectives import Counts, Objective
from crag_graph.calibration.sample import Aggregated, Classes, Floats, Ints, Weights

_NARROWEST = 1e-9  # a gap that floating point cannot put a threshold into is none
_TIE = 1e-9
_CHUNK_CELLS = 50_000  # of the table of pairs that is held at once: what fits into a cache


@dataclasses.dataclass(frozen=True, kw_only=True)
class Gaps:
    """The gaps between scores where a threshold may lie, lowest first.

    Attributes:
        low: Their lower ends, on 0–1.
        high: Their upper ends.
    """

    low: Floats
    high: Floats

    @classmethod
    def of(cls, units: Aggregated, *, most: int) -> "Gaps":
        """Return the gaps between the scores of `units`, evenly thinned to `most`."""
        values = np.unique(np.concatenate([units.score, units.best]))
        low = np.concatenate([[0.0], values])
        high = np.concatenate([values, [1.0]])
        usable = np.flatnonzero(high - low > _NARROWEST)
        if len(usable) > most:
            usable = usable[np.unique(np.linspace(0, len(usable) - 1, most).round().astype(int))]
        return cls(low=low[usable], high=high[usable])


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pair:
    """Two thresholds on 0–1, and what they are worth to the objective."""

    upper: float
    lower: float
    value: float


def sweep(units: Aggregated, wanted: Ints, objective: Objective, *, most: int = 600) -> Pair | None:
    """Return the best pair of thresholds; None where no gap between scores can hold one.

    Args:
        units: Scores under one rule.
        wanted: The class that each unit wants.
        objective: What is optimised.
        most: Gaps that are tried at most.
    """
    weights = np.ones((1, len(wanted)))
    return next(sweeps(units, wanted[None, :], weights, objective, most=most))


def sweeps(
    units: Aggregated, wanted: Classes, weights: Weights, objective: Objective, *, most: int
) -> Iterator[Pair | None]:
    """Yield the best pair for each row of `weights`.

    Args:
        units: Scores under one rule.
        wanted: Classes, a row for each row of weights, or one row for all of them.
        weights: How often each unit counts; of the shape rows × units.
        objective: What is optimised.
        most: Gaps that are tried at most.
    """
    gaps = Gaps.of(units, most=most)
    for table in _tables(units, gaps, wanted, weights, objective):
        for row in table:
            yield _centre(row, gaps)


def best_values(
    units: Aggregated, wanted: Classes, weights: Weights, objective: Objective, *, most: int
) -> Floats:
    """Return what the best pair is worth for each row of `weights`, as `sweeps` takes them."""
    gaps = Gaps.of(units, most=most)
    tables = _tables(units, gaps, wanted, weights, objective)
    return np.concatenate([table.max(axis=(1, 2), initial=-np.inf) for table in tables])


def _tables(
    units: Aggregated, gaps: Gaps, wanted: Classes, weights: Weights, objective: Objective
) -> Iterator[Floats]:
    """Yield the worth of all pairs, rows × upper gaps × lower gaps, some rows at a time."""
    # A unit is correct under the upper thresholds below `reach`, and incorrect under the lower ones
    # from `floor` on: so counting by these places, once a row, tells of all the gaps. A table of
    # units and gaps would not fit into memory where there are many units.
    size = len(gaps.low) + 1
    reach = np.searchsorted(gaps.high - _TIE / 2, units.score, side="right")
    floor = np.searchsorted(gaps.low + _TIE / 2, units.best, side="left")
    above = np.arange(len(gaps.low))[None, :] > np.arange(len(gaps.low))[:, None]
    rows = max(1, _CHUNK_CELLS // max(1, len(gaps.low) ** 2))
    for start in range(0, len(weights), rows):
        some = weights[start : start + rows]
        classes = wanted if len(wanted) == 1 else wanted[start : start + rows]
        reached = _counted(some, classes, reach, size)
        floored = _counted(some, classes, floor, size)
        below = reached[:, :, ::-1].cumsum(axis=2)[:, :, ::-1][:, :, 1:]
        up_to = floored.cumsum(axis=2)[:, :, :-1]
        correct: Counts = _three(below[:, number, :, None] for number in range(3))
        incorrect: Counts = _three(up_to[:, number, None, :] for number in range(3))
        whole = reached.sum(axis=2)
        total: Counts = _three(whole[:, number, None, None] for number in range(3))
        table = np.array(objective.value(correct, incorrect, total))
        table[:, above] = -np.inf  # a lower threshold above the upper one
        yield table


def _counted(weights: Weights, classes: Classes, places: Ints, size: int) -> Floats:
    """Return how much weight lies at each place, rows × classes × places."""
    keys = [row.astype(np.intp) * size + places for row in classes]
    counts = [
        np.bincount(keys[number % len(keys)], weights=row, minlength=3 * size)
        for number, row in enumerate(weights)
    ]
    return np.array(counts, dtype=np.float64).reshape(-1, 3, size)


def _three(parts: Any) -> Counts:
    first, second, third = parts
    return first, second, third


def _centre(table: Floats, gaps: Gaps) -> Pair | None:
    """Return the pair in the middle of the widest stretch of best pairs."""
    best = float(table.max(initial=-np.inf))
    if not np.isfinite(best):
        return None
    ties = np.asarray(table >= best - _TIE)
    first, last = _widest(np.asarray(ties.any(axis=1)), gaps)
    at_upper = _gap_near(gaps, first, last, (gaps.low[first] + gaps.high[last]) / 2)
    low_first, low_last = _widest(ties[at_upper], gaps)
    if low_last == at_upper:
        return _in_thirds(ties, gaps, (max(first, low_first), last), at_upper, value=best)
    centre = (gaps.low[low_first] + gaps.high[low_last]) / 2
    at_lower = _gap_near(gaps, low_first, low_last, centre)
    upper_centre = (gaps.low[first] + gaps.high[last]) / 2
    return Pair(
        upper=_within(gaps, at_upper, upper_centre),
        lower=_within(gaps, at_lower, centre),
        value=best,
    )


def _in_thirds(
    ties: NDArray[np.bool_], gaps: Gaps, run: tuple[int, int], gap: int, *, value: float
) -> Pair:
    """Return both thresholds within one stretch of scores, a third of it on every side.

    The stretch is `run` where that is as good, else the one gap.
    """
    floor, ceiling = gaps.low[run[0]], gaps.high[run[1]]
    third = (ceiling - floor) / 3
    at_upper = _gap_near(gaps, *run, ceiling - third)
    at_lower = _gap_near(gaps, *run, floor + third)
    if at_lower <= at_upper and ties[at_upper, at_lower]:
        upper = _within(gaps, at_upper, ceiling - third)
        lower = _within(gaps, at_lower, floor + third)
        return Pair(upper=upper, lower=min(lower, upper), value=value)
    floor, ceiling = gaps.low[gap], gaps.high[gap]
    third = (ceiling - floor) / 3
    return Pair(
        upper=_short(ceiling - third, floor + 1.5 * third, ceiling),
        lower=_short(floor + third, floor, ceiling - 1.5 * third),
        value=value,
    )


def _widest(marked: NDArray[np.bool_], gaps: Gaps) -> tuple[int, int]:
    """Return the first and last gap of the widest run of marked ones; of equals the lowest."""
    edges = np.diff(np.concatenate([[0], marked.astype(np.int8), [0]]))
    starts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1) - 1
    widths = gaps.high[ends] - gaps.low[starts]
    widest = int(np.argmax(widths >= widths.max() - _TIE))
    return int(starts[widest]), int(ends[widest])


def _gap_near(gaps: Gaps, first: int, last: int, value: float) -> int:
    """Return the gap of a run that holds `value`; the wider of two where it lies on a score."""
    inside = np.arange(first, last + 1)
    distance = np.maximum(gaps.low[inside] - value, value - gaps.high[inside])
    near = inside[distance <= max(0.0, float(distance.min())) + _TIE]
    return int(near[np.argmax((gaps.high - gaps.low)[near])])


def _within(gaps: Gaps, gap: int, value: float) -> float:
    """Return `value`, moved into the gap so far that a quarter of it lies on every side."""
    low, high = float(gaps.low[gap]), float(gaps.high[gap])
    margin = (high - low) / 4
    return _short(min(max(value, low + margin), high - margin), low, high)


def _short(value: float, low: float, high: float) -> float:
    """Return `value` with as few decimals, from two, as leave it well inside of `low`…`high`."""
    room = min(value - low, high - value) / 2
    for decimals in range(2, 15):
        rounded = round(float(value), decimals)
        if low + room < rounded < high - room and abs(rounded - value) <= room:
            return rounded
    return float(value)
