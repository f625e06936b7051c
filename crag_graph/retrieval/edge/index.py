"""The embedded store: Qdrant's engine in the process, one folder a collection."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

from crag_graph.errors import StoreFullError
from crag_graph.retrieval.bm25 import Bm25Encoder, SparseVector
from crag_graph.retrieval.dialects import EdgeDialect
from crag_graph.retrieval.edge import calls as edge_calls
from crag_graph.retrieval.edge.disk import OPEN_BYTES, WRITE_BYTES, require_free, size_on_disk
from crag_graph.retrieval.edge.errors import closed, damaged
from crag_graph.retrieval.edge.probe import verify
from crag_graph.retrieval.edge.setup import ENGINE_FOLDER, create_store
from crag_graph.retrieval.edge.shard import Shard
from crag_graph.retrieval.filters import Clause, clauses, say
from crag_graph.retrieval.index import (
    DENSE,
    SPARSE,
    CollectionSchema,
    Filter,
    Hit,
    Point,
    Rankings,
)
from crag_graph.retrieval.manifest import MANIFEST_FILE, Manifest
from crag_graph.retrieval.points import batches, point_id, prepare, unit_vector
from crag_graph.retrieval.searching import RankedIndex
from crag_graph.retrieval.ties import TiedSearch

# A crash replays what was stored since the last flush, so this bounds the time that takes.
_FLUSH_POINTS = 2048


class EdgeIndex(RankedIndex):
    """A collection in the embedded store. Safe to share between threads, not between processes.

    Every call of the engine holds Python's global lock: threads and asynchronous searches do not
    block each other for longer than one call, some milliseconds, but gain no speed. `optimize` and
    large upserts stop the whole process meanwhile, so they belong to ingestion.
    """

    def __init__(self, schema: CollectionSchema, shard: Shard, encoder: Bm25Encoder) -> None:
        self.schema = schema
        self._shard = shard
        self._encoder = encoder
        self._dialect = EdgeDialect()
        self._indexed = set(shard.call(lambda engine: engine.info().payload_schema))
        self._unflushed = 0
        self._closed = False

    @classmethod
    def create(cls, folder: Path, schema: CollectionSchema) -> Self:
        """Return a new, empty collection in `folder`.

        Raises:
            StoreError: The folder cannot be written or holds something else, or the disk is full.
        """
        create_store(folder, schema)
        return cls.open(folder)

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Return the collection in `folder`, verified against its manifest.

        Raises:
            CollectionNotFoundError: There is none.
            StoreLockedError: Another process has it open.
            StoreDamagedError: It holds less than its manifest says, or cannot be read.
            StoreFullError: The disk has too little room to load it safely.
        """
        manifest_file, engine_folder = folder / MANIFEST_FILE, folder / ENGINE_FOLDER
        with Manifest.open(manifest_file) as manifest:
            schema = manifest.schema
        if not engine_folder.is_dir():
            raise damaged(engine_folder, "the folder is missing")

        def check(shard: Shard) -> None:
            # Read once the store is locked: until then another process may still change both.
            with Manifest.open(manifest_file) as manifest:
                expected = manifest.expected_chunks
            verify(shard, expected=expected, dimension=schema.dimension)

        encoder = Bm25Encoder(schema.bm25_language)
        return cls(schema, Shard.open(engine_folder, verify=check), encoder)

    def upsert(self, points: Sequence[Point]) -> None:
        """Store `points`, replacing those with the same id; each batch is stored whole or not.

        Raises:
            CollectionMismatchError: A vector has another size than the collection's.
            StoreRequestError: A vector is zeros or not finite, or a point is too large. In both
                cases nothing is stored.
            StoreFullError: The disk has too little room for the next batch.
        """
        for batch in batches(prepare(points, schema=self.schema, encoder=self._encoder)):
            size = sum(point.size for point in batch)
            require_free(self._open.path, needed=WRITE_BYTES + 2 * size)
            self._open.call(edge_calls.upserting(batch))
            self._unflushed += len(batch)
            if self._unflushed >= _FLUSH_POINTS:
                self.flush()

    def delete_document(self, document_id: str, *, keep_version: str | None = None) -> None:
        """Delete the chunks of a document, but for those of `keep_version`."""
        kept = clauses({"version": keep_version}) if keep_version is not None else []
        condition = say(clauses({"document_id": document_id}), self._dialect, must_not=kept)
        require_free(self._open.path, needed=OPEN_BYTES)
        self._open.call(edge_calls.deleting(condition))

    def rank(
        self,
        *,
        vector: Sequence[float] | None,
        text: str | None,
        limit: int,
        where: Filter | None = None,
    ) -> Rankings:
        """Return both lists, at most `limit` long each, from one call of the engine."""
        queries = self._queries(vector, text)
        search = TiedSearch(queries, limit=limit)
        condition = self._condition(where)
        while search.depth is not None:
            search.take(
                self._open.call(
                    edge_calls.searching(queries, condition=condition, depth=search.depth)
                )
            )
        return Rankings(dense=search.found(DENSE), sparse=search.found(SPARSE))

    async def arank(
        self,
        *,
        vector: Sequence[float] | None,
        text: str | None,
        limit: int,
        where: Filter | None = None,
    ) -> Rankings:
        """Return what `rank` does, from a thread."""
        return await asyncio.to_thread(
            self.rank, vector=vector, text=text, limit=limit, where=where
        )

    def retrieve(self, ids: Sequence[str]) -> list[Hit]:
        """Return the chunks with these ids, in their order, unknown ids left out; scores are 0."""
        wanted = list(dict.fromkeys(point_id(identifier) for identifier in ids))
        return self._open.call(edge_calls.fetching(wanted))

    async def aretrieve(self, ids: Sequence[str]) -> list[Hit]:
        """Return what `retrieve` does, from a thread."""
        return await asyncio.to_thread(self.retrieve, ids)

    def scroll(self, *, where: Filter | None = None, batch: int = 256) -> Iterator[Hit]:
        """Yield every chunk, in the order of ids; scores are 0."""
        condition = self._condition(where)
        offset: Any = None
        while True:
            hits, offset = self._open.call(
                edge_calls.scrolling(condition=condition, offset=offset, limit=batch)
            )
            yield from hits
            if offset is None:
                return

    def count(self, *, where: Filter | None = None) -> int:
        """Return how many chunks there are."""
        return self._open.call(edge_calls.counting(self._condition(where)))

    def optimize(self) -> None:
        """Merge what was stored and build graphs for the search.

        The process stands still meanwhile, for seconds to minutes (10 s for 50,000 chunks), and the
        disk needs room for a second copy.
        """
        shard = self._open
        require_free(shard.path, needed=WRITE_BYTES + 2 * size_on_disk(shard.path))
        shard.call(lambda engine: engine.optimize())
        self.flush()

    def flush(self) -> None:
        """Write everything to its files; the log keeps it safe from a kill before that too."""
        self._unflushed = 0
        self._open.call(lambda engine: engine.flush())

    def close(self) -> None:
        """Flush and let go of the store. Closing twice does nothing."""
        if not self._closed:
            self._closed = True
            self._shard.release()

    @property
    def _open(self) -> Shard:
        if self._closed:
            raise closed(self._shard.path)
        return self._shard

    def _queries(
        self, vector: Sequence[float] | None, text: str | None
    ) -> dict[str, list[float] | SparseVector]:
        queries: dict[str, list[float] | SparseVector] = {}
        if vector is not None:
            queries[DENSE] = unit_vector(vector, schema=self.schema, of="the question")
        if text is not None:
            words = self._encoder.query(text)
            if words[0]:
                queries[SPARSE] = words
        return queries

    def _condition(self, where: Filter | None) -> Any:
        must = clauses(where)
        for clause in must:
            self._index(clause)
        return say(must, self._dialect)

    def _index(self, clause: Clause) -> None:
        """Index a field when it is first filtered by: 50,000 chunks else take 60 ms a search."""
        if clause.kind is None or clause.key in self._indexed:
            return
        try:
            require_free(self._open.path, needed=WRITE_BYTES)
        except StoreFullError:
            return  # the filter works without an index too
        self._open.call(edge_calls.indexing(clause.key, clause.kind))
        self._indexed.add(clause.key)
