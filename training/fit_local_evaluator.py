"""Fit the local evaluator's weights, and print how well they do on questions not used for it.

    python -m training.fit_local_evaluator --data DIR [--write]

Needs scipy. `DIR` holds the labelled sets; questions are split 6 : 4 by a hash of their words, so
that a question that is in two sets is on one side. `--write` replaces
`crag_graph/evaluators/local/fit.json`; without it the fit is only reported. Takes about 7 minutes
on two cores.

1. A strip's evidence: a listwise logistic model over the strips of a passage that answers (which
   of them is it?), from wikiqa, qed, hotpot, and nq where the answer's words say it.
2. A passage's logit: logistic over a soft maximum of the candidates (does any of them answer?),
   from all sets, with questions whose answering passages were taken out, and passages whose
   answering sentences were deleted or whose numbers were changed. Evidence may only speak for a
   passage, so no weight is negative.
3. Calibration (Platt 1999) on out-of-fold logits, each set balanced: half of its questions can be
   answered.
4. A strip's score: logistic in its evidence and in its passage's logit, both labels balanced.
"""

import argparse
import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crag_graph.evaluators.local.features import (
    PASSAGE_FEATURES,
    STRIP_FEATURES,
    Evidence,
    gather,
)
from crag_graph.evaluators.local.fit import EVIDENCE, FIT, LEXICAL_FEATURES, lexical_features
from training.labelled import FITTED, Task, read_tasks
from training.models import Logistic, fit_listwise, fit_logistic, fit_pooled
from training.retrieval import encoder

# How much each set counts, whatever its size: the real ones above those made by hand or small.
SET_WEIGHTS = {
    "nq": 1.0,
    "wikiqa": 1.0,
    "hotpot": 0.5,
    "xquad": 0.5,
    "trec": 0.5,
    "deleted": 0.5,
    "swapped": 0.3,
    "musique": 0.3,
    "rgb": 0.2,
    "noveleval": 0.2,
}
STRIP_SET_WEIGHTS = {"qed": 1.0, "hotpot": 2.0, "wikiqa": 3.0, "nq": 0.5}
_CALIBRATED = [name for name in SET_WEIGHTS if name not in ("deleted", "swapped")]
_SIGNLESS = ("novelty", "length")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Seen:
    """A task with its evidence."""

    task: Task
    evidence: list[Evidence]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Models:
    """The fitted parts, on raw features."""

    strip: Logistic
    passage: Logistic


def look(tasks: Sequence[Task]) -> list[Seen]:
    """Return the tasks with the evidence of all of their passages."""
    seen = []
    for number, task in enumerate(tasks, 1):
        evidence = gather(task.question, task.passages, encoder()).passages
        # The tokens of all questions together would not fit into memory.
        slim = [dataclasses.replace(one, windows=()) for one in evidence]
        seen.append(Seen(task=task, evidence=slim))
        if number % 1000 == 0:
            _say(f"{number} of {len(tasks)} questions read")
    return seen


def passage_rows(seen: Seen, strip: Logistic) -> NDArray[np.float64]:
    """Return the features of each passage, its best strip's evidence last."""
    rows = []
    for evidence in seen.evidence:
        alive = [not piece.empty for piece in evidence.reading.pieces]
        own = strip(evidence.strips.astype(float))[alive] if any(alive) else np.array([-5.0])
        rows.append(np.append(evidence.passage.astype(float), own.max()))
    return np.array(rows)


def fit_models(seen: Sequence[Seen]) -> Models:
    """Return the models fitted on `seen`."""
    groups, labels, weights = [], [], []
    for item in seen:
        share = STRIP_SET_WEIGHTS.get(item.task.set, 0.0)
        for evidence in item.evidence:
            truth = [item.task.strip_labels.get(piece.id) for piece in evidence.reading.pieces]
            if share and None not in truth and 0 < sum(map(bool, truth)) < len(truth):
                groups.append(evidence.strips.astype(float))
                labels.append(np.array(truth, dtype=float))
                weights.append(share)
    free = [name in _SIGNLESS for name in STRIP_FEATURES]
    strip = fit_listwise(groups, labels, np.array(weights), free=free)
    judged = [item for item in seen if item.task.answerable is not None]
    rows = [passage_rows(item, strip) for item in judged]
    return Models(strip=strip, passage=fit_pooled(rows, _truth(judged), balanced(judged)))


