"""What `benchmarks.cascade` reports: macro-F1, its intervals, and the ceiling of any routing."""

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.cascade_questions import ACTIONS

_ROUNDS = 1000


@dataclasses.dataclass(frozen=True, kw_only=True)
class Outcome:
    """What an evaluator made of each question, and for how many calls."""

    actions: NDArray[np.intp]
    called: NDArray[np.bool_]


def joined(parts: Sequence[Outcome]) -> Outcome:
    """Return `parts`, one after the other, as one."""
    return Outcome(
        actions=np.concatenate([part.actions for part in parts]),
        called=np.concatenate([part.called for part in parts]),
    )


def macro_f1(said: NDArray[np.intp], truth: NDArray[np.intp]) -> float:
    """Return the mean over the three actions of F1; 0 for one that is never right."""
    return _mean_f1(said, truth, range(len(ACTIONS)))


def two_way_f1(said: NDArray[np.intp], truth: NDArray[np.intp]) -> float:
    """Return the mean F1 of correct and incorrect over the questions of these two truths."""
    ends = [place for place, action in enumerate(ACTIONS) if action != "ambiguous"]
    asked = np.isin(truth, ends)
    return _mean_f1(said[asked], truth[asked], ends)


def _mean_f1(said: NDArray[np.intp], truth: NDArray[np.intp], actions: Sequence[int]) -> float:
    found = []
    for action in actions:
        right = float(np.sum((said == action) & (truth == action)))
        about = float(np.sum(said == action) + np.sum(truth == action))
        found.append(2 * right / about if about else 0.0)
    return float(np.mean(found))


def best_routing(first: Outcome, then: Outcome, truth: NDArray[np.intp], share: float) -> Outcome:
    """Return what a cascade would make of it that knew where `first` errs and `then` does not.

    No rule can do better with at most `share` of the calls.
    """
    mended = np.flatnonzero((first.actions != truth) & (then.actions == truth))
    called = np.zeros(len(truth), dtype=bool)
    called[mended[: int(share * len(truth))]] = True
    return Outcome(actions=np.where(called, then.actions, first.actions), called=called)


def draws(size: int) -> list[NDArray[np.intp]]:
    """Return the indices of the questions of each bootstrap round."""
    draw = np.random.default_rng(7)
    return [draw.integers(0, size, size) for _ in range(_ROUNDS)]


def interval(values: Sequence[float]) -> str:
    """Return the 95 % interval of `values` in brackets."""
    low, high = np.percentile(values, [2.5, 97.5])
    return f"[{low:.3f}, {high:.3f}]"
