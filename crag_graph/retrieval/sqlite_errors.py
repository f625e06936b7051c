"""SQLite's errors as this package's own."""

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

from crag_graph.errors import (
    CRAGError,
    StoreDamagedError,
    StoreError,
    StoreFullError,
    StoreLockedError,
)


def damaged(path: Path, why: str) -> str:
    """Return the message for a manifest that cannot be read."""
    return (
        f"the manifest {path} is damaged ({why}): move the collection's folder away and run "
        "`crag ingest` again"
    )


@contextlib.contextmanager
def mapped(path: Path) -> Iterator[None]:
    """Turn the errors of SQLite inside the block into `StoreError`s that name `path`."""
    try:
        yield
    except sqlite3.Error as error:
        raise _as_store_error(path, error) from error


def _as_store_error(path: Path, error: sqlite3.Error) -> CRAGError:
    # The primary result code is the low byte: https://www.sqlite.org/rescode.html
    code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
    known: dict[int, Callable[[], CRAGError]] = {
        sqlite3.SQLITE_FULL: lambda: StoreFullError(
            f"the disk of {path} is full: free some space and run the same command again"
        ),
        sqlite3.SQLITE_BUSY: lambda: StoreLockedError(
            f"{path} is being written by another process: close it and try again"
        ),
        sqlite3.SQLITE_READONLY: lambda: StoreError(f"{path} is read-only: make it writable"),
        sqlite3.SQLITE_CANTOPEN: lambda: StoreError(f"cannot open {path}: check its permissions"),
        sqlite3.SQLITE_IOERR: lambda: StoreError(f"reading or writing {path} failed: {error}"),
    }
    if code in known:
        return known[code]()
    return StoreDamagedError(damaged(path, str(error)))
