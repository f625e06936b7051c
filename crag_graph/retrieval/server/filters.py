"""Calls with a filter: a server may insist that the fields of one are indexed."""

import asyncio
from collections.abc import Sequence
from typing import Any

from crag_graph.errors import StoreRequestError
from crag_graph.retrieval.filters import Clause
from crag_graph.retrieval.server.calls import Call
from crag_graph.retrieval.server.connection import ServerConnection
from crag_graph.retrieval.server.setup import index_field


class FilteredCalls:
    """Makes a call, and where the server refuses its filter for want of an index, makes that too.

    Qdrant's cloud refuses such filters by default; one's own server searches without the index.
    """

    def __init__(self, connection: ServerConnection) -> None:
        self._connection = connection

    def call(self, clauses: Sequence[Clause], call: Call) -> Any:
        """Return what a call gives whose filter is made of `clauses`."""
        try:
            return self._connection.call(call)
        except StoreRequestError as error:
            if not _wants_index(error) or not clauses:
                raise
        self._index(clauses)
        return self._connection.call(call)

    async def acall(self, clauses: Sequence[Clause], call: Call) -> Any:
        """Return what `call` does, through the client of the running event loop."""
        try:
            return await self._connection.acall(call)
        except StoreRequestError as error:
            if not _wants_index(error) or not clauses:
                raise
        await asyncio.to_thread(self._index, clauses)
        return await self._connection.acall(call)

    def _index(self, clauses: Sequence[Clause]) -> None:
        collection = self._connection.collection
        for clause in clauses:
            index_field(self._connection, collection, clause.key, clause.kind or "keyword")


def _wants_index(error: StoreRequestError) -> bool:
    return "Index required" in error.message  # the server's own words
