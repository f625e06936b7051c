"""Raw scores that were paid for once, kept in a file: nothing is graded twice.

A score depends on the question, on the passage, on the evaluator's fingerprint, and on the passages
beside it, since evaluators weigh candidates together. It is written as soon as its question is
graded, so that whatever ends the run loses one question at most.
"""

import contextlib
import hashlib
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from crag_graph.errors import CRAGError, StoreDamagedError, StoreError, StoreLockedError
from crag_graph.evaluators.base import Passage

FILE = Path("calibration") / "scores.sqlite"
"""Below `CRAG_HOME`."""

_APPLICATION_ID = 0x43524153  # "CRAS": tells our file from any other SQLite database
_FORMAT = 1
_SECONDS = 30.0  # that another process may take to write

_TABLE = """
CREATE TABLE IF NOT EXISTS score (
    evaluator TEXT NOT NULL, question TEXT NOT NULL, passage TEXT NOT NULL,
    position INTEGER NOT NULL, score REAL,
    PRIMARY KEY (evaluator, question, position)
) WITHOUT ROWID
"""


class ScoreStore:
    """Scores by evaluator, question and passage. Safe to share between threads.

    Args:
        path: The file, made with its folder; None keeps scores in memory.

    Raises:
        StoreError: It cannot be opened, is damaged, or is no file of ours.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lock = threading.Lock()
        if path is not None:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise StoreError(
                    f"cannot make {path.parent} ({error.strerror}): set CRAG_HOME to a folder that "
                    "you may write to"
                ) from None
        try:
            self._connection = sqlite3.connect(
                path or ":memory:", isolation_level=None, timeout=_SECONDS, check_same_thread=False
            )
            try:
                self._prepare()
            except BaseException:
                self._connection.close()
                raise
        except sqlite3.Error as error:
            raise self._error(error) from error

    def _prepare(self) -> None:
        known = self._connection.execute("PRAGMA application_id").fetchone()[0]
        tables = self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        newer = self._connection.execute("PRAGMA user_version").fetchone()[0] > _FORMAT
        if (tables and known != _APPLICATION_ID) or newer:
            raise StoreDamagedError(
                f"{self._path} is not a file of scores that this version reads: move it away"
            )
        if not tables:
            self._connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
            self._connection.execute(f"PRAGMA user_version = {_FORMAT}")
        self._connection.execute(_TABLE)

    def get(
        self, fingerprint: str, question: str, passages: Sequence[Passage]
    ) -> list[float | None] | None:
        """Return the scores of a question's passages in their order; None where one is missing."""
        key, of_passages = _key(question, passages)
        with self._mapped():
            rows = self._connection.execute(
                "SELECT passage, score FROM score WHERE evaluator = ? AND question = ? "
                "ORDER BY position",
                (fingerprint, key),
            ).fetchall()
        if [row[0] for row in rows] != of_passages:
            return None
        return [row[1] for row in rows]

    def put(
        self,
        fingerprint: str,
        question: str,
        passages: Sequence[Passage],
        scores: Sequence[float | None],
    ) -> None:
        """Keep the scores of a question's passages, written to disk before this returns."""
        key, of_passages = _key(question, passages)
        rows = [
            (fingerprint, key, passage, position, score)
            for position, (passage, score) in enumerate(zip(of_passages, scores, strict=True))
        ]
        with self._mapped():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                self._connection.execute(
                    "DELETE FROM score WHERE evaluator = ? AND question = ?", (fingerprint, key)
                )
                self._connection.executemany("INSERT INTO score VALUES (?, ?, ?, ?, ?)", rows)
                self._connection.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @contextlib.contextmanager
    def _mapped(self) -> Iterator[None]:
        try:
            with self._lock:
                yield
        except sqlite3.Error as error:
            raise self._error(error) from error

    def _error(self, error: sqlite3.Error) -> CRAGError:
        code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
        if code == sqlite3.SQLITE_BUSY:
            return StoreLockedError(f"{self._path} is being written by another process: try again")
        if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
            return StoreDamagedError(
                f"the file of scores {self._path} is damaged ({error}): move it away, and what it "
                "held is graded again"
            )
        return StoreError(
            f"the file of scores {self._path} failed ({error}): check disk and rights"
        )


def _key(question: str, passages: Sequence[Passage]) -> tuple[str, list[str]]:
    of_passages = [_digest(passage.title, passage.text) for passage in passages]
    return _digest(question, *of_passages), of_passages


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]
