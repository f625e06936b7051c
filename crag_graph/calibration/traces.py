"""Earlier runs without labels: where their scores lie, and which action other thresholds give.

A run is what `crag ask --json` prints. It is found in a file of one object, in JSON Lines, in a
list, and inside what wraps it elsewhere: `values` of a thread's state or history from the LangGraph
server, `outputs` of an exported trace, `runs` of `crag demo --json`.
"""

import dataclasses
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from crag_graph.errors import EvaluationError, InputError
from crag_graph.settings import OutagePolicy, Thresholds
from crag_graph.state import Action, Grade
from crag_graph.verdict import Verdict, decide, known_score

_WRAPPERS = ("values", "outputs", "output", "runs", "data", "state")
_SUFFIXES = (".json", ".jsonl", ".ndjson")
_ACTIONS: tuple[Action, ...] = ("correct", "ambiguous", "incorrect")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Trace:
    """One earlier run: its question, its grades, and what it did under which profile."""

    question: str
    grades: tuple[Grade, ...]
    action: Action | None = None
    profile: str = ""
    evaluator: str = ""
    run_id: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Change:
    """A run that would take another action: its aggregate, the action before, and after."""

    question: str
    score: float | None
    before: Action
    after: Action


@dataclasses.dataclass(frozen=True, kw_only=True)
class WhatIf:
    """Earlier runs under thresholds.

    Attributes:
        runs: How many there are.
        scores: The aggregate of each run that has one, under `thresholds`.
        recorded: How many runs took each action, where they say so.
        present: How many would take each under the present thresholds.
        shares: How many would take each under the thresholds asked about.
        changes: Runs whose action those would change, against the present ones, or against what
            was recorded where the two are the same; nearest to a threshold first.
        against: What `changes` compares with, in words.
        evaluators: How many runs each evaluator graded.
        profiles: How many runs each profile decided.
        thresholds: Those asked about.
        unscored: Runs without any known grade.
    """

    runs: int
    scores: tuple[float, ...]
    recorded: Mapping[Action, int]
    present: Mapping[Action, int]
    shares: Mapping[Action, int]
    changes: tuple[Change, ...]
    against: str
    evaluators: Mapping[str, int]
    profiles: Mapping[str, int]
    thresholds: Thresholds
    unscored: int

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as plain data, for JSON."""
        return dataclasses.asdict(self)


def read_traces(path: Path) -> list[Trace]:
    """Return the runs in a file, or in the `.json`, `.jsonl` and `.ndjson` files of a folder.

    States of one run, as a thread's history holds them, count once.

    Raises:
        InputError: A file cannot be read, or none holds a run with grades.
    """
    if path.is_dir():
        files = sorted(each for each in path.rglob("*") if each.suffix.lower() in _SUFFIXES)
    else:
        files = [path]
    found: list[Trace] = []
    by_run: dict[str, int] = {}
    for file in files:
        for value in _values(file):
            for trace in _traces(value):
                at = by_run.get(trace.run_id) if trace.run_id else None
                if at is None:
                    by_run[trace.run_id] = len(found)
                    found.append(trace)
                elif found[at].action is None or len(trace.grades) > len(found[at].grades):
                    found[at] = trace
    if not found:
        raise InputError(
            f"--from-traces {path}: there is no run with grades in it; keep what `crag ask "
            "QUESTION --json` prints, one object a file or a line"
        )
    return found


def what_if(
    traces: Sequence[Trace],
    thresholds: Thresholds,
    present: Thresholds,
    *,
    outage_policy: OutagePolicy = "ambiguous",
) -> WhatIf:
    """Return what `traces` would come to under `thresholds`, beside the `present` ones."""
    policy: OutagePolicy = "ambiguous" if outage_policy == "raise" else outage_policy
    asked = [_verdict(trace, thresholds, policy) for trace in traces]
    now = [_verdict(trace, present, policy) for trace in traces]
    same = _bars(thresholds) == _bars(present)
    before: list[Action | None] = [
        trace.action if same else verdict.action for trace, verdict in zip(traces, now, strict=True)
    ]
    changes = [
        Change(question=trace.question, score=verdict.score, before=old, after=verdict.action)
        for trace, verdict, old in zip(traces, asked, before, strict=True)
        if old is not None and old != verdict.action
    ]
    changes.sort(key=lambda change: (change.score is None, -(change.score or 0.0), change.question))
    return WhatIf(
        runs=len(traces),
        scores=tuple(verdict.score for verdict in asked if verdict.score is not None),
        recorded=_counted([trace.action for trace in traces]),
        present=_counted([verdict.action for verdict in now]),
        shares=_counted([verdict.action for verdict in asked]),
        changes=tuple(changes),
        against="what was recorded" if same else f"profile {present.profile}",
        evaluators=dict(Counter(trace.evaluator for trace in traces if trace.evaluator)),
        profiles=dict(Counter(trace.profile for trace in traces if trace.profile)),
        thresholds=thresholds,
        unscored=sum(verdict.score is None for verdict in asked),
    )


def _verdict(trace: Trace, thresholds: Thresholds, policy: OutagePolicy) -> Verdict:
    try:
        return decide(trace.grades, thresholds, outage_policy=policy)
    except EvaluationError:  # not under these policies
        return decide((), thresholds)


def _bars(thresholds: Thresholds) -> tuple[float, float, str, int]:
    return (
        thresholds.upper,
        thresholds.lower,
        thresholds.aggregate,
        thresholds.min_relevant_docs,
    )


def _counted(actions: Sequence[Action | None]) -> dict[Action, int]:
    return {action: sum(each == action for each in actions) for action in _ACTIONS}


def _values(path: Path) -> Iterator[Any]:
    """Yield the JSON values of a file: of the whole, or of each line."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        why = (error.strerror or "error").lower()
        raise InputError(f"--from-traces {path} cannot be read: {why}") from None
    except UnicodeDecodeError:
        raise InputError(f"--from-traces {path}: not text in UTF-8") from None
    try:
        yield json.loads(text)
    except ValueError:
        pass
    else:
        return
    for line, part in enumerate(text.split("\n"), 1):
        if not part.strip():
            continue
        try:
            value = json.loads(part)
        except ValueError as error:
            raise InputError(f"{path}:{line}: not JSON ({error})") from None
        yield value


