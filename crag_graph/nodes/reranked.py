"""What reranking scored, as plain data in the state, so that `evaluate` need not score it again.

It outlives a checkpoint, and it counts for the very question and text that it was made of.
"""

import dataclasses
import hashlib
from collections.abc import Sequence

from crag_graph.evaluators.base import Evaluation, Passage
from crag_graph.evaluators.grading import unit_score
from crag_graph.state import CRAGState, Grade, Reranked


def scored_now(
    question: str,
    kept: Sequence[Passage],
    grades: Sequence[Grade],
    evaluation: Evaluation,
    *,
    evaluator: str,
) -> Reranked:
    """Return what `evaluator` said of the passages that stay, in the order of `kept`."""
    return {
        "evaluator": evaluator,
        "keys": {passage.id: _key(question, passage) for passage in kept},
        "grades": list(grades),
        "strips": _strip_scores(kept, evaluation),
    }


def scored_before(
    state: CRAGState, question: str, passages: Sequence[Passage], *, evaluator: str
) -> tuple[Evaluation, list[Passage]]:
    """Return what `evaluator` said of these passages while they were reranked, and the others.

    A grade that is failed does not count, nor does one of another question or another text, as
    when the state was edited since.
    """
    scored = state.get("reranked")
    if not scored or scored["evaluator"] != evaluator:
        return Evaluation(grades=()), list(passages)
    graded = {g["document_id"]: g for g in scored["grades"] if g["status"] != "failed"}
    keys = scored["keys"]
    known = [p for p in passages if p.id in graded and keys.get(p.id) == _key(question, p)]
    evaluation = Evaluation(
        grades=[graded[passage.id] for passage in known],
        strip_scores={
            strip["id"]: scored["strips"][strip["id"]]
            for passage in known
            for strip in passage.strips
            if strip["id"] in scored["strips"]
        },
    )
    ids = {passage.id for passage in known}
    return evaluation, [passage for passage in passages if passage.id not in ids]


def together(before: Evaluation, now: Evaluation) -> Evaluation:
    """Return what was said before with what is said now of the other passages."""
    if not before.grades:
        return now
    return dataclasses.replace(
        now,
        grades=[*before.grades, *now.grades],
        strip_scores={**before.strip_scores, **now.strip_scores},
    )


def _strip_scores(kept: Sequence[Passage], evaluation: Evaluation) -> dict[str, float]:
    scores = evaluation.strip_scores
    return {
        strip["id"]: score
        for passage in kept
        for strip in passage.strips
        if (score := unit_score(scores.get(strip["id"]))) is not None
    }


def _key(question: str, passage: Passage) -> str:
    text = f"{question}\x00{passage.title}\x00{passage.text}"
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
