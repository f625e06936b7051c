"""How the actions agree with what should have been done."""

from collections.abc import Sequence

import numpy as np

from crag_graph.evaluation.bootstrap import Floats, Measure, divided

ACTIONS = ("correct", "ambiguous", "incorrect")
_RIGHT = {True: "correct", False: "incorrect"}

Judged = tuple[str, bool]
"""The action that was taken, and whether what was retrieved could be answered from."""


def confusion(judged: Sequence[Judged | None]) -> dict[str, dict[str, int]]:
    """Return how often each action was taken, by what should have been."""
    return {
        name: {
            action: sum(pair == (action, truth) for pair in judged if pair) for action in ACTIONS
        }
        for name, truth in (("answerable", True), ("unanswerable", False))
    }


def balanced_accuracy(judged: Sequence[Judged | None]) -> Measure:
    """Return the mean of two shares: `correct` of the answerable, `incorrect` of the others.

    Ambiguous is right for neither. NaN where one of the two kinds of question is missing.
    """

    def measure(weights: Floats) -> Floats:
        shares = [
            divided(
                weights @ _taken(judged, action, truth=truth),
                weights @ _taken(judged, None, truth=truth),
            )
            for truth, action in _RIGHT.items()
        ]
        return (shares[0] + shares[1]) / 2

    return measure


def macro_f1(judged: Sequence[Judged | None]) -> Measure:
    """Return the mean F1 of `correct` for the answerable and `incorrect` for the others.

    Ambiguous claims neither: it costs recall and no precision. NaN where a kind is missing.
    """

    def measure(weights: Floats) -> Floats:
        scores = []
        for truth, action in _RIGHT.items():
            right = weights @ _taken(judged, action, truth=truth)
            claimed = right + weights @ _taken(judged, action, truth=not truth)
            wanted = weights @ _taken(judged, None, truth=truth)
            score = divided(2 * right, claimed + wanted)
            scores.append(np.where(wanted > 0, score, np.nan))
        return (scores[0] + scores[1]) / 2

    return measure


def separation(scores: Sequence[float | None], truths: Sequence[bool | None]) -> Measure:
    """Return the area under the ROC curve of the aggregate score, ties counted half.

    It says how well the scores tell both kinds of question apart whatever the thresholds are; 0.5
    is chance. NaN where a kind is missing. A None takes no part.
    """
    pairs = zip(scores, truths, strict=True)
    known = [at for at, pair in enumerate(pairs) if None not in pair]
    order = np.array(sorted(known, key=lambda at: scores[at] or 0.0), dtype=np.intp)
    values = np.array([scores[at] for at in order], dtype=np.float64)
    truth = np.array([truths[at] for at in order], dtype=np.float64)
    starts = np.flatnonzero(np.r_[True, values[1:] != values[:-1]]) if len(values) else order

    def measure(weights: Floats) -> Floats:
        if not len(order):
            return np.full(len(weights), np.nan)
        positive = np.add.reduceat(weights[:, order] * truth, starts, axis=1)
        negative = np.add.reduceat(weights[:, order] * (1 - truth), starts, axis=1)
        below = np.cumsum(negative, axis=1) - negative / 2
        both = positive.sum(axis=1) * negative.sum(axis=1)
        return divided((positive * below).sum(axis=1), both)

    return measure


def _taken(judged: Sequence[Judged | None], action: str | None, *, truth: bool) -> Floats:
    return np.array(
        [pair is not None and pair[1] == truth and action in (None, pair[0]) for pair in judged],
        dtype=np.float64,
    )
