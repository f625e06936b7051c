"""What is reported: areas, averages and errors, with bootstrap intervals over questions."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray


def auc(scores: ArrayLike, labels: ArrayLike) -> float:
    """Return the area under the ROC curve, ties counted half; NaN without both labels."""
    values, inverse, counts = np.unique(
        np.asarray(scores, dtype=float), return_inverse=True, return_counts=True
    )
    del values
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    truth = np.asarray(labels, dtype=bool)
    positive, negative = int(truth.sum()), int((~truth).sum())
    if not positive or not negative:
        return float("nan")
    return float((ranks[truth].sum() - positive * (positive + 1) / 2) / (positive * negative))


def balanced_accuracy(scores: ArrayLike, labels: ArrayLike, threshold: float) -> float:
    """Return the mean of the shares of right answers among both labels; `>=` says yes."""
    said = np.asarray(scores, dtype=float) >= threshold
    truth = np.asarray(labels, dtype=bool)
    return float((said[truth].mean() + (~said[~truth]).mean()) / 2)


def best_threshold(scores: ArrayLike, labels: ArrayLike) -> float:
    """Return the threshold of the highest balanced accuracy."""
    ordered = np.unique(np.asarray(scores, dtype=float))
    middles = np.append((ordered[1:] + ordered[:-1]) / 2, ordered[0])
    return float(max(middles, key=lambda at: balanced_accuracy(scores, labels, float(at))))


def average_precision(scores: ArrayLike, labels: ArrayLike) -> float:
    """Return the average precision; NaN without a positive label."""
    order = np.argsort(-np.asarray(scores, dtype=float), kind="stable")
    truth = np.asarray(labels, dtype=bool)[order]
    if not truth.any():
        return float("nan")
    precision = np.cumsum(truth) / np.arange(1, len(truth) + 1)
    return float(precision[truth].mean())


def calibration_error(scores: ArrayLike, labels: ArrayLike, *, bins: int = 10) -> float:
    """Return the expected calibration error over bins of equal width."""
    probabilities = np.asarray(scores, dtype=float)
    truth = np.asarray(labels, dtype=float)
    where = np.minimum((probabilities * bins).astype(int), bins - 1)
    gaps = [
        abs(probabilities[where == at].mean() - truth[where == at].mean()) * (where == at).mean()
        for at in range(bins)
        if (where == at).any()
    ]
    return float(sum(gaps))


def interval(
    measure: Callable[[NDArray[np.intp]], float], size: int, *, rounds: int = 500, seed: int = 7
) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of `measure`, which gets the drawn questions' indices."""
    draw = np.random.default_rng(seed)
    found = [measure(draw.integers(0, size, size)) for _ in range(rounds)]
    low, high = np.nanpercentile(found, [2.5, 97.5])
    return float(low), float(high)


def shares(scores: Sequence[float], *, upper: float, lower: float) -> tuple[float, float, float]:
    """Return the shares that the verdict calls correct, ambiguous and incorrect."""
    values = np.asarray(scores, dtype=float)
    correct, incorrect = float((values >= upper).mean()), float((values <= lower).mean())
    return correct, 1 - correct - incorrect, incorrect
