"""What makes thresholds good: three-way macro-F1, the cost of errors, or a budget of searches.

An objective reads how many units of each class take each action, and is better the higher it is.
Counts may be arrays of any shape that broadcast, so that all thresholds are judged at once.
"""

import dataclasses
from typing import Any, Literal, get_args

import numpy as np

from crag_graph.errors import InputError

ObjectiveName = Literal["macro-f1", "cost", "searches"]
OBJECTIVES: tuple[str, ...] = get_args(ObjectiveName)

Counts = tuple[Any, Any, Any]
"""By class wanted: incorrect, ambiguous, correct. Numbers, or arrays that broadcast."""

AMBIGUOUS_CREDIT = 2 / 3
"""What an ambiguous verdict counts where labels are two-way: it pays where the odds are worse than
two to one, which is where corpus and web side by side is the better choice (Chow's rule, 1970)."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Costs:
    """What a wrong action costs, on any scale; only their proportions matter.

    A question that should be ambiguous costs half of what one at the far end would.

    Attributes:
        false_correct: Answered from passages that do not hold the answer.
        mixed: Weak passages used beside the web, though they hold nothing.
        needless_search: The web asked beside passages that hold the answer.
        discarded: Passages set aside though they hold the answer.
    """

    false_correct: float = 5.0
    mixed: float = 1.0
    needless_search: float = 1.0
    discarded: float = 2.0

    def __post_init__(self) -> None:
        for name, value in dataclasses.asdict(self).items():
            if not 0 <= value < float("inf"):
                option = f"--cost-{name.replace('_', '-')}"
                raise InputError(f"{option}: a cost is a number from 0, not {value:g}")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Objective:
    """What is optimised.

    Attributes:
        name: `macro-f1`, `cost` (negative mean cost a unit) or `searches` (macro-F1 where at most a
            share of the units searches the web).
        three_way: Whether any unit is labelled ambiguous. If so, macro-F1 is over three classes;
            if not, over correct and incorrect, an ambiguous verdict counting as `credit` of either.
        costs: For `cost`.
        max_searches: For `searches`: the most that may not be correct, 0–1.
        credit: Of an ambiguous verdict among two-way labels, 0.5–1.
    """

    name: ObjectiveName = "macro-f1"
    three_way: bool = False
    costs: Costs = dataclasses.field(default_factory=Costs)
    max_searches: float = 1.0
    credit: float = AMBIGUOUS_CREDIT

    def __post_init__(self) -> None:
        if not 0 <= self.max_searches <= 1:
            raise InputError(
                f"--max-searches: a share from 0 to 1 is needed, not {self.max_searches:g}"
            )

    def value(self, correct: Counts, incorrect: Counts, total: Counts) -> Any:
        """Return how good it is; minus infinity where it is not allowed.

        Args:
            correct: Units that take the action correct, by the class that they want.
            incorrect: Units that take the action incorrect, likewise.
            total: All units, likewise; the rest of them are ambiguous.
        """
        if self.name == "cost":
            return -self._cost(correct, incorrect, total)
        quality = (
            self._three_way(correct, incorrect, total)
            if self.three_way
            else self._two_way(correct, incorrect, total)
        )
        if self.name == "macro-f1":
            return quality
        all_units = sum(total)
        searching = all_units - sum(correct)
        allowed = searching <= self.max_searches * all_units + 1e-9
        return np.where(allowed, quality, -np.inf)

    def describe(self) -> str:
        """Return the objective in a few words, with what was set."""
        if self.name == "cost":
            costs = dataclasses.asdict(self.costs)
            told = ", ".join(f"{name.replace('_', ' ')} {cost:g}" for name, cost in costs.items())
            return f"cost ({told})"
        if self.name == "searches":
            return f"macro-F1 with at most {self.max_searches:.0%} searching"
        return "macro-F1"

    def _two_way(self, correct: Counts, incorrect: Counts, total: Counts) -> Any:
        low, high = total[0], total[2]
        between_low = low - correct[0] - incorrect[0]
        between_high = high - correct[2] - incorrect[2]
        right_high = correct[2] + self.credit * between_high
        right_low = incorrect[0] + self.credit * between_low
        lost = 1 - self.credit
        wrongly_high = correct[0] + lost * between_low
        wrongly_low = incorrect[2] + lost * between_high
        f1_high = _ratio(2 * right_high, high + right_high + wrongly_high)
        f1_low = _ratio(2 * right_low, low + right_low + wrongly_low)
        return (f1_high + f1_low) / 2

    @staticmethod
    def _three_way(correct: Counts, incorrect: Counts, total: Counts) -> Any:
        all_correct, all_incorrect = sum(correct), sum(incorrect)
        all_between = sum(total) - all_correct - all_incorrect
        between = total[1] - correct[1] - incorrect[1]
        return (
            _ratio(2 * correct[2], total[2] + all_correct)
            + _ratio(2 * between, total[1] + all_between)
            + _ratio(2 * incorrect[0], total[0] + all_incorrect)
        ) / 3

    def _cost(self, correct: Counts, incorrect: Counts, total: Counts) -> Any:
        costs = self.costs
        ambiguous = [total[c] - correct[c] - incorrect[c] for c in range(3)]
        paid = (
            costs.false_correct * (correct[0] + correct[1] / 2)
            + costs.mixed * ambiguous[0]
            + costs.needless_search * ambiguous[2]
            + costs.discarded * (incorrect[2] + incorrect[1] / 2)
        )
        return paid / sum(total)


def _ratio(part: Any, whole: Any) -> Any:
    """Return `part / whole`, 0 where both are nothing."""
    return part / np.maximum(whole, 1e-12)