def _traces(value: Any) -> Iterator[Trace]:
    if isinstance(value, list):
        for item in value:
            yield from _traces(item)
    elif isinstance(value, Mapping):
        if isinstance(value.get("grades"), list) and "question" in value:
            yield _trace(value)
            return
        for name in _WRAPPERS:
            if isinstance(value.get(name), Mapping | list):
                yield from _traces(value[name])


def _trace(state: Mapping[str, Any]) -> Trace:
    decision = state.get("decision")
    card: Mapping[str, Any] = decision if isinstance(decision, Mapping) else {}
    action = state.get("action") or card.get("action")
    grades = [_grade(each) for each in state["grades"] if isinstance(each, Mapping)]
    graded_by = str(card.get("evaluator") or "")
    if not graded_by and grades:
        graded_by = grades[0]["evaluator"]
    return Trace(
        question=str(state.get("question") or ""),
        grades=tuple(grades),
        action=action if action in _ACTIONS else None,
        profile=str(card.get("profile") or ""),
        evaluator=graded_by,
        run_id=str(card.get("run_id") or ""),
    )


def _grade(fields: Mapping[str, Any]) -> Grade:
    grade = Grade(
        document_id=str(fields.get("document_id") or ""),
        score=fields.get("score"),
        raw=None,
        status=fields.get("status", "scored"),
        reason="",
        evaluator=str(fields.get("evaluator") or ""),
    )
    if grade["status"] == "scored" and known_score(grade) is None:
        return {**grade, "score": None, "status": "unknown"}
    return grade
