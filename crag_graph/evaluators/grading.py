"""From documents to what an evaluator is asked, and from its answer to what the graph keeps."""

import math
from collections.abc import Mapping, Sequence

from langchain_core.documents import Document

from crag_graph.evaluators.base import Evaluation, Passage
from crag_graph.state import Grade, Origin, Strip
from crag_graph.text.strips import decompose
from crag_graph.text.titles import title_of


def as_passages(documents: Sequence[Document], *, origin: Origin) -> list[Passage]:
    """Return the documents cut into strips, each under its own id."""
    return [
        Passage(
            id=document.id or "",
            text=document.page_content,
            title=title_of(document),
            strips=tuple(decompose(document, origin=origin)),
            origin=origin,
        )
        for document in documents
    ]


def align_grades(
    passages: Sequence[Passage], evaluation: Evaluation, *, evaluator: str
) -> list[Grade]:
    """Return one grade a passage, in the order of `passages`, found by id and never by position.

    A passage without a grade is unknown, as is a score that is not a finite number on 0–1. Where
    an id was graded more than once the first grade counts.
    """
    by_id: dict[str, Grade] = {}
    for grade in evaluation.grades:
        by_id.setdefault(grade["document_id"], grade)
    return [_sound(by_id.get(passage.id), passage.id, evaluator) for passage in passages]


def failed_grades(passages: Sequence[Passage], *, evaluator: str, reason: str) -> list[Grade]:
    """Return a failed grade for every passage: a failure is never a verdict."""
    return [_grade(passage.id, evaluator, "failed", reason) for passage in passages]


def scored_strips(passages: Sequence[Passage], scores: Mapping[str, float]) -> list[Strip]:
    """Return all strips of `passages` with their scores, None for those that were not judged."""
    return [
        {**strip, "score": unit_score(scores.get(strip["id"])), "kept": False}
        for passage in passages
        for strip in passage.strips
    ]


def _sound(grade: Grade | None, document_id: str, evaluator: str) -> Grade:
    if grade is None:
        return _grade(document_id, evaluator, "unknown", "the evaluator gave no grade for it")
    if grade["status"] == "scored" and unit_score(grade["score"]) is None:
        return {**_grade(document_id, evaluator, "unknown", "its score is not a number on 0–1")}
    if grade["status"] != "scored":
        return {**grade, "score": None}
    return {**grade, "score": unit_score(grade["score"]), "raw": _finite(grade["raw"])}


def _grade(document_id: str, evaluator: str, status: str, reason: str) -> Grade:
    return {
        "document_id": document_id,
        "score": None,
        "raw": None,
        "status": "failed" if status == "failed" else "unknown",
        "reason": reason,
        "evaluator": evaluator,
    }


def _finite(value: float | None) -> float | None:
    if value is None or isinstance(value, bool):
        return None
    number = float(value)
    return number if math.isfinite(number) else None


def unit_score(value: float | None) -> float | None:
    """Return `value` where it is a finite number on 0–1, else None."""
    number = _finite(value)
    return number if number is not None and 0.0 <= number <= 1.0 else None
