"""How well the local evaluator tells what answers, beside cosine and BM25, on unseen questions.

    python -m benchmarks.evaluator_quality --data DIR

Questions are split by a hash of their words: weights are trained on folds 0–4, thresholds and
calibration are chosen on fold 5, and folds 6–9 are reported here. `evidence` is the local
evaluator without the trained cross-encoder, `ours` with it. Prints, with 95 % bootstrap intervals
over questions:

* answerability (does any passage answer?): AUC, balanced accuracy, and by how much it is above the
  better of cosine and BM25 (a paired interval);
* single passages (trec, grade 2 and up): AUC over all pairs;
* what the profile `general` would do with questions that can and cannot be answered;
* the reliability of a question's best score, bin by bin, and the expected calibration error;
* selection of strips: average precision over all strips (hotpot, qed), mean average precision
  within a passage (wikiqa), and what the strip floor keeps;
* a passage that does not answer, with the question put into it, or the question said as a statement
  ("no source tells when …"): how far its score rises.

Takes about 12 minutes on two cores.
"""

import argparse
import random
import statistics
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from crag_graph.evaluators.local import LocalEvaluator
from crag_graph.settings import PROFILES, Settings
from training.changes import restated
from training.labelled import Task, passage_of, read_tasks
from training.measures import (
    auc,
    average_precision,
    balanced_accuracy,
    best_threshold,
    calibration_error,
    interval,
    shares,
)
from training.retrieval import encoder
from training.scored import SCORERS, WITH_STRIPS, Scored, evaluate, score

REPORTED = ("nq", "wikiqa", "hotpot", "xquad", "musique", "trec", "rgb", "noveleval")
CALIBRATED = ("nq", "wikiqa", "hotpot", "xquad", "musique")
CHOSEN_ON = 5
_FEW = 40
_LAST = 0.85
_ECHOES = 200


def answerability(chosen: Sequence[Scored], unseen: Sequence[Scored]) -> None:
    """Print AUC and balanced accuracy of each scorer on each set."""
    print("answerability: AUC, balanced accuracy [95 % interval]")
    for name in REPORTED:
        reported = [item for item in unseen if item.task.set == name]
        before = [item for item in chosen if item.task.set == name]
        truth = _truth(reported)
        if not truth.any() or truth.all():
            continue
        print(f"  {name}: {len(reported)} questions, {int(truth.sum())} answerable")
        right: dict[str, Callable[[NDArray[np.intp]], float]] = {}
        for scorer in SCORERS:
            scores = np.array([item.best(scorer) for item in reported])
            cut = best_threshold([item.best(scorer) for item in before], _truth(before))
            measure = partial(balanced_accuracy, threshold=cut)
            right[scorer] = partial(_at, measure, scores, truth)
            area = _with_interval(auc, scores, truth)
            print(f"    {scorer:8} {area}   {_with_interval(measure, scores, truth)}")
        if len(truth) >= _FEW:
            everything = np.arange(len(truth))
            rival = max(("cosine", "bm25"), key=lambda scorer: right[scorer](everything))
            gain = _difference(right["ours"], right[rival], len(truth))
            print(f"    balanced accuracy above {rival}: {gain}")


def single_passages(unseen: Sequence[Scored]) -> None:
    """Print how well single passages of one set are told apart."""
    reported = [item for item in unseen if item.task.set == "trec"]
    print(f"single passages of trec, grade 2 and up: AUC ({len(reported)} questions)")
    areas = {scorer: partial(_pooled_auc, reported, scorer) for scorer in SCORERS}
    for scorer, area in areas.items():
        low, high = interval(area, len(reported))
        print(f"    {scorer:8} {area(np.arange(len(reported))):.3f} [{low:.3f}, {high:.3f}]")
    print(f"    above cosine: {_difference(areas['ours'], areas['cosine'], len(reported))}")


def _pooled_auc(items: Sequence[Scored], scorer: str, at: NDArray[np.intp]) -> float:
    drawn = [items[int(place)] for place in at]
    scores = np.concatenate([item.passages[scorer] for item in drawn])
    return auc(scores, np.concatenate([[bool(v) for v in item.task.labels] for item in drawn]))


def _at(
    measure: Callable[..., float],
    scores: NDArray[np.float64],
    truth: NDArray[np.bool_],
    at: NDArray[np.intp],
) -> float:
    return measure(scores[at], truth[at])


def _difference(
    ours: Callable[[NDArray[np.intp]], float],
    theirs: Callable[[NDArray[np.intp]], float],
    size: int,
) -> str:
    """Return by how much ours is above theirs, with a paired interval."""
    everything = np.arange(size)
    low, high = interval(lambda at: ours(at) - theirs(at), size)
    return f"{ours(everything) - theirs(everything):+.3f} [{low:+.3f}, {high:+.3f}]"


def _truth(items: Sequence[Scored]) -> NDArray[np.bool_]:
    return np.array([bool(item.task.answerable) for item in items])


def _with_interval(
    measure: Callable[..., float], scores: NDArray[np.float64], truth: NDArray[np.bool_]
) -> str:
    value = measure(scores, truth)
    if len(truth) < _FEW:
        return f"{value:.3f} (few)"
    low, high = interval(lambda at: measure(scores[at], truth[at]), len(truth))
    return f"{value:.3f} [{low:.3f}, {high:.3f}]"


