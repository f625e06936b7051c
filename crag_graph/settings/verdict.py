"""The knobs of the verdict."""

from typing import Literal

from pydantic import BaseModel

from crag_graph.settings.knob import knob
from crag_graph.settings.profiles import Aggregate

OutagePolicy = Literal["ambiguous", "irrelevant", "raise", "local"]


class VerdictKnobs(BaseModel):
    """From grades to an action."""

    profile: str | None = knob(
        "Threshold profile",
        "Named thresholds that turn grades into an action; a built-in name or one of your own; "
        "unset: CRAG_PROFILE, else general.",
        "route",
        min_length=1,
        max_length=100,
        default=None,
    )
    upper: float | None = knob(
        "Upper threshold",
        "Aggregate from which the action is correct, inclusive, on 0–1; unset: the profile's.",
        "route",
        ge=0,
        le=1,
        default=None,
    )
    lower: float | None = knob(
        "Lower threshold",
        "Aggregate down from which the action is incorrect, inclusive, on "
        "0–1; unset: the profile's.",
        "route",
        ge=0,
        le=1,
        default=None,
    )
    aggregate: Aggregate | None = knob(
        "Aggregate",
        "How the grades become one number: the best, their mean, or the k-th "
        "best (k = min_relevant_docs); unset: the profile's.",
        "route",
        default=None,
    )
    min_relevant_docs: int | None = knob(
        "Passages that must reach the bar",
        "k of the k-th best aggregate; unset: the "
        "profile's. A value above 1 turns the aggregate max into kth_best.",
        "route",
        ge=1,
        le=50,
        default=None,
    )
    outage_policy: OutagePolicy = knob(
        "When grading fails",
        "What to do when no passage could be graded: treat it "
        "as ambiguous or irrelevant, raise, or grade with the local evaluator.",
        "evaluate",
        "route",
        default="ambiguous",
    )
