"""Tasks with what each scorer says: cosine, BM25 and the local evaluator."""

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


@dataclasses.dataclass(frozen=True, kw_only=True)
class Scored:
    """A task with what each scorer gives its best passage, and our scores of strips."""

    task: Task
    best: dict[str, float]
    strips: dict[str, dict[str, float]]

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
    evaluator = LocalEvaluator(model=encoder())
    by_set: dict[str, BM25] = {}
    places: dict[str, dict[str, int]] = {}
    for name in {task.set for task in tasks}:
        texts = {p.id: p.text for task in tasks if task.set == name for p in task.passages}
        by_set[name], places[name] = BM25(list(texts.values())), {i: n for n, i in enumerate(texts)}
    found = []
    for task in tasks:
        asked = encoder().embed([task.question])[0]
        likeness = encoder().embed([passage.text for passage in task.passages]) @ asked
        sparse = by_set[task.set].scores(task.question)
        ours = evaluate(evaluator, task.question, task.passages)
        grades = [grade["score"] for grade in ours.grades if grade["score"] is not None]
        strips = [strip for passage in task.passages for strip in passage.strips]
        wanted = task.set in WITH_STRIPS and not task.fitted
        cosines = _strip_cosines(asked, strips) if wanted else {}
        found.append(
            Scored(
                task=task,
                best={
                    "cosine": float(likeness.max()),
                    "bm25": max(float(sparse[places[task.set][p.id]]) for p in task.passages),
                    "ours": max(grades),
                },
                strips={"cosine": cosines, "ours": dict(ours.strip_scores)},
            )
        )
    return found


def _strip_cosines(asked: NDArray[np.float32], strips: Sequence[Strip]) -> dict[str, float]:
    vectors = encoder().embed([strip["text"] for strip in strips])
    return {strip["id"]: float(value) for strip, value in zip(strips, vectors @ asked, strict=True)}
