"""How well the local evaluator tells what answers, beside cosine and BM25, on unseen questions.

    python -m benchmarks.evaluator_quality --data DIR [--speed-only]

The questions are those that the fit did not see (4 of 10, by a hash of their words). Prints, with
95 % bootstrap intervals over questions where there are enough of them:

* answerability (does any passage answer?): AUC, and balanced accuracy with the threshold chosen on
  the questions of the fit; cosine of question and passage text, BM25, and ours;
* what the profile `general` would do with questions that can and cannot be answered;
* the expected calibration error of a question's best score;
* selection of strips: average precision over all strips (hotpot, qed), mean average precision
  within a passage (wikiqa), and what the strip floor keeps;
* a question echoed in a passage that does not answer it: how far its score rises;
* time for a question with 10 passages of about 120 words.

Takes about 15 minutes on two cores.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from crag_graph.evaluators.local import LocalEvaluator
from crag_graph.models.local.minilm import MiniLM
from crag_graph.settings import PROFILES, Settings
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
from training.scored import WITH_STRIPS, Scored, evaluate, score

REPORTED = ("nq", "wikiqa", "hotpot", "xquad", "musique", "trec", "rgb", "noveleval")
_FEW = 40
_ECHOES = 200


def answerability(seen: Sequence[Scored], unseen: Sequence[Scored]) -> None:
    """Print AUC and balanced accuracy of each scorer on each set."""
    print("answerability: AUC, balanced accuracy [95 % interval]")
    for name in REPORTED:
        chosen = [item for item in unseen if item.task.set == name]
        fitted = [item for item in seen if item.task.set == name]
        truth = _truth(chosen)
        if not truth.any() or truth.all():
            continue
        print(f"  {name}: {len(chosen)} questions, {int(truth.sum())} answerable")
        for scorer in ("cosine", "bm25", "ours"):
            scores = np.array([item.best[scorer] for item in chosen])
            cut = best_threshold([item.best[scorer] for item in fitted], _truth(fitted))
            area = _with_interval(auc, scores, truth)
            right = _with_interval(partial(balanced_accuracy, threshold=cut), scores, truth)
            print(f"    {scorer:7} {area}   {right}")


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
                item.best["ours"]
                for item in unseen
                if item.task.set == name and item.task.answerable is answerable
            ]
            if scores:
                parts = shares(scores, upper=profile.upper, lower=profile.lower)
                shown = "  ".join(f"{part:5.1%}" for part in parts)
                side = "answerable" if answerable else "not"
                print(f"  {name:9} {side:10} {shown}  ({len(scores)})")
    print("expected calibration error of the best score, both answers weighted alike in each set")
    for name in ("nq", "wikiqa", "hotpot", "xquad", "musique"):
        chosen = [item for item in unseen if item.task.set == name]
        print(f"  {name:9} {_balanced_error(chosen):.3f}  ({len(chosen)})")


def _balanced_error(chosen: Sequence[Scored]) -> float:
    """Return the error with answerable and other questions repeated to equal numbers."""
    sides = [[i for i in chosen if bool(i.task.answerable) is side] for side in (True, False)]
    most = max(map(len, sides))
    even = [side[at % len(side)] for side in sides if side for at in range(most)]
    return calibration_error(
        [item.best["ours"] for item in even], [bool(item.task.answerable) for item in even]
    )


def strips(unseen: Sequence[Scored]) -> None:
    """Print how well strips are selected."""
    floor = Settings().strip_floor
    print("strips: average precision (wikiqa: mean within a passage), and what the floor keeps")
    for name in WITH_STRIPS:
        chosen = [i for i in unseen if i.task.set == name and any(i.task.strip_labels.values())]
        for scorer in ("cosine", "ours"):
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
    evaluator = LocalEvaluator(model=encoder())
    rises = []
    for task in [t for t in tasks if t.set == "xquad" and 0 in t.labels][:_ECHOES]:
        passage = task.passages[task.labels.index(0)]
        echoed = passage_of("echo", f"{task.question} {passage.text}", passage.title)
        plain, raised = (
            evaluate(evaluator, task.question, [p]).grades[0]["score"] for p in (passage, echoed)
        )
        rises.append((raised or 0.0) - (plain or 0.0))
    low, middle, high = np.percentile(rises, [10, 50, 90])
    print(
        f"question echoed in a passage that does not answer: score rises by {middle:+.3f} "
        f"(10th {low:+.3f}, 90th percentile {high:+.3f}; {len(rises)} pairs)"
    )


def speed(tasks: Sequence[Task], questions: int = 30) -> None:
    """Print the time for a question with 10 passages of about 120 words, strips included."""
    evaluator = LocalEvaluator(model=MiniLM())
    words = " ".join(
        p.text for t in tasks if t.set in ("nq", "xquad") for p in t.passages[:1]
    ).split()
    passages = [
        passage_of("speed", " ".join(words[at * 120 : at * 120 + 120]), "")
        for at in range(questions * 10)
    ]
    started = time.perf_counter()
    evaluate(evaluator, tasks[0].question, passages[:1])
    loading = time.perf_counter() - started
    times = []
    for at in range(questions):
        started = time.perf_counter()
        evaluate(evaluator, tasks[at].question, passages[at * 10 : at * 10 + 10])
        times.append((time.perf_counter() - started) * 1000)
    print(
        f"10 passages of 120 words: median {statistics.median(times):.0f} ms a question, "
        f"best {min(times):.0f} ms; the first, with loading, {loading:.2f} s"
    )


def main() -> int:
    """Print everything."""
    parser = argparse.ArgumentParser(description="Quality of the local evaluator.")
    parser.add_argument("--data", type=Path, required=True, help="the folder of labelled sets")
    parser.add_argument("--speed-only", action="store_true")
    options = parser.parse_args()
    tasks = read_tasks(options.data, both=False)
    if not options.speed_only:
        tasks = [t for t in tasks if t.set in (*REPORTED, "qed")]
        judged = score(tasks)
        seen = [item for item in judged if item.task.fitted]
        unseen = [item for item in judged if not item.task.fitted]
        answerability(seen, unseen)
        actions(unseen)
        strips(unseen)
        echoes([task for task in tasks if not task.fitted])
    speed([task for task in tasks if not task.fitted])
    return 0


if __name__ == "__main__":
    sys.exit(main())
