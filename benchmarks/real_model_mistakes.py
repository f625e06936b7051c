"""What a model got wrong in a run: grades, action, answer. Counted and told, never a failure."""

import dataclasses
from pathlib import PurePath
from typing import Literal

from benchmarks.real_model_cases import Case
from benchmarks.real_model_runs import Run

Answer = Literal["right", "partly", "wrong", "refused", "invented"]

# The thresholds of the profile that the runs use.
_UPPER, _LOWER = 0.7, 0.3


@dataclasses.dataclass(frozen=True, kw_only=True)
class Judged:
    """What was right.

    Attributes:
        action: Whether the action was.
        grades: How many passages the model was to grade.
        grades_right: How many grades lead to the right side of the thresholds.
        answer: `right`; `partly`: some of it is there; `wrong`: none; `refused`: it did not answer
            although it could have; `invented`: it answered although nothing bore on the question.
        mistakes: Each mistake in words.
    """

    action: bool
    grades: int
    grades_right: int
    answer: Answer
    mistakes: tuple[str, ...]


def judge(run: Run) -> Judged:
    """Return what the model got right in `run`, and each mistake."""
    case = run.case
    action = run.state.get("action")
    mistakes: list[str] = []
    if action not in case.actions:
        mistakes.append(f"the action was {action}, not {' or '.join(case.actions)}")
    grades = run.state.get("grades") or []
    wrong = _wrong_grades(run)
    mistakes.extend(wrong)
    answer = _answer(run)
    if answer != "right":
        mistakes.append(f"the answer is {answer}")
    if run.usage.get("generation_calls") and not run.state.get("citations"):
        mistakes.append("the answer cites nothing")
    return Judged(
        action=action in case.actions,
        grades=len(grades),
        grades_right=len(grades) - len(wrong),
        answer=answer,
        mistakes=tuple(mistakes),
    )


def _wrong_grades(run: Run) -> list[str]:
    names = {
        document.id: PurePath(str(document.metadata.get("source", ""))).name
        for document in run.state.get("documents") or []
    }
    wrong = []
    for grade in run.state.get("grades") or []:
        name = names.get(grade["document_id"], "")
        low, high = _bounds(run.case, name)
        score = grade["score"]
        if score is None:
            wrong.append(f"{name} got no grade: {grade['reason']}")
        elif not low <= score <= high:
            wrong.append(f"{name} got {grade['raw']:g} of 5: {grade['reason'] or 'no reason'}")
    return wrong


def _bounds(case: Case, name: str) -> tuple[float, float]:
    """Return the least and the highest score that would be right for the passage of this file."""
    if name != case.about:
        return 0.0, _LOWER
    if case.actions == ("correct",):
        return _UPPER, 1.0
    return (_LOWER + 0.01 if case.actions == ("ambiguous",) else 0.0), _UPPER - 0.01


def _answer(run: Run) -> Answer:
    said = str(run.state.get("answer") or "").lower()
    declined = run.state.get("status") == "refused" or _says_that_it_is_not_there(said)
    found = [any(form.lower() in said for form in forms) for forms in run.case.answer]
    if not run.case.answer:
        return "right" if declined else "invented"
    if all(found):
        return "right"
    if any(found):
        return "partly"
    return "refused" if declined else "wrong"


def _says_that_it_is_not_there(said: str) -> bool:
    signs = (
        "do not",
        "does not",
        "don't",
        "not mention",
        "not provide",
        "no information",
        "cannot",
    )
    return not said or any(sign in said for sign in signs)