def balanced(seen: Sequence[Seen]) -> NDArray[np.float64]:
    """Return a weight for each question: sets as in `SET_WEIGHTS`, both labels of a set alike."""
    names = np.array([item.task.set for item in seen])
    truth = _truth(seen)
    weights = np.zeros(len(seen))
    for name, share in SET_WEIGHTS.items():
        for label in (0, 1):
            chosen = (names == name) & (truth == label)
            if chosen.any():
                weights[chosen] = share * min(300, 5 * chosen.sum()) / chosen.sum()
    return weights


def top_logits(seen: Sequence[Seen], models: Models) -> NDArray[np.float64]:
    """Return the logit of each question's best passage."""
    return np.array([models.passage(passage_rows(item, models.strip)).max() for item in seen])


def calibrate(seen: Sequence[Seen]) -> Logistic:
    """Return the logistic model over logits that were found without the question itself."""
    judged = [item for item in seen if item.task.set in _CALIBRATED]
    logits = np.zeros(len(judged))
    for fold in FITTED:
        models = fit_models([item for item in seen if item.task.fold != fold])
        mine = [at for at, item in enumerate(judged) if item.task.fold == fold]
        logits[mine] = top_logits([judged[at] for at in mine], models)
    return fit_logistic(logits[:, None], _truth(judged), balanced(judged))


def fit_strip_score(seen: Sequence[Seen], models: Models, calibrated: Logistic) -> Logistic:
    """Return the model of a strip's score over (its evidence, its passage's calibrated logit)."""
    rows, labels, sets = [], [], []
    for item in seen:
        if item.task.set not in STRIP_SET_WEIGHTS:
            continue
        logits = models.passage(passage_rows(item, models.strip))
        for evidence, label, logit in zip(item.evidence, item.task.labels, logits, strict=True):
            own = models.strip(evidence.strips.astype(float))
            for piece, value in zip(evidence.reading.pieces, own, strict=True):
                truth = item.task.strip_labels.get(piece.id) if label else 0
                if truth is not None:
                    rows.append((float(value), float(calibrated(np.array([logit])))))
                    labels.append(truth)
                    sets.append(item.task.set)
    truth_of, names = np.array(labels, dtype=float), np.array(sets)
    weights = np.zeros(len(labels))
    for name, share in STRIP_SET_WEIGHTS.items():
        for label in (0, 1):
            chosen = (names == name) & (truth_of == label)
            if chosen.any():
                weights[chosen] = share * 300 / chosen.sum()
    return fit_logistic(np.array(rows), truth_of, weights, positive=True)


def fit_lexical(seen: Sequence[Seen]) -> Logistic:
    """Return the model over `LEXICAL_FEATURES`, for scripts that the encoder cannot read."""
    judged = [item for item in seen if item.task.set in _CALIBRATED]
    rows = [
        np.array([lexical_features(evidence) for evidence in item.evidence], dtype=float)
        for item in judged
    ]
    return fit_pooled(rows, _truth(judged), balanced(judged))


def fit_all(seen: Sequence[Seen]) -> dict[str, Any]:
    """Return the fields of `fit.json`."""
    models = fit_models(seen)
    calibrated = calibrate(seen)
    slope, shift = float(calibrated.weights[0]), calibrated.bias
    passage = Logistic(
        bias=slope * models.passage.bias + shift, weights=slope * models.passage.weights
    )
    strip_score = fit_strip_score(seen, models, calibrated)
    return {
        "made_by": "python -m training.fit_local_evaluator --data DIR --write",
        "fitted_on": _counts(seen),
        "strip": models.strip.fields(STRIP_FEATURES),
        "passage": passage.fields((*PASSAGE_FEATURES, EVIDENCE)),
        "strip_score": strip_score.fields(("evidence", "passage")),
        "lexical": fit_lexical(seen).fields(LEXICAL_FEATURES),
    }


def _counts(seen: Sequence[Seen]) -> dict[str, int]:
    names = [item.task.set for item in seen]
    return {name: names.count(name) for name in sorted(set(names))}


def _truth(seen: Sequence[Seen]) -> NDArray[np.float64]:
    return np.array([float(bool(item.task.answerable)) for item in seen])


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> None:
    """Fit, and write or report."""
    parser = argparse.ArgumentParser(description="Fit the local evaluator.")
    parser.add_argument("--data", type=Path, required=True, help="the folder of labelled sets")
    parser.add_argument("--write", action="store_true", help=f"replace {FIT.name}")
    options = parser.parse_args()
    seen = look([task for task in read_tasks(options.data, both=True) if task.fitted])
    fields = fit_all(seen)
    text = json.dumps(fields, indent=2) + "\n"
    _say(text)
    if options.write:
        FIT.write_text(text, encoding="utf-8")
    _say("python -m benchmarks.evaluator_quality --data DIR says how well it does on the others")


if __name__ == "__main__":
    main()
