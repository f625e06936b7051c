"""Labels by question: what each question's passages are worth, and which action it should take."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from crag_graph.calibration.columns import Columns, Part, find_columns, told
from crag_graph.calibration.entries import Entry, entries_of
from crag_graph.calibration.table import Table, bad_row, read_table
from crag_graph.calibration.values import LabelScale
from crag_graph.errors import InputError
from crag_graph.state import Action
from crag_graph.wording import named

Form = Literal["passages", "questions"]
"""Whether passages are labelled, or questions whose passages are then retrieved."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class LabelledPassage:
    """A passage of a question; `wanted` is None where it has no label of its own."""

    text: str
    wanted: Action | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class LabelledQuestion:
    """A question with what it should come to.

    Attributes:
        text: The question.
        wanted: The action that it should take.
        passages: What it is judged on; empty: what is retrieved for it.
        line: Where it first stands in the file.
    """

    text: str
    wanted: Action
    passages: tuple[LabelledPassage, ...] = ()
    line: int = 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class LabelSet:
    """The labels of a file.

    Attributes:
        path: The file.
        digest: SHA-256 of its bytes.
        form: Whether passages or questions are labelled.
        scale: How numeric labels were read.
        questions: In the order of the file.
        labels: How many labels are used.
        duplicates: Rows that say again what an earlier one says; left out.
        contradictions: Questions, or passages of one, whose rows say different things; left out.
        unlabelled: Rows without a label; left out.
        notes: Sentences about all this, for a reader.
    """

    path: Path
    digest: str
    form: Form
    scale: LabelScale
    questions: tuple[LabelledQuestion, ...]
    labels: int
    duplicates: int = 0
    contradictions: int = 0
    unlabelled: int = 0
    notes: tuple[str, ...] = ()

    @property
    def three_way(self) -> bool:
        """Whether any label is ambiguous."""
        return any(
            question.wanted == "ambiguous"
            or any(passage.wanted == "ambiguous" for passage in question.passages)
            for question in self.questions
        )


def read_labels(path: Path, *, scale: LabelScale = "auto", min_relevant_docs: int = 1) -> LabelSet:
    """Return the labels of a CSV, JSON Lines or JSON file.

    Rows are (question, passage, label), or (question, should_answer) with an optional action. A
    question with labelled passages should be correct where `min_relevant_docs` of them are,
    incorrect where none is even ambiguous, and ambiguous otherwise.

    Args:
        path: The file.
        scale: Of numeric labels; `auto` tells it from all of them.
        min_relevant_docs: How many passages must be relevant for the action correct.

    Raises:
        InputError: A column is missing or a row is bad; the message names file and line.
    """
    table = read_table(path)
    columns, form = _columns(table)
    entries = entries_of(table, columns, scale=scale)
    kept, duplicates, contradictions = _reconciled(entries.entries)
    questions = _by_question(kept, need=min_relevant_docs)
    notes = list(table.notes)
    if duplicates:
        notes.append(f"{_rows(duplicates)} a row before and left out")
    if contradictions:
        what = "passages" if form == "passages" else "questions"
        notes.append(f"{contradictions} {what} with contradicting labels left out")
    if entries.unlabelled:
        notes.append(f"{entries.unlabelled} rows without a label left out")
    if not questions:
        raise InputError(f"{path} holds no label that can be used: {_told_left_out(notes)}")
    return LabelSet(
        path=path,
        digest=table.digest,
        form=form,
        scale=entries.scale,
        questions=questions,
        labels=sum(not entry.of_question for entry in kept) or len(questions),
        duplicates=duplicates,
        contradictions=contradictions,
        unlabelled=entries.unlabelled,
        notes=tuple(notes),
    )


def _rows(count: int) -> str:
    return "1 row repeats" if count == 1 else f"{count} rows repeat"


def _told_left_out(notes: Sequence[str]) -> str:
    return "; ".join(notes) or "write one row for each label below the header"


def _columns(table: Table) -> tuple[Columns, Form]:
    names = list(dict.fromkeys(name for row in table.rows for name in row.fields))
    columns = find_columns(names)
    shown = named(names)
    if not table.rows:
        raise InputError(f"{table.path} has no row below its header")
    where = table.path, 1
    if columns.question is None:
        raise bad_row(*where, _missing("question", shown, asked="the question"))
    if columns.passages or columns.passage:
        labelled = columns.label or columns.answerable or columns.action
        if columns.passages is None and not labelled:
            raise bad_row(*where, _missing("label", shown, asked="the label"))
        asked = columns.passages is None and columns.label is None
        return columns, "questions" if asked else "passages"
    if not (columns.answerable or columns.action or columns.label):
        why = (
            f"the columns are {shown}; beside {columns.question} there must be one for the passage "
            f"({told('passage', 2)} or the like) and one for its label ({told('label', 2)} or the "
            "like), or should_answer or action"
        )
        raise bad_row(*where, why)
    return columns, "questions"


def _missing(part: Part, shown: str, *, asked: str) -> str:
    return f"the columns are {shown}; none of them holds {asked}: name it {told(part)} or the like"


def _reconciled(entries: Sequence[Entry]) -> tuple[list[Entry], int, int]:
    """Return the entries without repetitions and contradictions, and how many there were."""
    said: dict[tuple[str, str], set[Action | None]] = {}
    for entry in entries:
        said.setdefault(entry.subject, set()).add(entry.wanted)
    kept: dict[tuple[str, str], Entry] = {}
    duplicates = 0
    for entry in entries:
        if len(said[entry.subject]) > 1:
            continue
        duplicates += entry.key in kept
        kept.setdefault(entry.key, entry)
    contradictions = sum(len(wanted) > 1 for wanted in said.values())
    return list(kept.values()), duplicates, contradictions


def _by_question(entries: Sequence[Entry], *, need: int) -> tuple[LabelledQuestion, ...]:
    grouped: dict[str, list[Entry]] = {}
    for entry in entries:
        grouped.setdefault(entry.key[0], []).append(entry)
    questions: list[LabelledQuestion] = []
    for group in grouped.values():
        own: Action | None = next((entry.wanted for entry in group if entry.of_question), None)
        passages: tuple[LabelledPassage, ...] = tuple(
            LabelledPassage(text=entry.passage, wanted=None if entry.of_question else entry.wanted)
            for entry in group
            if entry.passage
        )
        wanted: Action | None = own or _wanted([each.wanted for each in passages], need=need)
        if wanted is not None:
            first = group[0]
            questions.append(
                LabelledQuestion(
                    text=first.question, wanted=wanted, passages=passages, line=first.line
                )
            )
    return tuple(questions)


def _wanted(passages: Sequence[Action | None], *, need: int) -> Action | None:
    if all(wanted is None for wanted in passages):
        return None
    if passages.count("correct") >= need:
        return "correct"
    return "ambiguous" if {"correct", "ambiguous"} & {*passages} else "incorrect"
