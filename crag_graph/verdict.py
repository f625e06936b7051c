"""The verdict: grades and thresholds in, one of the three actions out, with margin and reason.

The rule is inclusive at both ends: an aggregate that reaches the upper threshold is correct, one
that is not above the lower threshold incorrect, and what lies between is ambiguous. Where the
thresholds are equal, reaching them wins. With `max` it is the rule of Yan et al. 2024
(arXiv:2401.15884), section 4.3.

Aggregates of the known grades:

- `max`: the best one.
- `mean`: their exact mean.
- `kth_best`: the `min_relevant_docs`-th best one, and 0 where fewer are known, so that as many
  passages must reach the upper threshold. One passage above the lower threshold is enough not to
  be incorrect: a good passage is then kept and the web asked beside it.
"""

import dataclasses
import math
import numbers
import statistics
from collections.abc import Sequence
from typing import Literal

from crag_graph.errors import EvaluationError
from crag_graph.settings import OutagePolicy, Thresholds
from crag_graph.state import Action, Grade
from crag_graph.wording import counted


@dataclasses.dataclass(frozen=True, kw_only=True)
class Verdict:
    """What to do with the passages, and why.

    Attributes:
        action: `correct`, `ambiguous` or `incorrect`.
        score: The aggregate of the known grades, 0–1; None when there is none.
        margin: How far the deciding grades are from the threshold that would change the action,
            0–1; None when there is no score.
        reason: One sentence with the numbers.
        grading: `scored`, `empty` (nothing was retrieved) or `failed` (no grade is known).
    """

    action: Action
    score: float | None
    margin: float | None
    reason: str
    grading: Literal["scored", "empty", "failed"]


def known_score(grade: Grade) -> float | None:
    """Return the score of `grade`, 0–1, or None where it takes no part in the verdict.

    It takes part when its status is `scored` and its score is a finite number on 0–1; a boolean is
    not a number.
    """
    score: object = grade.get("score")
    if grade.get("status") != "scored" or isinstance(score, bool):
        return None
    if type(score) is float:  # as it nearly always is: abstract types are slow to ask for
        value = score
    elif isinstance(score, numbers.Real):
        value = float(score)
    else:
        return None
    return value if math.isfinite(value) and 0 <= value <= 1 else None


def decide(
    grades: Sequence[Grade],
    thresholds: Thresholds,
    *,
    outage_policy: OutagePolicy = "ambiguous",
) -> Verdict:
    """Return the verdict over `grades`, one a retrieved passage, in any order.

    Args:
        grades: Unknown and failed ones take no part; none at all means that nothing was retrieved.
        thresholds: Both bars on 0–1, and the aggregate.
        outage_policy: What to do when passages were retrieved and none has a known grade. `local`
            is ambiguous here: grading with the local evaluator was tried before.

    Raises:
        EvaluationError: No grade is known and the policy is `raise`.
    """
    if not grades:
        return Verdict(
            action="incorrect",
            score=None,
            margin=None,
            reason="nothing was retrieved, so there is no passage to answer from",
            grading="empty",
        )
    scores = sorted((s for grade in grades if (s := known_score(grade)) is not None), reverse=True)
    if not scores:
        return _outage(grades, outage_policy)
    verdict = _compare(scores, thresholds)
    missing = len(grades) - len(scores)
    if missing:
        of = counted(len(grades), "passage")
        note = f"; {missing} of {of} could not be graded and took no part"
        verdict = dataclasses.replace(verdict, reason=verdict.reason + note)
    return verdict


def _compare(scores: Sequence[float], thresholds: Thresholds) -> Verdict:
    """Return the verdict over known `scores`, best first."""
    upper, lower = thresholds.upper, thresholds.lower
    score, name = _aggregate(scores, thresholds)
    # What the lower threshold is compared with: only under kth_best is it not the aggregate.
    at_best = scores[0] if thresholds.aggregate == "kth_best" else score
    value, best, up, low = _shown(score, at_best, upper, lower)
    if score >= upper:
        action: Action = "correct"
        margin = score - upper
        reason = f"{name} {value} reaches the upper threshold {up}"
    elif at_best <= lower:
        action = "incorrect"
        margin = lower - at_best
        subject = f"{name} {value}" if at_best == score else f"best passage {best}"
        reason = f"{subject} is not above the lower threshold {low}"
    else:
        action = "ambiguous"
        margin = min(upper - score, at_best - lower)
        reason = f"{name} {value} is between the lower threshold {low} and the upper threshold {up}"
        if score <= lower:
            reached, needed = sum(s >= upper for s in scores), thresholds.min_relevant_docs
            reason = (
                f"best passage {best} is above the lower threshold {low}, but the upper threshold "
                f"{up} is reached by {reached} of the {needed} passages needed"
            )
    return Verdict(action=action, score=score, margin=margin, reason=reason, grading="scored")


def _aggregate(scores: Sequence[float], thresholds: Thresholds) -> tuple[float, str]:
    """Return the aggregate of `scores`, best first, and what to call it."""
    if thresholds.aggregate == "mean":
        # Exact, so that the mean of equal grades is that grade and sits on the same threshold.
        return float(statistics.mean(scores)), f"mean of {counted(len(scores), 'passage')}"
    k = thresholds.min_relevant_docs
    if thresholds.aggregate == "max" or k == 1:
        return scores[0], "best passage"
    return (scores[k - 1] if k <= len(scores) else 0.0), f"{_ordinal(k)} best passage"


def _outage(grades: Sequence[Grade], policy: OutagePolicy) -> Verdict:
    count = "the passage" if len(grades) == 1 else f"all {len(grades)} passages"
    why = next((grade["reason"] for grade in grades if grade.get("reason")), "")
    failure = f"grading failed for {count}" + (f" ({why})" if why else "")
    if policy == "raise":
        answered = all(grade.get("status") == "unknown" for grade in grades)
        raise EvaluationError(
            f"{failure}; set outage_policy to go on without grades",
            reason="parse" if answered else "transport",
        )
    action: Action = "incorrect" if policy == "irrelevant" else "ambiguous"
    return Verdict(
        action=action,
        score=None,
        margin=None,
        reason=f"{failure}; the outage policy {policy!r} makes that {action}",
        grading="failed",
    )


def _shown(*values: float) -> list[str]:
    """Return `values` with two decimals, or as many as it takes for different ones to differ."""
    shown = [f"{value:.2f}" for value in values]
    for decimals in range(3, 18):
        if len(set(shown)) == len(set(values)):
            break
        shown = [f"{value:.{decimals}f}" for value in values]
    return shown


def _ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number % 100 in (11, 12, 13) else ending}"
