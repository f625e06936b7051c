import uuid

import numpy as np
import pytest

from crag_graph.retrieval import points
from crag_graph.retrieval.points import Prepared, batches, point_id, unit_vector
from tests.fakes.stores import DIMENSION, SCHEMA, vector_of


@pytest.mark.case(74)
def test_ids_are_the_same_in_every_run() -> None:
    assert point_id("docs/a.md#1") == "d6ac8a0c-6f8a-51a1-b425-16a31b84c868"
    known = uuid.uuid4()
    assert point_id(known) == point_id(str(known).upper()) == point_id(known.hex) == str(known)
    assert len({point_id(raw) for raw in ("3", "-1", "", "caf\udce9", "a", "A")}) == 6
    assert point_id(3) == point_id("3")


def test_vectors_are_made_unit_length() -> None:
    unit = unit_vector([3.0, 4.0] + [0.0] * (DIMENSION - 2), schema=SCHEMA, of="x")
    assert unit[:3] == [pytest.approx(0.6), pytest.approx(0.8), 0.0]
    numbers = np.array(vector_of("x"), dtype=np.float32)
    again = unit_vector(numbers, schema=SCHEMA, of="x")
    assert all(type(number) is float for number in again)
    assert np.linalg.norm(again) == pytest.approx(1.0)


def prepared(size: int) -> Prepared:
    return Prepared(id="x", vector=[], sparse=([], []), payload={}, size=size)


@pytest.mark.case(75)
def test_batches_are_bounded_by_count_and_by_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(points, "BATCH_POINTS", 3)
    monkeypatch.setattr(points, "BATCH_BYTES", 100)
    sizes = [10, 10, 10, 10, 95, 10, 500, 10, 50, 50, 1]
    cut = [[point.size for point in batch] for batch in batches([prepared(n) for n in sizes])]
    assert cut == [[10, 10, 10], [10], [95], [10], [500], [10, 50], [50, 1]]
    assert list(batches([])) == []
