"""Tasks with what each scorer says: cosine, BM25, the local evaluator with its model or not."""

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from crag_graph.budget import Budget
from crag_graph.evaluators.base import Evaluation, Passage
from crag_graph.evaluators.local import LocalEvaluator
from crag_graph.settings import Settings
from crag_graph.state import Strip
from training.labelled import Task
from training.retrieval import BM25, encoder

WITH_STRIPS = ("hotpot", "qed", "wikiqa")
"""The sets with labelled sentences."""


SCORERS = ("cosine", "bm25", "evidence", "ours")
"""`evidence` is the local evaluator without its trained cross-encoder."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Scored:
    """A task with what each scorer gives its passages, and its strips where they are labelled."""

    task: Task
    passages: dict[str, list[float]]
    strips: dict[str, dict[str, float]]

    def best(self, scorer: str) -> float:
        """Return the score of the best passage."""
        return max(self.passages[scorer])

    def lists(self, scorer: str) -> tuple[list[float], list[int]]:
        """Return the scores and labels of all strips, unlabelled ones as not answering."""
        keys = [strip["id"] for passage in self.task.passages for strip in passage.strips]
        scores = [self.strips[scorer].get(key, 0.0) for key in keys]
        return scores, [self.task.strip_labels.get(key, 0) for key in keys]


def evaluate(evaluator: LocalEvaluator, question: str, passages: Sequence[Passage]) -> Evaluation:
    """Return our evaluation."""
    return evaluator.evaluate(question, passages, settings=Settings(), budget=Budget())


def score(tasks: Sequence[Task]) -> list[Scored]:
    """Return the tasks with all scores."""
    ours = {
        "evidence": LocalEvaluator(model=encoder(), cross=None),
        "ours": LocalEvaluator(model=encoder()),
    }
    by_set: dict[str, BM25] = {}
    places: dict[str, dict[str, int]] = {}
    for name in {task.set for task in tasks}:
        texts = {p.id: p.text for task in tasks if task.set == name for p in task.passages}
        by_set[name], places[name] = BM25(list(texts.values())), {i: n for n, i in enumerate(texts)}
    return [_scored(task, ours, by_set[task.set], places[task.set]) for task in tasks]


def _scored(
    task: Task, ours: dict[str, LocalEvaluator], bm25: BM25, places: dict[str, int]
) -> Scored:
    asked = encoder().embed([task.question])[0]
    likeness = encoder().embed([passage.text for passage in task.passages]) @ asked
    sparse = bm25.scores(task.question)
    passages = {
        "cosine": [float(value) for value in likeness],
        "bm25": [float(sparse[places[passage.id]]) for passage in task.passages],
    }
    strips: dict[str, dict[str, float]] = {}
    if task.set in WITH_STRIPS:
        all_strips = [strip for passage in task.passages for strip in passage.strips]
        strips["cosine"] = _strip_cosines(asked, all_strips)
    for name, evaluator in ours.items():
        found = evaluate(evaluator, task.question, task.passages)
        scores = {grade["document_id"]: grade["score"] or 0.0 for grade in found.grades}
        passages[name] = [scores[passage.id] for passage in task.passages]
        strips[name] = dict(found.strip_scores)
    return Scored(task=task, passages=passages, strips=strips)


def _strip_cosines(asked: NDArray[np.float32], strips: Sequence[Strip]) -> dict[str, float]:
    vectors = encoder().embed([strip["text"] for strip in strips])
    return {strip["id"]: float(value) for strip, value in zip(strips, vectors @ asked, strict=True)}
