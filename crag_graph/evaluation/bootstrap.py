"""Figures with bootstrap intervals over questions, the same ones for the same seed."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crag_graph.evaluation.measures import Pair

Floats = NDArray[np.float64]
Measure = Callable[[Floats], Floats]
"""From weights, a row a draw and a column a question, to one value a draw."""

ROUNDS = 1000
_CELLS = 20_000_000  # of the table of draws; from 20,000 questions on there are fewer of them
_LEAST_ROUNDS = 200


@dataclasses.dataclass(frozen=True, kw_only=True)
class Figure:
    """A measured value with its 95 % interval (percentile bootstrap over questions).

    Attributes:
        value: Over the questions as they are.
        low: The lower end.
        high: The upper end.
        questions: How many took part.
    """

    value: float
    low: float
    high: float
    questions: int

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data, rounded to four decimals."""
        numbers = {name: round(getattr(self, name), 4) for name in ("value", "low", "high")}
        return {**numbers, "questions": self.questions}


class Bootstrap:
    """Draws of questions with replacement, shared by all figures of a report.

    Args:
        size: How many questions there are.
        seed: The same seed gives the same draws.
        rounds: How many draws.
    """

    def __init__(self, size: int, *, seed: int, rounds: int = ROUNDS) -> None:
        rounds = max(_LEAST_ROUNDS, min(rounds, _CELLS // max(1, size)))
        rng = np.random.default_rng(seed)
        even = np.full(size, 1 / max(1, size))
        draws = rng.multinomial(size, even, size=rounds) if size else np.zeros((rounds, 0))
        self._weights = draws.astype(np.float64)

    def figure(self, measure: Measure, *, questions: int) -> Figure | None:
        """Return the value of `measure` with its interval; None where it has no value."""
        value = float(measure(np.ones((1, self._weights.shape[1])))[0])
        if not questions or np.isnan(value):
            return None
        drawn = measure(self._weights)
        low, high = np.nanpercentile(drawn, [2.5, 97.5])
        return Figure(value=value, low=float(low), high=float(high), questions=questions)

    def ratio(self, pairs: Sequence[Pair | None]) -> Figure | None:
        """Return the sum of the first by the sum of the second; None takes no part."""
        taken = sum(pair is not None for pair in pairs)
        return self.figure(ratio_of(pairs), questions=taken)

    def difference(
        self, ours: Sequence[Pair | None], theirs: Sequence[Pair | None]
    ) -> Figure | None:
        """Return the ratio of `ours` less that of `theirs`, over the questions that both have."""
        both = [None not in (one, other) for one, other in zip(ours, theirs, strict=True)]
        first = ratio_of([pair if is_in else None for pair, is_in in zip(ours, both, strict=True)])
        second = ratio_of(
            [pair if is_in else None for pair, is_in in zip(theirs, both, strict=True)]
        )
        return self.figure(lambda weights: first(weights) - second(weights), questions=sum(both))


def ratio_of(pairs: Sequence[Pair | None]) -> Measure:
    """Return the measure that divides the weighted sums of `pairs`; NaN where there is nothing."""
    table = np.array([pair or (0.0, 0.0) for pair in pairs], dtype=np.float64).reshape(-1, 2)
    return lambda weights: divided(weights @ table[:, 0], weights @ table[:, 1])


def divided(above: Floats, below: Floats) -> Floats:
    """Return `above / below`, NaN where `below` is 0."""
    return np.divide(above, below, out=np.full_like(above, np.nan), where=below > 0)
