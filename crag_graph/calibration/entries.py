"""From rows to entries: one statement each about a question, or about a passage of one."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from crag_graph.calibration.columns import Columns, find_columns
from crag_graph.calibration.table import Row, Table, bad_row
from crag_graph.calibration.values import LabelScale, as_class, as_number, detect_scale
from crag_graph.errors import InputError
from crag_graph.state import Action
from crag_graph.text.clean import clean_text


@dataclasses.dataclass(frozen=True, kw_only=True)
class Entry:
    """What a row says.

    Attributes:
        line: Where it stands.
        question: As it is written.
        passage: The passage; empty for a statement about the question alone.
        wanted: The class; None where it is a passage of a question that is labelled as a whole.
        of_question: Whether `wanted` is the question's own.
    """

    line: int
    question: str
    passage: str
    wanted: Action | None
    of_question: bool

    @property
    def key(self) -> tuple[str, str]:
        """What makes two statements be about the same thing: white space and case aside."""
        return " ".join(self.question.casefold().split()), " ".join(self.passage.split())

    @property
    def subject(self) -> tuple[str, str]:
        """What the label is about, which must not be labelled in two ways."""
        question, passage = self.key
        return question, "" if self.of_question else f"passage {passage}"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Entries:
    """All entries of a file, the scale of their labels, and how many rows had none."""

    entries: tuple[Entry, ...]
    scale: LabelScale
    unlabelled: int


@dataclasses.dataclass(frozen=True)
class _Raw:
    line: int
    question: str
    passage: str
    value: Any
    of_question: bool
    blank: bool = False


def entries_of(table: Table, columns: Columns, *, scale: LabelScale = "auto") -> Entries:
    """Return what the rows of `table` say.

    Raises:
        InputError: A row lacks its question or passage, or its label cannot be read; the message
            names file and line.
    """
    raw = [entry for row in table.rows for entry in _of_row(table, row, columns)]
    labelled = [entry for entry in raw if not entry.blank]
    if scale == "auto":
        graded = [each for each in labelled if not each.of_question and each.value is not None]
        numbers = {number for each in graded if (number := as_number(each.value)) is not None}
        try:
            scale = detect_scale(numbers)
        except ValueError as error:
            raise InputError(f"{table.path}: {error}") from None
    entries = tuple(_entry(table, each, scale) for each in labelled)
    return Entries(entries=entries, scale=scale, unlabelled=len(raw) - len(labelled))


def _entry(table: Table, raw: _Raw, scale: LabelScale) -> Entry:
    wanted: Action | None = None
    if raw.value is not None:
        try:
            wanted = as_class(raw.value, "binary" if raw.of_question else scale)
        except ValueError as error:
            raise bad_row(table.path, raw.line, str(error)) from None
    return Entry(
        line=raw.line,
        question=raw.question,
        passage=raw.passage,
        wanted=wanted,
        of_question=raw.of_question,
    )


def _of_row(table: Table, row: Row, columns: Columns) -> Iterator[_Raw]:
    question = _text(row.fields, columns.question)
    if not question:
        raise bad_row(table.path, row.line, f"the column {columns.question} is blank")
    own = _value(row.fields, columns.action)
    own = _value(row.fields, columns.answerable) if own is None else own
    if columns.passages and row.fields.get(columns.passages) is not None:
        yield from _nested(table, row, question, row.fields[columns.passages], own)
        return
    label = _value(row.fields, columns.label)
    passage = _text(row.fields, columns.passage)
    if columns.passage is None:
        value = label if own is None else own
        yield _Raw(row.line, question, "", value, of_question=True, blank=value is None)
        return
    if not passage:
        raise bad_row(table.path, row.line, f"the column {columns.passage} is blank")
    if columns.label is None:
        yield _Raw(row.line, question, passage, own, of_question=True, blank=own is None)
        return
    yield _Raw(row.line, question, passage, label, of_question=False, blank=label is None)


def _nested(table: Table, row: Row, question: str, passages: Any, own: Any) -> Iterator[_Raw]:
    """Yield the passages of a question that stand in one object with it."""
    if not isinstance(passages, Sequence) or isinstance(passages, str):
        raise bad_row(table.path, row.line, "its passages are not a list")
    if own is not None:
        yield _Raw(row.line, question, "", own, of_question=True)
    for item in passages:
        fields: Mapping[str, Any] = item if isinstance(item, Mapping) else {"text": item}
        names = find_columns(fields)
        text = _text(fields, names.passage)
        if not text:
            raise bad_row(table.path, row.line, "one of its passages has no text")
        label = _value(fields, names.label)
        if label is None and own is not None:
            yield _Raw(row.line, question, text, own, of_question=True)
        else:
            yield _Raw(row.line, question, text, label, of_question=False, blank=label is None)


def _text(fields: Mapping[str, Any], name: str | None) -> str:
    value = fields.get(name) if name else None
    return "" if value is None else clean_text(str(value)).strip()


def _value(fields: Mapping[str, Any], name: str | None) -> Any:
    value = fields.get(name) if name else None
    return None if isinstance(value, str) and not value.strip() else value
