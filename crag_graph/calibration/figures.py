"""What thresholds achieve: the objective, accuracy by class, false correct, searches."""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from crag_graph.calibration.objectives import Objective
from crag_graph.calibration.resampling import Interval, interval, tallies
from crag_graph.calibration.sample import Floats, Ints, Weights


@dataclasses.dataclass(frozen=True, kw_only=True)
class Figure:
    """A number with its 95 % bootstrap interval."""

    value: float
    low: float
    high: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class Figures:
    """What some thresholds achieve on some units. Shares are 0–1.

    Attributes:
        objective: What was optimised: macro-F1, or minus the mean cost.
        agreement: Share of units whose action is the wanted one.
        right_correct: Share of the units with the action correct that want it.
        false_correct: Share of the units wanting incorrect that are answered from the corpus alone.
        missed: Share of the units wanting correct whose passages are set aside.
        correct: Share of all units with the action correct.
        ambiguous: Share with the action ambiguous.
        incorrect: Share with the action incorrect.
        searches: Share that searches the web.
    """

    objective: Figure
    agreement: Figure
    right_correct: Figure
    false_correct: Figure
    missed: Figure
    correct: Figure
    ambiguous: Figure
    incorrect: Figure
    searches: Figure


def figures_of(actions: Ints, wanted: Ints, weights: Weights, objective: Objective) -> Figures:
    """Return the figures of actions, each the mean over their rows, with intervals.

    Args:
        actions: One row, or one a repetition of cross-validation; × units.
        wanted: Classes.
        weights: Bootstrap draws, rows × units.
        objective: What was optimised.
    """
    ones = np.ones((1, len(wanted)))
    points = np.mean(
        [_measured(tally, objective) for tally in tallies(actions, wanted, ones)], axis=0
    )
    drawn = np.mean(
        [_measured(tally, objective) for tally in tallies(actions, wanted, weights)], axis=0
    )
    names = [field.name for field in dataclasses.fields(Figures)]
    return Figures(
        **{
            name: _figure(float(points[number, 0]), interval(drawn[number]))
            for number, name in enumerate(names)
        }
    )


def _figure(value: float, between: Interval) -> Figure:
    low, high = between
    return Figure(value=value, low=min(low, value), high=max(high, value))


def _measured(tally: NDArray[np.float64], objective: Objective) -> NDArray[np.float64]:
    """Return the figures, in the order of `Figures`, × draws; `tally` is draws × action × class."""
    incorrect, ambiguous, correct = tally[:, 0, :], tally[:, 1, :], tally[:, 2, :]
    total = tally.sum(axis=1)
    everything = total.sum(axis=1)
    value = dataclasses.replace(objective, max_searches=1.0).value(
        (correct[:, 0], correct[:, 1], correct[:, 2]),
        (incorrect[:, 0], incorrect[:, 1], incorrect[:, 2]),
        (total[:, 0], total[:, 1], total[:, 2]),
    )
    shares = [part.sum(axis=1) / everything for part in (correct, ambiguous, incorrect)]
    return np.array(
        [
            value,
            (incorrect[:, 0] + ambiguous[:, 1] + correct[:, 2]) / everything,
            _share(correct[:, 2], correct.sum(axis=1)),
            _share(correct[:, 0], total[:, 0]),
            _share(incorrect[:, 2], total[:, 2]),
            *shares,
            1 - shares[0],
        ]
    )


def _share(part: Floats, whole: Floats) -> Floats:
    return np.where(whole > 0, part / np.maximum(whole, 1e-12), 0.0)
