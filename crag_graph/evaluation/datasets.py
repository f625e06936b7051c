"""Reading a file of labelled questions: JSONL, CSV or TSV, gzipped or not."""

import csv
import dataclasses
import gzip
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from crag_graph.errors import InputError
from crag_graph.evaluation.examples import COLUMNS, Example, example_of
from crag_graph.text.csv_fields import allow_long_fields
from crag_graph.wording import named

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_LINES = (".jsonl", ".ndjson")


def read_dataset(path: Path | str, *, relevant_from: float = 1.0) -> list[Example]:
    """Return the questions of the file, in its order.

    Args:
        path: `.jsonl` or `.ndjson` (a question a line), `.csv` or `.tsv` (a question a row, with
            a header), or any of these with `.gz` behind. What a row may hold: see `example_of`.
        relevant_from: The label from which a passage answers, for labels of several grades.

    Raises:
        InputError: The file cannot be read, holds no question, or a row cannot be used; the message
            begins with the file, and the line where there is one.
    """
    path = Path(path)
    examples: list[Example] = []
    ids: dict[str, int] = {}
    for line, row in _rows(path):
        try:
            example = example_of(row, default_id=f"line {line}", relevant_from=relevant_from)
        except InputError as error:
            raise InputError(f"{path}:{line}: {error.message}") from None
        if examples and bool(example.passages) != bool(examples[0].passages):
            raise InputError(
                f"{path}:{line}: questions with passages of their own and questions without are "
                "mixed; put them into two files"
            )
        ids[example.id] = count = ids.get(example.id, 0) + 1
        if count > 1:
            example = dataclasses.replace(example, id=f"{example.id}#{count}")
        examples.append(example)
    if not examples:
        raise InputError(f"{path}: there is no question in it")
    return examples


def sample(examples: Sequence[Example], *, limit: int | None, seed: int) -> list[Example]:
    """Return `limit` of the questions drawn at random, in their order; all where that is no fewer.

    The same seed draws the same ones, and a smaller limit a part of them.
    """
    if limit is None or limit >= len(examples):
        return list(examples)
    drawn = np.random.default_rng(seed).permutation(len(examples))[:limit]
    return [examples[index] for index in sorted(drawn.tolist())]


def label_counts(examples: Sequence[Example]) -> dict[str, int]:
    """Return how many questions have each kind of label, and how many passages."""
    return {
        "answerable": sum(example.answerable is True for example in examples),
        "unanswerable": sum(example.answerable is False for example in examples),
        "answers": sum(bool(example.answers) for example in examples),
        "gold": sum(bool(example.gold) or _labelled(example) for example in examples),
        "sentences": sum(
            any(passage.sentences for passage in example.passages) for example in examples
        ),
        "passages": sum(len(example.passages) for example in examples),
    }


def _labelled(example: Example) -> bool:
    return any(passage.label is not None for passage in example.passages)


def _rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield each row with the line that it ends on."""
    zipped = path.suffix.lower() == ".gz"
    kind = Path(path.stem).suffix.lower() if zipped else path.suffix.lower()
    if kind not in (*_LINES, *_DELIMITERS):
        raise InputError(f"{path}: a .jsonl or .csv file is needed, which may be gzipped (.gz)")
    try:
        with _open(path, zipped=zipped) as file:
            yield from _objects(file, path) if kind in _LINES else _table(file, path, kind)
    except UnicodeDecodeError:
        line = _undecodable(path, zipped=zipped)
        raise InputError(f"{path}:{line}: this is not UTF-8; save the file as UTF-8") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path}: this is no whole gzip file ({error})") from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"{path} cannot be read: {reason}") from None


def _open(path: Path, *, zipped: bool) -> IO[str]:
    if zipped:
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _undecodable(path: Path, *, zipped: bool) -> int:
    """Return the first line that is not UTF-8: text is decoded in blocks, ahead of the lines."""
    with gzip.open(path) if zipped else path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return number
    return 1


def _objects(file: IO[str], path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for number, text in enumerate(file, 1):
        if not text.strip():
            continue
        try:
            row = json.loads(text)
        except (ValueError, RecursionError) as error:
            what = getattr(error, "msg", "nested too deeply")
            raise InputError(f"{path}:{number}: this is not JSON ({what.lower()})") from None
        if not isinstance(row, dict):
            raise InputError(f'{path}:{number}: an object is needed, as in {{"question": "…"}}')
        yield number, row


def _table(file: IO[str], path: Path, kind: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    allow_long_fields()
    reader = csv.DictReader(file, delimiter=_DELIMITERS[kind], strict=True)
    try:
        names = reader.fieldnames or ()
        if "question" not in names:
            raise InputError(f"{path}:1: {_header_fault(names, _DELIMITERS[kind])}")
        for row in reader:
            if None in row:
                raise InputError(f"{path}:{reader.line_num}: there are more cells than columns")
            yield reader.line_num, row
    except csv.Error as error:
        line = reader.reader.line_num  # the outer one counts only what it has returned
        raise InputError(f"{path}:{line}: {error}; try JSONL") from None


def _header_fault(names: Sequence[str], delimiter: str) -> str:
    """Return what is wrong with a header that has no column `question`."""
    needed = f"a column `question` is needed, beside any of {', '.join(COLUMNS)}"
    if len(names) == 1:
        other = next((each for each in (",", ";", "\t", "|") if each in names[0]), None)
        if other is not None and other != delimiter:
            return (
                f"the cells are parted by {other!r}, not by {delimiter!r}: save it with "
                f"{delimiter!r} ({needed})"
            )
    return f"the header has the columns {named(names)}, but {needed}"
