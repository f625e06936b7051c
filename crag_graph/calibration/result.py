"""What a calibration comes to."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from crag_graph.calibration.figures import Figure, Figures
from crag_graph.calibration.labels import LabelSet
from crag_graph.calibration.objectives import Objective
from crag_graph.calibration.sample import CLASSES, Rule, Sample
from crag_graph.state import Action, plain


@dataclasses.dataclass(frozen=True, kw_only=True)
class Calibration:
    """Thresholds with how sure they are.

    Attributes:
        labels: The labels.
        sample: The units with their scores.
        objective: What was optimised.
        evaluator: The name of the evaluator whose scores these are.
        fingerprint: What its scores depend on.
        rule: The aggregate that was chosen.
        upper: The upper threshold, 0–1, with its 95 % interval.
        lower: The lower one.
        auc: The chance that of two units of different classes the higher one scores higher.
        p_value: How often shuffled labels can be told apart as well.
        separable: Whether the scores tell the classes apart at all.
        why_not: Why not, one sentence each; empty where they do.
        achieved: What the thresholds achieve on the labels that they were chosen on: flattering.
        held_out: What thresholds achieve that were chosen on other questions: honest.
        folds: In how many parts the questions were held out.
        always: What taking one action always would be worth, best first.
        notes: Sentences for the reader.
        calls: Requests to a language model that grading took.
        reused: Questions whose scores were kept from before.
        path: The profile, where one was written.
    """

    labels: LabelSet
    sample: Sample
    objective: Objective
    evaluator: str
    fingerprint: str
    rule: Rule
    upper: Figure
    lower: Figure
    auc: Figure
    p_value: float
    separable: bool
    why_not: tuple[str, ...]
    achieved: Figures
    held_out: Figures
    folds: int
    always: tuple[tuple[str, float], ...]
    notes: tuple[str, ...] = ()
    calls: int = 0
    reused: int = 0
    path: Path | None = None

    @property
    def scores(self) -> dict[Action, list[float]]:
        """The aggregates of the units by the action that they want, in no order."""
        values = self.sample.rules[self.rule].score
        return {
            action: values[self.sample.wanted == number].tolist()
            for number, action in enumerate(CLASSES)
        }

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as plain data, for JSON."""
        labels = self.labels
        return {
            "profile": None if self.path is None else self.path.stem,
            "path": None if self.path is None else str(self.path),
            "upper": self.upper.value,
            "lower": self.lower.value,
            "aggregate": self.rule.aggregate,
            "min_relevant_docs": self.rule.k,
            "separable": self.separable,
            "why_not": list(self.why_not),
            "intervals": {name: _interval(getattr(self, name)) for name in ("upper", "lower")},
            "auc": dataclasses.asdict(self.auc),
            "p_value": self.p_value,
            "objective": self.objective.name,
            "objective_told": self.objective.describe(),
            "achieved": dataclasses.asdict(self.achieved),
            "held_out": dataclasses.asdict(self.held_out) | {"folds": self.folds},
            "always": dict(self.always),
            "evaluator": self.evaluator,
            "fingerprint": self.fingerprint,
            "labels": {
                "file": labels.path.name,
                "sha256": labels.digest,
                "form": labels.form,
                "scale": labels.scale,
                "labels": labels.labels,
                "questions": len(labels.questions),
                "duplicates": labels.duplicates,
                "contradictions": labels.contradictions,
                "unlabelled": labels.unlabelled,
            },
            "unit": self.sample.unit,
            "counts": self.sample.counts,
            "scores": self.scores,
            "usage": {"llm_calls": self.calls, "questions_reused": self.reused},
            "notes": list(self.notes),
        }


def plain_dict(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return `value` ready for JSON."""
    made: dict[str, Any] = plain(value)
    return made


def _interval(figure: Figure) -> list[float]:
    return [figure.low, figure.high]
