"""Reading chunks from points that another tool may have written."""

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from crag_graph.errors import CollectionMismatchError
from crag_graph.retrieval.index import Hit
from crag_graph.retrieval.server import calls as server_calls
from crag_graph.retrieval.server.connection import ServerConnection

if TYPE_CHECKING:
    from qdrant_client.models import Record

_SAMPLE = 64

_logger = logging.getLogger(__name__)


class Texts:
    """Makes hits of points, and counts those without text.

    Args:
        connection: The server.
        keys: Payload fields that may hold the text, in order of preference.

    Attributes:
        skipped: Points left out so far.
    """

    def __init__(self, connection: ServerConnection, keys: Sequence[str]) -> None:
        self.skipped = 0
        self._connection = connection
        self._keys = tuple(keys)

    def hits(self, records: "Sequence[Record]") -> list[Hit]:
        """Return the points that have text.

        Raises:
            CollectionMismatchError: None of them has, nor has any of the collection's first points.
        """
        found = [hit for record in records if (hit := self._hit(record)) is not None]
        missing = len(records) - len(found)
        if missing:
            if not found:
                self._require_any()
            if not self.skipped:
                _logger.warning(
                    "the collection %r has points without text under %s: they are skipped",
                    self._connection.collection,
                    " or ".join(self._keys),
                )
            self.skipped += missing
        return found

    def _hit(self, record: "Record") -> Hit | None:
        fields = dict(record.payload or {})
        for key in self._keys:
            text = fields.get(key)
            if isinstance(text, str) and text.strip():
                del fields[key]
                return Hit(id=str(record.id), text=text, payload=fields, score=0.0)
        return None

    def _require_any(self) -> None:
        """Tell a collection with some points without text from one with none under our keys."""
        collection = self._connection.collection
        first = server_calls.scrolling(collection, condition=None, offset=None, limit=_SAMPLE)
        records, _ = self._connection.call(first)
        if any(self._hit(record) is not None for record in records):
            return
        there = sorted({key for record in records for key in record.payload or {}})
        raise CollectionMismatchError(
            f"no point of the collection {collection!r} has text under "
            f"{' or '.join(self._keys)}; there are {', '.join(there) or 'no fields'}: name the "
            "field that holds the text as content_key"
        )
