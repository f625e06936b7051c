"""The manifest of a collection: what it was made with, and which documents it holds.

The vector store alone cannot tell whether it lost something: damaged files may load silently with
fewer points. The manifest is the second witness. It is one SQLite file with a rollback journal, so
it survives a kill at any moment, and it can be read while another process serves the collection.
"""

import contextlib
import dataclasses
import os
import secrets
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from crag_graph.errors import CollectionNotFoundError, StoreError
from crag_graph.retrieval.index import CollectionSchema
from crag_graph.retrieval.manifest_file import read_schema, write_new
from crag_graph.retrieval.sqlite_errors import mapped
from crag_graph.state import plain

DocumentState = Literal["pending", "done"]

MANIFEST_FILE = "manifest.sqlite"
"""The name of the manifest in the folder of an embedded collection."""

_BUSY_SECONDS = 10.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class DocumentRecord:
    """One document of a collection.

    Attributes:
        document_id: What the payload of its chunks says under `document_id`.
        source: Its path or URL.
        digest: Hash of its bytes, by which a change is seen.
        version: What the payload of its chunks says under `version`.
        chunks: How many chunks of that version there are.
        state: `pending` from before the first of its chunks is written or deleted until after the
            last; `done` otherwise. Only `done` documents count for `expected_chunks`.
    """

    document_id: str
    source: str
    digest: str
    version: str
    chunks: int
    state: DocumentState


@dataclasses.dataclass(frozen=True, kw_only=True)
class ManifestSummary:
    """A collection at a glance: its schema, and counts of documents and chunks."""

    schema: CollectionSchema
    documents: int
    pending: int
    chunks: int


class Manifest:
    """The open manifest of one collection. Safe to share between threads.

    Write in this order, so that a kill at any moment leaves something that the next run can heal:
    put the record as `pending`; write or delete the chunks and flush the index; put it as `done`,
    or remove it. Every change is on disk when the method returns. Lone surrogates in names (files
    whose names are not UTF-8) become U+FFFD.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = connection
        self._lock = threading.Lock()
        self._schema = read_schema(path, connection)

    @classmethod
    def create(cls, path: Path, schema: CollectionSchema) -> Self:
        """Return a new, empty manifest at `path`; it appears there complete or not at all.

        Raises:
            StoreError: There is one already, or the folder cannot be written.
            StoreFullError: The disk is full.
        """
        if path.exists():
            raise StoreError(f"the collection {schema.name!r} exists already at {path.parent}")
        draft = path.with_name(f"{path.name}.{os.getpid()}-{secrets.token_hex(4)}.new")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with mapped(path):
                write_new(draft, schema)
            draft.replace(path)
        except OSError as error:
            raise StoreError(f"cannot write {path}: {error.strerror or error}") from error
        finally:
            draft.unlink(missing_ok=True)
        return cls.open(path)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Return the manifest at `path`.

        Raises:
            CollectionNotFoundError: There is none.
            StoreDamagedError: The file is not a readable manifest.
            StoreError: A newer version of this package wrote it, or it must not be read.
        """
        if not path.is_file():
            raise CollectionNotFoundError(
                f"there is no collection at {path.parent}: run `crag ingest` to make it"
            )
        with mapped(path):
            connection = sqlite3.connect(
                path, timeout=_BUSY_SECONDS, check_same_thread=False, isolation_level=None
            )
            try:
                connection.execute("PRAGMA synchronous = FULL")
                return cls(path, connection)
            except BaseException:
                connection.close()
                raise

    @classmethod
    def peek(cls, path: Path) -> ManifestSummary:
        """Return the summary of the manifest at `path`, also while another process serves it.

        Raises:
            CollectionNotFoundError: There is none.
            StoreDamagedError: The file is not a readable manifest.
        """
        with cls.open(path) as manifest:
            return manifest.summary()

    @property
    def schema(self) -> CollectionSchema:
        """What the collection was made with."""
        return self._schema

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    @property
    def expected_chunks(self) -> int:
        """Chunks of all `done` documents: the index holds at least as many, or it lost some.

        More are fine: a killed ingestion leaves chunks of `pending` documents.
        """
        return self.summary().chunks

    def summary(self) -> ManifestSummary:
        """Return counts of documents (`done` and `pending`) and of chunks."""
        query = (
            "SELECT count(*), total(state <> 'done'), total(iif(state = 'done', chunks, 0))"
            " FROM document"
        )
        with self._open() as connection:
            documents, pending, chunks = connection.execute(query).fetchone()
        return ManifestSummary(
            schema=self._schema, documents=documents, pending=int(pending), chunks=int(chunks)
        )

    def get(self, document_id: str) -> DocumentRecord | None:
        """Return the record of a document, or None."""
        query = "SELECT * FROM document WHERE document_id = ?"
        with self._open() as connection:
            row = connection.execute(query, (plain(document_id),)).fetchone()
        return None if row is None else _record(row)

    def put(self, *records: DocumentRecord) -> None:
        """Store records in place of the documents' earlier ones: all of them, or none.

        Each call waits for the disk, so several records at once cost the time of one.
        """
        rows = [plain(dataclasses.astuple(record)) for record in records]
        with self._open() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                connection.executemany(
                    "INSERT OR REPLACE INTO document VALUES (?, ?, ?, ?, ?, ?)", rows
                )
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def remove(self, document_id: str) -> None:
        """Forget a document; nothing happens where it is not known."""
        with self._open() as connection:
            connection.execute("DELETE FROM document WHERE document_id = ?", (plain(document_id),))

    def mark_all_pending(self) -> None:
        """Doubt every document: the next ingestion stores them all again."""
        with self._open() as connection:
            connection.execute("UPDATE document SET state = 'pending'")

    def records(self) -> list[DocumentRecord]:
        """Return every record, in the order of document ids."""
        with self._open() as connection:
            rows = connection.execute("SELECT * FROM document ORDER BY document_id").fetchall()
        return [_record(row) for row in rows]

    def close(self) -> None:
        """Let go of the file. Closing twice does nothing."""
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with self._lock, mapped(self._path):
            if self._connection is None:
                raise StoreError(f"the manifest {self._path} was closed before this call")
            yield self._connection


def _record(row: tuple[Any, ...]) -> DocumentRecord:
    names = (field.name for field in dataclasses.fields(DocumentRecord))
    return DocumentRecord(**dict(zip(names, row, strict=True)))
