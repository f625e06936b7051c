"""Small convex models, fitted with scipy's L-BFGS-B on standardised features."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

_RIDGE = 1e-3
# How sharply the soft maximum over candidates picks the best one.
_SHARPNESS = 8.0

Array = NDArray[np.float64]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Logistic:
    """A weighted sum on the logit scale, over raw features."""

    bias: float
    weights: Array

    def __call__(self, rows: Array) -> Any:
        """Return the logit of each row, or of the one row."""
        return rows @ self.weights + self.bias

    def fields(self, names: Sequence[str]) -> dict[str, Any]:
        """Return it as JSON with a name for each weight."""
        weights = {
            name: round(float(weight), 4) for name, weight in zip(names, self.weights, strict=True)
        }
        return {"bias": round(self.bias, 4), "weights": weights}


class _Scale:
    """Standardises features, and takes weights back to raw ones."""

    def __init__(self, rows: Array) -> None:
        self.mean, self.deviation = rows.mean(axis=0), rows.std(axis=0) + 1e-6

    def __call__(self, rows: Array) -> Array:
        scaled: Array = (rows - self.mean) / self.deviation
        return scaled

    def back(self, weights: Array, bias: float) -> Logistic:
        raw = weights / self.deviation
        return Logistic(bias=float(bias - raw @ self.mean), weights=raw)


def fit_listwise(
    groups: Sequence[Array], labels: Sequence[Array], weights: Array, *, free: Sequence[bool]
) -> Logistic:
    """Return the sum under which the softmax over each group's rows puts most on the labelled ones.

    Args:
        groups: Features, (rows, features) each.
        labels: 0 or 1 for each row of each group; both occur in every group.
        weights: One a group.
        free: Which weights may be negative.
    """
    rows, truth = np.concatenate(groups), np.concatenate(labels) > 0
    scale = _Scale(rows)
    rows = scale(rows)
    sizes = np.array([len(group) for group in groups])
    starts, owner = np.cumsum(sizes) - sizes, np.repeat(np.arange(len(sizes)), sizes)

    def loss(parameters: Array) -> tuple[float, Array]:
        logits = rows @ parameters
        powers = np.exp(logits - np.maximum.reduceat(logits, starts)[owner])
        whole = np.add.reduceat(powers, starts)
        right = np.where(truth, powers, 0.0)
        part = np.maximum(np.add.reduceat(right, starts), 1e-12)
        value = float((weights * (np.log(whole) - np.log(part))).sum())
        slope = rows.T @ (weights[owner] * (powers / whole[owner] - right / part[owner]))
        return _ridged(value, slope, parameters, weights.sum())

    bounds = [(None if can else 0.0, None) for can in free]
    return scale.back(_minimum(loss, rows.shape[1], bounds), 0.0)


def fit_pooled(groups: Sequence[Array], labels: Array, weights: Array) -> Logistic:
    """Return the logistic model whose soft maximum over each group's rows tells the label.

    No weight is negative.

    Args:
        groups: Features, (rows, features) each.
        labels: 0 or 1, one a group.
        weights: One a group.
    """
    rows = np.concatenate(groups)
    scale = _Scale(rows)
    rows = scale(rows)
    sizes = np.array([len(group) for group in groups])
    starts, owner = np.cumsum(sizes) - sizes, np.repeat(np.arange(len(sizes)), sizes)

    def loss(parameters: Array) -> tuple[float, Array]:
        logits = rows @ parameters[:-1]
        top = np.maximum.reduceat(logits, starts)
        powers = np.exp(_SHARPNESS * (logits - top[owner]))
        whole = np.add.reduceat(powers, starts)
        pooled = top + np.log(whole) / _SHARPNESS + parameters[-1]
        value = float((weights * (np.logaddexp(0, pooled) - labels * pooled)).sum())
        wrong = weights * (_logistic(pooled) - labels)
        slope = rows.T @ (powers / whole[owner] * wrong[owner])
        value, slope = _ridged(value, slope, parameters[:-1], weights.sum())
        return value, np.append(slope, wrong.sum())

    bounds = [(0.0, None)] * rows.shape[1] + [(None, None)]
    found = _minimum(loss, rows.shape[1] + 1, bounds)
    return scale.back(found[:-1], float(found[-1]))


def fit_logistic(rows: Array, labels: Array, weights: Array, *, positive: bool = False) -> Logistic:
    """Return the logistic model of `labels` over `rows`; `positive`: no weight is negative."""
    scale = _Scale(rows)
    rows = scale(rows)

    def loss(parameters: Array) -> tuple[float, Array]:
        logits = rows @ parameters[:-1] + parameters[-1]
        value = float((weights * (np.logaddexp(0, logits) - labels * logits)).sum())
        wrong = weights * (_logistic(logits) - labels)
        value, slope = _ridged(value, rows.T @ wrong, parameters[:-1], weights.sum())
        return value, np.append(slope, wrong.sum())

    bounds = [(0.0 if positive else None, None)] * rows.shape[1] + [(None, None)]
    found = _minimum(loss, rows.shape[1] + 1, bounds)
    return scale.back(found[:-1], float(found[-1]))


def _ridged(value: float, slope: Array, weights: Array, total: float) -> tuple[float, Array]:
    strength = _RIDGE * total
    return value + strength * float(weights @ weights) / 2, slope + strength * weights


def _minimum(loss: Any, size: int, bounds: Sequence[tuple[float | None, float | None]]) -> Array:
    found: Array = minimize(
        loss, np.zeros(size), jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 500}
    ).x
    return found


def _logistic(logits: Array) -> Array:
    found: Array = 1.0 / (1.0 + np.exp(-logits))
    return found