def actions(unseen: Sequence[Scored]) -> None:
    """Print what the profile `general` does, and how far scores are from what happens."""
    profile = PROFILES["general"]
    print(f"profile {profile.name}: correct, ambiguous, incorrect")
    for name in REPORTED:
        for answerable in (True, False):
            scores = [
                item.best("ours")
                for item in unseen
                if item.task.set == name and item.task.answerable is answerable
            ]
            if scores:
                parts = shares(scores, upper=profile.upper, lower=profile.lower)
                shown = "  ".join(f"{part:5.1%}" for part in parts)
                side = "answerable" if answerable else "not"
                print(f"  {name:9} {side:10} {shown}  ({len(scores)})")


def reliability(unseen: Sequence[Scored]) -> None:
    """Print how far the best score of a question is from what happens."""
    print("calibration: both answers weighted alike in each set")
    everything: list[tuple[float, bool]] = []
    for name in CALIBRATED:
        even = _even([item for item in unseen if item.task.set == name])
        everything.extend(even)
        print(f"  {name:9} expected calibration error {_error(even):.3f}  ({len(even)} rows)")
    low, high = interval(lambda at: _error([everything[int(i)] for i in at]), len(everything))
    print(f"  all       {_error(everything):.3f} [{low:.3f}, {high:.3f}]")
    scores, truth = (np.array(column) for column in zip(*everything, strict=True))
    for start in np.arange(0, 1, 0.1):
        inside = (scores >= start) & (scores < start + 0.1 + (start > _LAST) * 1e-9)
        if inside.any():
            said, real = scores[inside].mean(), truth[inside].mean()
            bar = "#" * round(40 * float(real))
            print(f"    said {said:.2f}  real {real:.2f}  {bar:40}  ({int(inside.sum())})")


def _error(rows: Sequence[tuple[float, bool]]) -> float:
    return calibration_error([score for score, _ in rows], [truth for _, truth in rows])


def _even(items: Sequence[Scored]) -> list[tuple[float, bool]]:
    """Return score and truth, with answerable and other questions repeated to equal numbers."""
    sides = [[i for i in items if bool(i.task.answerable) is side] for side in (True, False)]
    most = max(map(len, sides))
    even = [side[at % len(side)] for side in sides if side for at in range(most)]
    return [(item.best("ours"), bool(item.task.answerable)) for item in even]


def strips(unseen: Sequence[Scored]) -> None:
    """Print how well strips are selected."""
    floor = Settings().strip_floor
    print("strips: average precision (wikiqa: mean within a passage), and what the floor keeps")
    for name in WITH_STRIPS:
        chosen = [i for i in unseen if i.task.set == name and any(i.task.strip_labels.values())]
        for scorer in ("cosine", "evidence", "ours"):
            lists = [item.lists(scorer) for item in chosen]
            if name == "wikiqa":
                value = statistics.mean(average_precision(*pair) for pair in lists)
            else:
                scores, labels = zip(*lists, strict=True)
                value = average_precision(np.concatenate(scores), np.concatenate(labels))
            print(f"  {name:7} {scorer:7} {value:.3f}  ({len(chosen)} questions)")
        pairs = [pair for item in chosen for pair in zip(*item.lists("ours"), strict=True)]
        kept = statistics.mean(score >= floor for score, label in pairs if label)
        share = statistics.mean(score >= floor for score, _ in pairs)
        print(f"  {name:7} floor {floor:g} keeps {kept:.1%} of what answers, {share:.1%} of all")


def echoes(tasks: Sequence[Task]) -> None:
    """Print how far the question's own words, put into a passage, raise the passage's score."""
    evaluator, draw = LocalEvaluator(model=encoder()), random.Random(1)
    chosen = [t for t in tasks if t.set == "xquad" and 0 in t.labels][:_ECHOES]
    forms: dict[str, Callable[[str], str]] = {
        "echoed": str,
        "said as a statement": lambda question: restated(question, draw, held_out=True),
    }
    for name, said in forms.items():
        rises = []
        for task in chosen:
            passage = task.passages[task.labels.index(0)]
            echo = passage_of("echo", f"{said(task.question)} {passage.text}", passage.title)
            plain, raised = (
                evaluate(evaluator, task.question, [p]).grades[0]["score"] for p in (passage, echo)
            )
            rises.append((raised or 0.0) - (plain or 0.0))
        low, middle, high = np.percentile(rises, [10, 50, 90])
        print(
            f"question {name} in a passage that does not answer: score rises by {middle:+.3f} "
            f"(10th {low:+.3f}, 90th percentile {high:+.3f}; {len(rises)} pairs)"
        )


def main() -> int:
    """Print everything."""
    parser = argparse.ArgumentParser(description="Quality of the local evaluator.")
    parser.add_argument("--data", type=Path, required=True, help="the folder of labelled sets")
    options = parser.parse_args()
    tasks = [task for task in read_tasks(options.data, both=False) if task.fold >= CHOSEN_ON]
    judged = score([t for t in tasks if t.set in (*REPORTED, "qed")])
    chosen = [item for item in judged if item.task.fold == CHOSEN_ON]
    unseen = [item for item in judged if item.task.fold > CHOSEN_ON]
    answerability(chosen, unseen)
    single_passages(unseen)
    actions(unseen)
    reliability(unseen)
    strips(unseen)
    echoes([task for task in tasks if task.fold > CHOSEN_ON])
    return 0


if __name__ == "__main__":
    sys.exit(main())
