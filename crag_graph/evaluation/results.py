"""The file that records are written to as they come, so that a stopped evaluation goes on."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from crag_graph.errors import InputError
from crag_graph.evaluation.records import Record
from crag_graph.state import plain

_KEY = "crag_eval"


class ResultsFile:
    """A JSONL file: a line that names the configuration, then a line a question.

    Args:
        path: Made where it is missing; else what it holds is read, and written on.
        configuration: What the figures depend on, plain data.

    Attributes:
        done: The records that are there and did not fail; failed questions are run again.

    Raises:
        InputError: The file cannot be written, or holds something else: another configuration's
            results, say.
    """

    def __init__(self, path: Path, *, configuration: Mapping[str, Any]) -> None:
        self._path = path
        head = json.dumps({_KEY: fingerprint(configuration)})
        records = _read(path, head)
        self.done = [record for record in records.values() if not record.failed]
        try:
            # Written anew: a process that was killed may have left half a line.
            fresh = path.with_name(f"{path.name}.new")
            lines = [head, *(_line(record) for record in self.done)]
            fresh.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
            fresh.replace(path)
            self._file: IO[str] = path.open("a", encoding="utf-8")
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise InputError(f"--results {path} cannot be written: {reason}") from None

    def add(self, record: Record) -> None:
        """Write one record, at once."""
        self._file.write(f"{_line(record)}\n")
        self._file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._file.close()


def fingerprint(configuration: Mapping[str, Any]) -> str:
    """Return a short hash of `configuration`."""
    text = json.dumps(plain(configuration), sort_keys=True)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]


def _line(record: Record) -> str:
    return json.dumps(plain(record.as_dict()), ensure_ascii=False, allow_nan=False)


def _read(path: Path, head: str) -> dict[str, Record]:
    if not path.exists():
        return {}
    try:
        first, *lines = path.read_text(encoding="utf-8").splitlines() or [head]
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise InputError(f"--results {path} cannot be read: {reason.lower()}") from None
    if first != head:
        what = "results of another configuration or data set" if _KEY in first else "something else"
        raise InputError(f"--results {path} holds {what}: name another file, or delete it")
    records: dict[str, Record] = {}
    for number, line in enumerate(lines, 2):
        try:
            record = Record.of(json.loads(line))
        except (ValueError, TypeError, KeyError):
            if number == len(lines) + 1:
                break  # the process was killed while it wrote this line
            raise InputError(f"--results {path}:{number}: this is no result") from None
        records[record.id] = record
    return records
