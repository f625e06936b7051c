"""Threshold profiles: named numbers that turn grades into an action, with their provenance."""

import dataclasses
import math
from typing import Literal

from crag_graph.errors import ConfigurationError

Aggregate = Literal["max", "mean", "kth_best"]
Scale = Literal["unit", "five_point", "signed"]

_SCALES: dict[Scale, tuple[float, float]] = {
    "unit": (0.0, 1.0),
    "five_point": (1.0, 5.0),
    "signed": (-1.0, 1.0),
}


def to_unit(value: float, scale: Scale) -> float:
    """Return `value` of `scale` on the internal scale, 0–1.

    `five_point` is 1–5 as (s−1)/4, `signed` is −1…1 as (s+1)/2, `unit` is already 0–1.

    Raises:
        ValueError: The value is not a finite number on its scale.
    """
    low, high = _SCALES[scale]
    if not math.isfinite(value) or not low <= value <= high:
        raise ValueError(f"{value} is not between {low:g} and {high:g} ({scale})")
    return (value - low) / (high - low)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Profile:
    """Thresholds under a name, and where they come from.

    Attributes:
        name: What `Settings.profile` and `CRAG_PROFILE` call it.
        upper: The aggregate from which the action is correct, on `scale`, inclusive.
        lower: The aggregate down from which it is incorrect, on `scale`, inclusive.
        scale: `unit` (0–1), `five_point` (1–5) or `signed` (−1…1).
        aggregate: `max`, `mean` or `kth_best` (the `min_relevant_docs`-th best grade).
        min_relevant_docs: How many passages must reach the bar, from 1.
        provenance: Where the numbers come from.
        labels: On how many labels they were chosen; 0 where they were not fitted here.
        evaluator: Whose scores they were calibrated on; empty where they were not calibrated.
        fingerprint: What those scores depended on: the evaluator's model, fit, mode and prompt.
    """

    name: str
    upper: float
    lower: float
    scale: Scale = "unit"
    aggregate: Aggregate = "max"
    min_relevant_docs: int = 1
    provenance: str = ""
    labels: int = 0
    evaluator: str = ""
    fingerprint: str = ""

    def __post_init__(self) -> None:
        for field in ("upper", "lower"):
            try:
                to_unit(getattr(self, field), self.scale)
            except ValueError as error:
                raise ConfigurationError(f"profile {self.name!r}: {field}: {error}") from None
        if self.lower > self.upper:
            raise ConfigurationError(
                f"profile {self.name!r}: lower ({self.lower:g}) is above upper ({self.upper:g})"
            )
        if self.min_relevant_docs < 1:
            raise ConfigurationError(f"profile {self.name!r}: min_relevant_docs must be at least 1")


_HAND_SET = "hand-set starting point for this field, not fitted on labels"
_PAPER = "Yan et al. 2024, Corrective Retrieval Augmented Generation (arXiv:2401.15884), section 5"

PROFILES: dict[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile(name="general", upper=0.7, lower=0.3, provenance=_HAND_SET),
        Profile(
            name="medical",
            upper=0.85,
            lower=0.5,
            aggregate="kth_best",
            min_relevant_docs=2,
            provenance=_HAND_SET,
        ),
        Profile(
            name="legal",
            upper=0.80,
            lower=0.45,
            aggregate="kth_best",
            min_relevant_docs=2,
            provenance=_HAND_SET,
        ),
        Profile(name="ecommerce", upper=0.6, lower=0.25, provenance=_HAND_SET),
        Profile(
            name="five_point",
            upper=4,
            lower=2,
            scale="five_point",
            provenance="the usual reading of a 1–5 relevance scale: 4 and up good, 2 and down bad",
        ),
        Profile(name="paper-popqa", upper=0.59, lower=-0.99, scale="signed", provenance=_PAPER),
        Profile(name="paper-pubhealth", upper=0.5, lower=-0.91, scale="signed", provenance=_PAPER),
        Profile(name="paper-arc", upper=0.5, lower=-0.91, scale="signed", provenance=_PAPER),
        Profile(name="paper-bio", upper=0.95, lower=-0.91, scale="signed", provenance=_PAPER),
    )
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Thresholds:
    """What the verdict compares with, on the internal scale 0–1: a profile with its overrides.

    `evaluator` and `fingerprint` are those that the thresholds were calibrated for; empty where
    they were not calibrated, or where a run overrides both.
    """

    upper: float
    lower: float
    aggregate: Aggregate
    min_relevant_docs: int
    profile: str
    provenance: str
    evaluator: str = ""
    fingerprint: str = ""
