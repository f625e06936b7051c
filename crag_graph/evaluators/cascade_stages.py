"""The cascade's outcomes: the first stage stands, the second decides, or it is fallen back from."""

import dataclasses
from collections.abc import Sequence
from typing import Literal

from crag_graph.errors import CRAGError, ModelError
from crag_graph.evaluators.base import Evaluation, Passage
from crag_graph.evaluators.grading import align_grades
from crag_graph.state import Grade, NodeUsage
from crag_graph.wording import counted

_Count = Literal["llm_calls", "input_tokens", "output_tokens", "cache_hits"]
_COUNTS: tuple[_Count, ...] = ("llm_calls", "input_tokens", "output_tokens", "cache_hits")


@dataclasses.dataclass(frozen=True, kw_only=True)
class First:
    """What came of the first stage.

    Attributes:
        evaluation: Its evaluation, one grade a passage; without grades where it failed.
        error: Why it failed.
        ask: Whether the second stage is asked.
        why: Why it is asked, or not.
    """

    evaluation: Evaluation = dataclasses.field(default_factory=lambda: Evaluation(grades=()))
    error: ModelError | None = None
    ask: bool
    why: str


def stands(found: First, first: str) -> Evaluation:
    """Return the evaluation of the first stage, named `first`, as the one that decides."""
    why = f"{found.why}: {first} decides"
    return dataclasses.replace(found.evaluation, decided_by=first, why=why)


def fallen_back(
    found: First, error: CRAGError, spent: NodeUsage, names: tuple[str, str]
) -> Evaluation:
    """Return the evaluation of the first stage, since the second gave none.

    Args:
        found: The first stage.
        error: Why the second failed.
        spent: What that took.
        names: Of both stages.

    Raises:
        CRAGError: `error`, when the first stage graded nothing either.
    """
    if not any_scored(found.evaluation.grades):
        raise error
    first, then = names
    return dataclasses.replace(
        found.evaluation,
        usage=_sum(found.evaluation.usage, spent),
        notes=(
            *found.evaluation.notes,
            f"{then} could not grade, so {first} did: {error.message}",
        ),
        decided_by=first,
        why=f"{found.why}, but {then} could not grade: {first} decides",
    )


def decided(
    passages: Sequence[Passage], found: First, second: Evaluation, names: tuple[str, str]
) -> Evaluation:
    """Return the evaluation of the second stage, with the first one's word where it had none.

    Args:
        passages: What was graded.
        found: The first stage.
        second: What the second stage says.
        names: Of both stages.
    """
    first, then = names
    own = {grade["document_id"]: grade for grade in found.evaluation.grades}
    grades: list[Grade] = []
    strips = dict(second.strip_scores)
    notes = [*second.notes]
    taken = 0
    for passage, grade in zip(
        passages, align_grades(passages, second, evaluator=then), strict=True
    ):
        kept = own.get(passage.id)
        if grade["status"] == "failed" and kept is not None and kept["status"] == "scored":
            taken += 1
            grades.append(kept)
            keys = [strip["id"] for strip in passage.strips]
            known = found.evaluation.strip_scores
            strips.update({key: known[key] for key in keys if key in known})
        else:
            grades.append(grade)
    if taken:
        every = counted(len(grades), "passage")
        notes.append(f"{then} could not grade {taken} of {every}, so {first} did")
    if found.error is not None:
        notes.append(f"{found.why}, so {then} graded")
    return dataclasses.replace(
        second,
        grades=grades,
        strip_scores=strips,
        usage=_sum(found.evaluation.usage, second.usage),
        notes=notes,
        decided_by=then,
        why=f"{found.why}: {then} decides",
    )


def any_scored(grades: Sequence[Grade]) -> bool:
    """Return whether any of `grades` has a score."""
    return any(grade["status"] == "scored" for grade in grades)


def _sum(one: NodeUsage, other: NodeUsage) -> NodeUsage:
    total: NodeUsage = {}
    for name in _COUNTS:
        if name in one or name in other:
            total[name] = one.get(name, 0) + other.get(name, 0)
    return total
