"""A collection on a Qdrant server or cluster, over REST."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any, Self

from crag_graph.errors import CollectionMismatchError
from crag_graph.retrieval.bm25 import Bm25Encoder, SparseVector
from crag_graph.retrieval.dialects import ServerDialect
from crag_graph.retrieval.filters import Clause, clauses, say
from crag_graph.retrieval.index import (
    CollectionSchema,
    Filter,
    Hit,
    Point,
    Rankings,
)
from crag_graph.retrieval.points import batches, prepare, unit_vector
from crag_graph.retrieval.searching import RankedIndex
from crag_graph.retrieval.server import calls as server_calls
from crag_graph.retrieval.server.address import ServerAddress
from crag_graph.retrieval.server.connection import DEFAULT_SECONDS, ServerConnection
from crag_graph.retrieval.server.filters import FilteredCalls
from crag_graph.retrieval.server.setup import (
    Layout,
    create_collection,
    recognise,
    require_ours,
    warn_of_skew,
)
from crag_graph.retrieval.server.texts import Texts
from crag_graph.retrieval.ties import TiedSearch
from crag_graph.transient import RetryPolicy


class ServerIndex(RankedIndex):
    """A collection on a server. Safe to share between threads and event loops.

    Sparse vectors are made here, by the same encoder as for the embedded store, so that both hold
    the same tokens. Nothing is sent before the first call; `open` verifies the collection.

    Args:
        connection: The server.
        schema: What the collection was made with.
        layout: How it names its parts.
    """

    def __init__(
        self,
        connection: ServerConnection,
        schema: CollectionSchema,
        layout: Layout | None = None,
    ) -> None:
        self.schema = schema
        self._connection = connection
        self._layout = layout or Layout()
        self._filtered = FilteredCalls(connection)
        self._texts = Texts(connection, self._layout.text)
        self._encoder = Bm25Encoder(schema.bm25_language)
        self._dialect = ServerDialect()

    @classmethod
    def open(
        cls,
        url: str,
        collection: str,
        *,
        create: CollectionSchema | None = None,
        api_key: str | None = None,
        content_key: str | None = None,
        seconds: float = DEFAULT_SECONDS,
        policy: RetryPolicy | None = None,
    ) -> Self:
        """Return a collection, verified.

        Args:
            url: The server, as `https://host:6333`.
            collection: The name.
            create: What to make it with where it does not exist; where it does, it must fit.
            api_key: The server's key.
            content_key: The payload field that holds the text, where another tool wrote it.
            seconds: Time-out of one attempt of a call.
            policy: How often a failed call is repeated.

        Raises:
            ConfigurationError: The URL is not one, or the key would travel unencrypted.
            CollectionNotFoundError: There is no such collection, and none is to be made.
            CollectionMismatchError: It was made with another embedding model or size, or by another
                tool with vectors that cannot be used.
            StoreError: The server refuses, or cannot be reached.
        """
        connection = ServerConnection(
            ServerAddress.parse(url),
            collection=collection,
            api_key=api_key,
            seconds=seconds,
            policy=policy,
        )
        try:
            if create is not None:
                create_collection(connection, create)
            schema, layout = recognise(connection, collection, content_key=content_key)
            if create is not None:
                require_ours(schema, create)
            warn_of_skew(connection)
            return cls(connection, schema, layout)
        except BaseException:
            connection.close()
            raise

    @property
    def skipped(self) -> int:
        """How many points were left out of results so far because they hold no text."""
        return self._texts.skipped

    def upsert(self, points: Sequence[Point]) -> None:
        """Store `points`, replacing those with the same id, in batches that a server takes.

        Raises:
            CollectionMismatchError: A vector has another size than the collection's.
            StoreRequestError: A vector is zeros or not finite, or a point is too large. In both
                cases nothing is sent.
            StoreError: The server refuses a batch, or cannot be reached; those before are stored.
        """
        for batch in batches(prepare(points, schema=self.schema, encoder=self._encoder)):
            self._connection.call(server_calls.upserting(self.schema.name, batch))

    def delete_document(self, document_id: str, *, keep_version: str | None = None) -> None:
        """Delete the chunks of a document, but for those of `keep_version`."""
        kept = clauses({"version": keep_version}) if keep_version is not None else []
        must = clauses({"document_id": document_id})
        condition = say(must, self._dialect, must_not=kept)
        self._filtered.call([*must, *kept], server_calls.deleting(self.schema.name, condition))

    def rank(
        self,
        *,
        vector: Sequence[float] | None,
        text: str | None,
        limit: int,
        where: Filter | None = None,
    ) -> Rankings:
        """Return both lists, at most `limit` long each, from one request."""
        queries, must = self._queries(vector, text), clauses(where)
        search = TiedSearch(queries, limit=limit)
        while search.depth is not None:
            call = self._searching(queries, must, search.depth)
            search.take(server_calls.scored(self._filtered.call(must, call)))
        return self._rankings(search)

    async def arank(
        self,
        *,
        vector: Sequence[float] | None,
        text: str | None,
        limit: int,
        where: Filter | None = None,
    ) -> Rankings:
        """Return what `rank` does, through the client of the running event loop."""
        queries, must = self._queries(vector, text), clauses(where)
        search = TiedSearch(queries, limit=limit)
        while search.depth is not None:
            call = self._searching(queries, must, search.depth)
            search.take(server_calls.scored(await self._filtered.acall(must, call)))
        return self._rankings(search)

    def retrieve(self, ids: Sequence[str]) -> list[Hit]:
        """Return the chunks with these ids, in their order, unknown ids left out; scores are 0.

        Points without text are left out and counted in `skipped`.

        Raises:
            CollectionMismatchError: No point has text under the configured key; the keys that there
                are, are named.
        """
        if not ids:
            return []
        records = self._connection.call(server_calls.fetching(self.schema.name, ids))
        return server_calls.in_order(self._texts.hits(records), ids)

    async def aretrieve(self, ids: Sequence[str]) -> list[Hit]:
        """Return what `retrieve` does, through the client of the running event loop."""
        if not ids:
            return []
        records = await self._connection.acall(server_calls.fetching(self.schema.name, ids))
        hits = await asyncio.to_thread(
            self._texts.hits, records
        )  # it may have to look at more points
        return server_calls.in_order(hits, ids)

    def scroll(self, *, where: Filter | None = None, batch: int = 256) -> Iterator[Hit]:
        """Yield every chunk, in the order of ids; scores are 0. Points without text are skipped."""
        must = clauses(where)
        condition = say(must, self._dialect)
        offset: Any = None
        while True:
            call = server_calls.scrolling(
                self.schema.name, condition=condition, offset=offset, limit=batch
            )
            records, offset = self._filtered.call(must, call)
            yield from self._texts.hits(records)
            if offset is None:
                return

    def count(self, *, where: Filter | None = None) -> int:
        """Return how many chunks there are, those without text included."""
        must = clauses(where)
        call = server_calls.counting(self.schema.name, say(must, self._dialect))
        return int(self._filtered.call(must, call).count)

    def optimize(self) -> None:
        """Do nothing: a server optimises by itself, beside its work."""

    def flush(self) -> None:
        """Do nothing: every call waits until the server has stored what it was given."""

    def close(self) -> None:
        """Let go of the connections. Closing twice does nothing."""
        self._connection.close()

    def _queries(
        self, vector: Sequence[float] | None, text: str | None
    ) -> dict[str, list[float] | SparseVector]:
        queries: dict[str, list[float] | SparseVector] = {}
        if vector is not None:
            unit = unit_vector(vector, schema=self.schema, of="the question")
            queries[self._layout.dense] = unit
        if text is not None and self._layout.sparse is not None:
            words = self._encoder.query(text)
            if words[0]:
                queries[self._layout.sparse] = words
        elif text is not None and vector is None:
            raise CollectionMismatchError(
                f"the collection {self.schema.name!r} has no BM25 vectors, since another tool made "
                "it: set retrieval_mode to dense"
            )
        return queries

    def _searching(
        self, queries: dict[str, list[float] | SparseVector], must: list[Clause], depth: int
    ) -> server_calls.Call:
        condition = say(must, self._dialect)
        return server_calls.searching(self.schema.name, queries, condition=condition, depth=depth)

    def _rankings(self, search: TiedSearch) -> Rankings:
        layout = self._layout
        return Rankings(dense=search.found(layout.dense), sparse=search.found(layout.sparse))
