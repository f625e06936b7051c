"""The file of a manifest: its tables, and what tells it from any other SQLite database."""

import contextlib
import dataclasses
import sqlite3
from pathlib import Path

from crag_graph.errors import StoreDamagedError, StoreError
from crag_graph.retrieval.index import CollectionSchema
from crag_graph.retrieval.sqlite_errors import damaged

_APPLICATION_ID = 0x43524147  # "CRAG": tells our file from any other SQLite database
_FORMAT = 1  # raised when the tables change

_TABLES = """
CREATE TABLE collection (
    name TEXT NOT NULL, embedding_model TEXT NOT NULL, dimension INTEGER NOT NULL,
    bm25_language TEXT NOT NULL
);
CREATE TABLE document (
    document_id TEXT PRIMARY KEY, source TEXT NOT NULL, digest TEXT NOT NULL,
    version TEXT NOT NULL, chunks INTEGER NOT NULL, state TEXT NOT NULL
) WITHOUT ROWID;
"""


def write_new(draft: Path, schema: CollectionSchema) -> None:
    """Make an empty manifest at `draft`."""
    with contextlib.closing(sqlite3.connect(draft, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {_FORMAT}")
        connection.executescript(_TABLES)
        row = dataclasses.astuple(schema)
        connection.execute("INSERT INTO collection VALUES (?, ?, ?, ?)", row)


def read_schema(path: Path, connection: sqlite3.Connection) -> CollectionSchema:
    """Return what an open manifest says that the collection was made with.

    Raises:
        StoreDamagedError: The file is not a readable manifest.
        StoreError: A newer version of this package wrote it.
    """

    def pragma(name: str) -> int:
        return int(connection.execute(f"PRAGMA {name}").fetchone()[0])

    if pragma("application_id") != _APPLICATION_ID:
        raise StoreDamagedError(damaged(path, "it is not a manifest"))
    if pragma("user_version") > _FORMAT:
        raise StoreError(f"{path} was written by a newer version of crag-graph: upgrade to read it")
    rows = connection.execute("SELECT * FROM collection").fetchall()
    if len(rows) != 1:
        raise StoreDamagedError(damaged(path, "it does not say what the collection was made with"))
    name, model, dimension, language = rows[0]
    return CollectionSchema(
        name=name, embedding_model=model, dimension=dimension, bm25_language=language
    )
