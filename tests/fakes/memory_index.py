"""A vector index in plain Python: the whole Protocol, exact, without an engine or a file."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from crag_graph.errors import StoreError
from crag_graph.retrieval.index import (
    TEXT,
    CollectionSchema,
    Filter,
    Hit,
    Point,
    Rankings,
    Scored,
)
from crag_graph.retrieval.points import point_id, unit_vector
from crag_graph.retrieval.searching import RankedIndex
from crag_graph.state import plain

_K1, _B = 1.2, 0.75
_MISSING = object()


class MemoryIndex(RankedIndex):
    """One collection in memory.

    Attributes:
        schema: As given.
        points: What is stored, by id.
        calls: The names of the methods that changed something, in order.
        unflushed: Ids stored since the last flush; a real store may lose these in a power cut.
    """

    def __init__(self, schema: CollectionSchema | None = None) -> None:
        self.schema = schema or CollectionSchema(name="memory", embedding_model="stub", dimension=4)
        self.points: dict[str, Point] = {}
        self.calls: list[str] = []
        self.unflushed: set[str] = set()
        self.closed = False

    def upsert(self, points: Sequence[Point]) -> None:
        self._check_open()
        self.calls.append("upsert")
        ready = [
            Point(
                id=point_id(point.id),
                vector=unit_vector(point.vector, schema=self.schema, of=f"the chunk {point.id}"),
                text=plain(point.text),
                payload=plain(point.payload),
            )
            for point in points
        ]
        for point in ready:
            self.points[point.id] = point
            self.unflushed.add(point.id)

    def delete_document(self, document_id: str, *, keep_version: str | None = None) -> None:
        self._check_open()
        self.calls.append("delete_document")
        for identifier, point in list(self.points.items()):
            if point.payload.get("document_id") != document_id:
                continue
            if keep_version is None or point.payload.get("version") != keep_version:
                del self.points[identifier]

    def rank(
        self,
        *,
        vector: Sequence[float] | None,
        text: str | None,
        limit: int,
        where: Filter | None = None,
    ) -> Rankings:
        self._check_open()
        dense = () if vector is None else self._dense(vector, limit, where)
        sparse = () if text is None else self._sparse(text, limit, where)
        return Rankings(dense=dense, sparse=sparse)

    async def arank(
        self,
        *,
        vector: Sequence[float] | None,
        text: str | None,
        limit: int,
        where: Filter | None = None,
    ) -> Rankings:
        return self.rank(vector=vector, text=text, limit=limit, where=where)

    def retrieve(self, ids: Sequence[str]) -> list[Hit]:
        self._check_open()
        wanted = dict.fromkeys(point_id(identifier) for identifier in ids)
        return [_hit(self.points[identifier]) for identifier in wanted if identifier in self.points]

    async def aretrieve(self, ids: Sequence[str]) -> list[Hit]:
        return self.retrieve(ids)

    def scroll(self, *, where: Filter | None = None, batch: int = 256) -> Iterator[Hit]:
        self._check_open()
        for point in sorted(self._matching(where), key=lambda point: point.id):
            yield _hit(point)

    def count(self, *, where: Filter | None = None) -> int:
        self._check_open()
        return len(self._matching(where))

    def optimize(self) -> None:
        self._check_open()
        self.calls.append("optimize")

    def flush(self) -> None:
        self._check_open()
        self.calls.append("flush")
        self.unflushed.clear()

    def close(self) -> None:
        if not self.closed:
            self.flush()
            self.closed = True

    def _check_open(self) -> None:
        if self.closed:
            raise StoreError(f"the collection {self.schema.name!r} was closed before this call")

    def _matching(self, where: Filter | None) -> list[Point]:
        return [point for point in self.points.values() if _matches(point.payload, where or {})]

    def _dense(self, vector: Sequence[float], limit: int, where: Filter | None) -> list[Scored]:
        query = unit_vector(vector, schema=self.schema, of="the question")
        scored = [
            (sum(a * b for a, b in zip(query, point.vector, strict=True)), point.id)
            for point in self._matching(where)
        ]
        return _best(scored, limit)

    def _sparse(self, text: str, limit: int, where: Filter | None) -> list[Scored]:
        documents = {key: Counter(_words(point.text)) for key, point in self.points.items()}
        if not documents:
            return []
        average = sum(words.total() for words in documents.values()) / len(documents) or 1
        asked = set(_words(text))
        frequency = {word: sum(word in words for words in documents.values()) for word in asked}
        scored = []
        for point in self._matching(where):
            words = documents[point.id]
            length = _K1 * (1 - _B + _B * words.total() / average)
            score = sum(
                math.log(1 + (len(documents) - frequency[word] + 0.5) / (frequency[word] + 0.5))
                * words[word] * (_K1 + 1) / (words[word] + length)
                for word in asked
                if words[word]
            )  # fmt: skip
            if score > 0:
                scored.append((score, point.id))
        return _best(scored, limit)


def _best(scored: list[tuple[float, str]], limit: int) -> list[Scored]:
    scored.sort(key=lambda entry: (-entry[0], entry[1]))
    return [Scored(id=identifier, score=score) for score, identifier in scored[:limit]]


def _hit(point: Point) -> Hit:
    payload = {key: value for key, value in point.payload.items() if key != TEXT}
    return Hit(id=point.id, text=point.text, payload=payload, score=0.0)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _matches(payload: Mapping[str, Any], where: Filter) -> bool:
    for key, value in where.items():
        found: Any = payload
        for step in key.split("."):
            found = found.get(step, _MISSING) if isinstance(found, Mapping) else _MISSING
        wanted = value if isinstance(value, list | tuple | set | frozenset) else [value]
        values = found if isinstance(found, list) else [found]
        empty = found is _MISSING or found is None or found == []
        if not (any(item in wanted for item in values) or (empty and None in wanted)):
            return False
    return True
