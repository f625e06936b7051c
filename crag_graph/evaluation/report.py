"""The report of an evaluation: figures of both arms, what the correction buys, and warnings."""

import dataclasses
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from crag_graph.evaluation.bootstrap import Bootstrap, Figure
from crag_graph.evaluation.measures import Pair
from crag_graph.evaluation.records import USAGE, Arm, Outcome, Record
from crag_graph.evaluation.verdicts import balanced_accuracy, confusion, macro_f1, separation

GROUPS = ("retrieval", "verdict", "refusal", "answer", "citations", "strips")
"""The groups of figures, in the order in which they are told."""

Figures = dict[str, dict[str, Figure]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Report:
    """What an evaluation came to.

    Attributes:
        dataset: What it was run on: the file, questions, kinds of labels.
        configuration: Settings that were given, components, seed, questions at once.
        asked: How many questions there were to run.
        done: How many were run; fewer than asked where it was interrupted.
        interrupted: Whether it was.
        failed: Each failure: the question's id and text, the arm, the sentence.
        degraded: Each run that went on after a failure, in the same form.
        figures: Arm → group → measure → its figure.
        difference: Group → measure → Corrective RAG less plain RAG, over questions that both ran.
        confusion: What should have been → action → how many; empty without labels.
        cost: Arm → what a question took: means, and percentiles of seconds.
        warnings: Sentences for the reader.
    """

    dataset: Mapping[str, Any]
    configuration: Mapping[str, Any]
    asked: int
    done: int
    interrupted: bool
    failed: Sequence[Mapping[str, str]]
    degraded: Sequence[Mapping[str, str]]
    figures: Mapping[str, Figures]
    difference: Figures
    confusion: Mapping[str, Mapping[str, int]]
    cost: Mapping[str, Mapping[str, float]]
    warnings: Sequence[str]

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data, as `crag eval --json` prints it."""
        plain = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if field.name not in ("figures", "difference")
        }
        return plain | {
            "figures": {arm: _plain(groups) for arm, groups in self.figures.items()},
            "difference": _plain(self.difference),
        }


def figures_of(records: Sequence[Record], arm: Arm, draws: Bootstrap) -> Figures:
    """Return all figures of one arm over `records`; failed questions take no part in any."""
    outcomes = [record.arms.get(arm) for record in records]
    found: Figures = {}
    for group in GROUPS:
        for name in _names(outcomes, group):
            figure = draws.ratio([_pair(outcome, group, name) for outcome in outcomes])
            if figure is not None:
                found.setdefault(group, {})[name] = figure
    if arm == "crag":
        found |= _verdict(records, draws)
    return {group: found[group] for group in GROUPS if group in found}


def difference_of(records: Sequence[Record], draws: Bootstrap) -> Figures:
    """Return what Corrective RAG has more than plain RAG, measure by measure."""
    ours, theirs = ([record.arms.get(arm) for record in records] for arm in ("crag", "plain"))
    found: Figures = {}
    for group in GROUPS:
        for name in _names(theirs, group):
            figure = draws.difference(
                [_pair(outcome, group, name) for outcome in ours],
                [_pair(outcome, group, name) for outcome in theirs],
            )
            if figure is not None:
                found.setdefault(group, {})[name] = figure
    return found


def confusion_of(records: Sequence[Record]) -> dict[str, dict[str, int]]:
    """Return the actions by what should have been; empty where that is not known."""
    judged = _judged(records)
    return confusion(judged) if any(judged) else {}


def cost_of(records: Sequence[Record], arm: Arm) -> dict[str, float]:
    """Return what a question took on average, and the percentiles of its seconds."""
    outcomes = [
        outcome
        for record in records
        if (outcome := record.arms.get(arm)) is not None and outcome.status != "failed"
    ]
    if not outcomes:
        return {}
    cost = {
        name: round(statistics.mean(outcome.usage.get(name, 0) for outcome in outcomes), 4)
        for name in USAGE
    }
    seconds = [outcome.seconds for outcome in outcomes]
    p50, p95 = np.percentile(seconds, [50, 95])
    return cost | {"seconds_p50": round(float(p50), 4), "seconds_p95": round(float(p95), 4)}


def failures_of(records: Sequence[Record]) -> list[dict[str, str]]:
    """Return every failed run, named."""
    return [
        {"id": record.id, "question": record.question, "arm": arm, "error": outcome.error}
        for record in records
        for arm, outcome in record.arms.items()
        if outcome.status == "failed"
    ]


def degraded_of(records: Sequence[Record]) -> list[dict[str, str]]:
    """Return every run that went on after a failure, named."""
    return [
        {"id": record.id, "question": record.question, "arm": arm, "error": note}
        for record in records
        for arm, outcome in record.arms.items()
        for note in outcome.degraded
    ]


def _verdict(records: Sequence[Record], draws: Bootstrap) -> Figures:
    judged = _judged(records)
    outcomes = [record.arms.get("crag") for record in records]
    truths = [record.supported for record in records]
    scores = [outcome.score if outcome is not None else None for outcome in outcomes]
    taken = sum(pair is not None for pair in judged)
    measured = {
        "macro_f1": draws.figure(macro_f1(judged), questions=taken),
        "balanced_accuracy": draws.figure(balanced_accuracy(judged), questions=taken),
        "auc": draws.figure(separation(scores, truths), questions=taken),
    }
    found = {name: figure for name, figure in measured.items() if figure is not None}
    ambiguous: list[Pair | None] = [
        None if pair is None else (float(pair[0] == "ambiguous"), 1.0) for pair in judged
    ]
    share = draws.ratio(ambiguous)
    if share is not None:
        found["ambiguous"] = share
    return {"verdict": found} if found else {}


def _judged(records: Sequence[Record]) -> list[tuple[str, bool] | None]:
    judged: list[tuple[str, bool] | None] = []
    for record in records:
        outcome = record.arms.get("crag")
        action = None if outcome is None else outcome.action
        known = action is not None and record.supported is not None
        judged.append((str(action), bool(record.supported)) if known else None)
    return judged


def _names(outcomes: Sequence[Outcome | None], group: str) -> list[str]:
    """Return the measures of a group that any outcome has, in the order in which they come."""
    return list(
        dict.fromkeys(
            name
            for outcome in outcomes
            if outcome is not None
            for name in outcome.pairs.get(group, {})
        )
    )


def _pair(outcome: Outcome | None, group: str, name: str) -> Pair | None:
    return None if outcome is None else outcome.pairs.get(group, {}).get(name)


def _plain(groups: Figures) -> dict[str, Any]:
    return {
        group: {name: figure.as_dict() for name, figure in figures.items()}
        for group, figures in groups.items()
    }
