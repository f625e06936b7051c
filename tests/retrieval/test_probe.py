"""What is noticed when a store is opened, each loss made through the engine itself."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import qdrant_edge as edge

from crag_graph.errors import StoreDamagedError
from crag_graph.retrieval.bm25 import Bm25Encoder
from crag_graph.retrieval.edge import probe
from crag_graph.retrieval.edge.index import EdgeIndex
from crag_graph.retrieval.edge.shard import Shard
from crag_graph.retrieval.points import point_id
from tests.fakes.stores import DIMENSION, SCHEMA, chunk

IDS: list[Any] = [point_id(f"c{n}") for n in range(40)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "papers"
    index = EdgeIndex.create(folder, SCHEMA)
    index.upsert([chunk(f"c{n}", f"tide number{n}") for n in range(40)])
    index.close()
    return folder


def lose(folder: Path, *operations: "edge.UpdateOperation") -> None:
    engine = edge.EdgeShard.load(str(folder / "edge"))
    for operation in operations:
        engine.update(operation)
    engine.close()


def verify(folder: Path, *, expected: int = 40) -> None:
    def check(shard: Shard) -> None:
        probe.verify(shard, expected=expected, dimension=DIMENSION)

    Shard.open(folder / "edge", verify=check).release()


def unsound(vector: list[float]) -> "edge.UpdateOperation":
    sparse = edge.SparseVector(*Bm25Encoder("english").document("tide"))
    payload = {"text": "tide", "document_id": "c0"}
    return edge.UpdateOperation.upsert_points(
        [edge.Point(IDS[0], {"dense": vector, "sparse": sparse}, payload)]
    )


def test_a_whole_store_passes(folder: Path) -> None:
    verify(folder)
    verify(folder, expected=39)


LOSSES: dict[str, Callable[[], "edge.UpdateOperation"]] = {
    "only 38 of 40 chunks can be read": lambda: edge.UpdateOperation.delete_points(IDS[:2]),
    "a vector is lost in 1 of 40 chunks": lambda: edge.UpdateOperation.delete_vectors(
        IDS[:1], ["sparse"]
    ),
    "a vector is lost in 3 of 40 chunks": lambda: edge.UpdateOperation.delete_vectors(
        IDS[:3], ["dense"]
    ),
    "no sound vector in 1 of 40 chunks": lambda: unsound([0.0] * DIMENSION),
    "no document leads to 1 of 40 chunks": lambda: edge.UpdateOperation.clear_payload(IDS[:1]),
    "has lost its text": lambda: edge.UpdateOperation.delete_payload(IDS, ["text"]),
}


@pytest.mark.parametrize("said", LOSSES)
def test_a_loss_is_counted(folder: Path, said: str) -> None:
    lose(folder, LOSSES[said]())
    with pytest.raises(StoreDamagedError, match=said):
        verify(folder)


def test_a_refused_store_is_let_go_of(folder: Path) -> None:
    with pytest.raises(StoreDamagedError):
        verify(folder, expected=41)
    verify(folder, expected=40)


def test_large_stores_are_sampled(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "_FULL_SCAN", 10)
    verify(folder)
    lose(folder, edge.UpdateOperation.delete_payload(IDS, ["text"]))
    with pytest.raises(StoreDamagedError, match="has lost its text"):
        verify(folder)


def test_an_empty_store_passes_when_nothing_is_expected(folder: Path) -> None:
    lose(folder, edge.UpdateOperation.delete_points(IDS))
    verify(folder, expected=0)
    with pytest.raises(StoreDamagedError, match="only 0 of 1 chunk can be read"):
        verify(folder, expected=1)
