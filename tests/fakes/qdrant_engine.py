"""Collections of a pretended Qdrant server: REST models in, the embedded engine's answers out."""

import threading
from pathlib import Path
from typing import Any

import numpy as np
import qdrant_edge as edge
from qdrant_client import models


class Refused(Exception):
    """What the server answers with a status of its own."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


class EngineCollection:
    """One collection. `strict` refuses filters on fields without an index, as the cloud does."""

    def __init__(self, folder: Path, made_with: models.CreateCollection, *, strict: bool) -> None:
        self.made_with = made_with
        self.strict = strict
        self.indexed: dict[str, str] = {}
        self.lock = threading.Lock()
        vectors = made_with.vectors or {}
        named = vectors if isinstance(vectors, dict) else {"": vectors}
        config = edge.EdgeConfig(
            vectors={
                name: edge.EdgeVectorParams(
                    size=params.size, distance=getattr(edge.Distance, params.distance.value)
                )
                for name, params in named.items()
            },
            sparse_vectors={
                name: edge.EdgeSparseVectorParams(
                    modifier=edge.Modifier.Idf if params.modifier == "idf" else None
                )
                for name, params in (made_with.sparse_vectors or {}).items()
            },
        )
        self.shard = edge.EdgeShard.create(str(folder), config)

    def info(self, *, keeps_metadata: bool) -> dict[str, Any]:
        params = models.CollectionParams(
            vectors=self.made_with.vectors, sparse_vectors=self.made_with.sparse_vectors
        )
        return {
            "status": "green",
            "optimizer_status": "ok",
            "points_count": self.shard.info().points_count,
            "segments_count": 1,
            "config": {
                "params": params.model_dump(mode="json", exclude_none=True),
                "hnsw_config": {
                    "m": 16,
                    "ef_construct": 100,
                    "full_scan_threshold": 10000,
                    "max_indexing_threads": 0,
                },
                "optimizer_config": {
                    "deleted_threshold": 0.2,
                    "vacuum_min_vector_number": 1000,
                    "default_segment_number": 0,
                    "flush_interval_sec": 5,
                },
                "wal_config": {"wal_capacity_mb": 32, "wal_segments_ahead": 0},
                "metadata": self.made_with.metadata if keeps_metadata else None,
            },
            "payload_schema": {
                field: {"data_type": kind, "points": 0} for field, kind in self.indexed.items()
            },
        }

    def index(self, request: models.CreateFieldIndex) -> None:
        kind = models.PayloadSchemaType(request.field_schema)
        schema = getattr(edge.PayloadSchemaType, kind.value.capitalize())
        self.shard.update(edge.UpdateOperation.create_field_index(request.field_name, schema))
        self.indexed[request.field_name] = kind.value

    def upsert(self, request: models.PointsList) -> None:
        points = []
        for point in request.points:
            vector: Any = point.vector
            if isinstance(vector, dict):
                vector = {name: _vector(value) for name, value in vector.items()}
            points.append(edge.Point(_id(point.id), vector, point.payload))
        with self.lock:
            self.shard.update(edge.UpdateOperation.upsert_points(points))

    def delete(self, request: models.FilterSelector) -> None:
        condition = self.filter(request.filter)
        with self.lock:
            self.shard.update(edge.UpdateOperation.delete_points_by_filter(condition))

    def query(self, request: models.QueryRequest) -> dict[str, Any]:
        assert isinstance(request.query, models.NearestQuery)
        using = request.using or ""
        names = [*self._dense(), *(self.made_with.sparse_vectors or {})]
        if using not in names:
            raise Refused(400, f"Wrong input: Not existing vector name error: {using}")
        hits = self.shard.query(
            edge.QueryRequest(
                limit=request.limit or 10,
                query=edge.Query.Nearest(_vector(request.query.nearest), using=using),
                filter=self.filter(request.filter),
                with_payload=bool(request.with_payload),
            )
        )
        return {"points": [_scored(hit) for hit in hits]}

    def retrieve(self, request: models.PointRequest) -> list[dict[str, Any]]:
        ids = [_id(identifier) for identifier in request.ids]
        return [_record(found) for found in self.shard.retrieve(ids, True, False)]

    def scroll(self, request: models.ScrollRequest) -> dict[str, Any]:
        records, offset = self.shard.scroll(
            edge.ScrollRequest(
                offset=None if request.offset is None else _id(request.offset),
                limit=request.limit,
                filter=self.filter(request.filter),
                with_payload=True,
            )
        )
        return {"points": [_record(found) for found in records], "next_page_offset": _said(offset)}

    def count(self, request: models.CountRequest) -> dict[str, int]:
        condition = self.filter(request.filter)
        return {"count": self.shard.count(edge.CountRequest(exact=True, filter=condition))}

    def filter(self, given: models.Filter | None) -> edge.Filter | None:
        if given is None:
            return None
        parts = {}
        for name in ("must", "should", "must_not"):
            conditions = getattr(given, name) or []
            conditions = conditions if isinstance(conditions, list) else [conditions]
            parts[name] = [self._condition(condition) for condition in conditions] or None
        return edge.Filter(**parts)

    def _condition(self, given: Any) -> Any:
        if isinstance(given, models.Filter):
            return self.filter(given)
        if isinstance(given, models.HasIdCondition):
            return edge.HasIdCondition({_id(identifier) for identifier in given.has_id})
        key = given.is_empty.key if isinstance(given, models.IsEmptyCondition) else given.key
        if self.strict and key not in self.indexed:
            raise Refused(
                400,
                f'Bad request: Index required but not found for "{key}" of one of the following '
                "types: [keyword]. Help: Create an index for this key or use a different filter.",
            )
        if isinstance(given, models.IsEmptyCondition):
            return edge.IsEmptyCondition(key)
        if given.range is not None:
            between = edge.RangeFloat(gte=given.range.gte, lte=given.range.lte)
            return edge.FieldCondition(key=key, range=between)
        if isinstance(given.match, models.MatchAny):
            return edge.FieldCondition(key=key, match=edge.MatchAny(given.match.any))
        value = given.match.value
        value = np.bool_(value) if isinstance(value, bool) else value
        return edge.FieldCondition(key=key, match=edge.MatchValue(value))

    def _dense(self) -> list[str]:
        vectors = self.made_with.vectors or {}
        return list(vectors) if isinstance(vectors, dict) else [""]


def _id(identifier: Any) -> Any:
    return identifier if isinstance(identifier, int) else str(identifier)


def _said(identifier: Any) -> Any:
    return identifier if isinstance(identifier, int | None) else str(identifier)


def _vector(value: Any) -> Any:
    if isinstance(value, models.SparseVector):
        return edge.SparseVector(value.indices, value.values)
    return value


def _scored(hit: Any) -> dict[str, Any]:
    # A server writes single precision as the shortest decimals.
    return {"id": _said(hit.id), "version": 0, "score": float(str(np.float32(hit.score)))}


def _record(found: Any) -> dict[str, Any]:
    return {"id": _said(found.id), "payload": found.payload}
