"""A labels file as rows with their line numbers: CSV of any make, JSON Lines, or JSON."""

import csv
import dataclasses
import hashlib
import io
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from crag_graph.calibration.columns import known_columns
from crag_graph.errors import InputError, LoadError
from crag_graph.ingestion.loaders.base import Source
from crag_graph.ingestion.loaders.encodings import decode
from crag_graph.text.csv_fields import allow_long_fields

_DELIMITERS = (",", ";", "\t", "|")
_MOST_BYTES = 512 * 2**20


@dataclasses.dataclass(frozen=True, kw_only=True)
class Row:
    """One row: where it begins, counted from 1, and its fields by the file's own column names."""

    line: int
    fields: Mapping[str, Any]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Table:
    """A file of rows.

    Attributes:
        path: The file.
        digest: SHA-256 of its bytes, in hexadecimal.
        rows: Without blank ones.
        notes: What was remarkable about the file, one sentence each.
    """

    path: Path
    digest: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()


def read_table(path: Path) -> Table:
    """Return the rows of `path`.

    JSON is told by its first character, `{` or `[`. The delimiter of CSV is the one that makes the
    header name columns which are known; a line `sep=;`, as Excel writes it, names it.

    Raises:
        InputError: The file cannot be read, or a row cannot; the message names file and line.
    """
    try:
        data = path.read_bytes()
        source = Source(path=path, data=data, suffix="", max_bytes=_MOST_BYTES)
        text, encoding = decode(source)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {(error.strerror or 'error').lower()}") from None
    except LoadError as error:
        raise InputError(error.message) from None
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise InputError(f"{path} is empty: it needs a header and a row for each label")
    notes = () if encoding == "utf-8" else (f"{path.name} was read as {encoding}",)
    head = text.lstrip()[:1]
    rows = _json_rows(path, text) if head in ("{", "[") else _csv_rows(path, text)
    digest = hashlib.sha256(data).hexdigest()
    return Table(path=path, digest=digest, rows=tuple(rows), notes=notes)


def bad_row(path: Path, line: int, why: str) -> InputError:
    """Return the error for a row that cannot be used."""
    return InputError(f"{path}:{line}: {why}")


def _csv_rows(path: Path, text: str) -> Iterator[Row]:
    records = _records(path, text, _delimiter(path, text))
    header: list[str] | None = None
    for line, cells in records:
        if header is None:
            if line == 1 and len(cells) <= 2 and cells[0].lower().startswith("sep="):
                continue  # the delimiter itself makes two cells of it
            header = [cell.strip() for cell in cells]
            continue
        if not any(cell.strip() for cell in cells):
            continue
        extra = [cell for cell in cells[len(header) :] if cell.strip()]
        if extra:
            raise bad_row(
                path,
                line,
                f"it has {len(cells)} fields, but the header has {len(header)}: put texts that "
                "hold the delimiter in quotes",
            )
        # A short row has empty cells: the columns are there all the same.
        yield Row(
            line=line,
            fields=dict(itertools.zip_longest(header, cells[: len(header)], fillvalue="")),
        )


def _records(path: Path, text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each record that is not an empty line, with the line on which it begins."""
    allow_long_fields()
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise bad_row(path, line, f"not CSV ({error}): mend the quotes of this row") from None
        if cells:
            yield line, cells


def _delimiter(path: Path, text: str) -> str:
    first = text.split("\n", 1)[0].strip().strip('"')
    if first.lower().startswith("sep=") and len(first) == 5:
        return first[4]
    return max(_DELIMITERS, key=lambda each: _fit(path, text, each))


def _fit(path: Path, text: str, delimiter: str) -> tuple[int, int]:
    """Return how well a delimiter fits the header: known columns, then columns at all."""
    try:
        _, header = next(_records(path, text, delimiter))
    except (InputError, StopIteration):
        return 0, 0
    return len(known_columns(header)), len(header)


def _json_rows(path: Path, text: str) -> Iterator[Row]:
    if text.lstrip().startswith("["):
        yield from _json_array(path, text)
        return
    lines: Sequence[str] = text.split("\n")
    for line, part in enumerate(lines, 1):
        if not part.strip():
            continue
        try:
            value = json.loads(part)
        except ValueError as error:
            raise bad_row(path, line, f"not JSON ({error}): one object a line") from None
        yield Row(line=line, fields=_mapping(path, line, value))


def _json_array(path: Path, text: str) -> Iterator[Row]:
    try:
        values = json.loads(text)
    except json.JSONDecodeError as error:
        raise bad_row(path, error.lineno, f"not JSON ({error.msg})") from None
    for number, value in enumerate(values, 1):
        yield Row(line=number, fields=_mapping(path, number, value))


def _mapping(path: Path, line: int, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise bad_row(path, line, "an object with question and label is needed")
    return value
