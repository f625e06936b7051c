"""What every store must do alike: storing, reading, refusing."""

import threading
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crag_graph.errors import (
    CollectionMismatchError,
    CollectionNotFoundError,
    StoreError,
    StoreRequestError,
)
from crag_graph.retrieval.index import Point, VectorIndex
from tests.fakes.stores import DIMENSION, Backend, chunk, vector_of


def test_it_is_a_vector_index(backend: Backend) -> None:
    index = backend.make()
    assert isinstance(index, VectorIndex)
    assert index.schema == backend.schema()


def test_what_was_stored_is_found_after_reopening(backend: Backend) -> None:
    index = backend.make()
    index.upsert([chunk("a", "the tide turns at noon", page=4)])
    index.close()
    found = backend.open().search_dense(vector_of("the tide turns at noon"), limit=3)
    assert [(hit.text, hit.payload["page"], hit.payload["source"]) for hit in found] == [
        ("the tide turns at noon", 4, "a.md")
    ]
    assert found[0].score == pytest.approx(1.0, abs=1e-5)


@pytest.mark.case(76)
def test_storing_the_same_ids_again_replaces_them(backend: Backend) -> None:
    index = backend.make()
    for text in ("first", "second", "third"):
        index.upsert([chunk("a", text), chunk("b", f"b {text}")])
    assert index.count() == 2
    assert {hit.text for hit in index.scroll()} == {"third", "b third"}


def test_of_points_with_one_id_the_last_counts(backend: Backend) -> None:
    index = backend.make()
    index.upsert([chunk("a", "old"), chunk("a", "new")])
    assert [hit.text for hit in index.scroll()] == ["new"]


def test_a_new_version_takes_over_without_a_gap(backend: Backend) -> None:
    index = backend.make()
    index.upsert([chunk(f"a{n}", f"old {n}", document_id="a", version="1") for n in range(3)])
    index.upsert([chunk("other", "stays")])
    index.upsert([chunk("a#2", "new", document_id="a", version="2")])
    assert index.count(where={"document_id": "a"}) == 4
    index.delete_document("a", keep_version="2")
    assert sorted(hit.text for hit in index.scroll()) == ["new", "stays"]
    index.delete_document("a")
    index.delete_document("never there")
    assert [hit.text for hit in index.scroll()] == ["stays"]


def test_retrieve_keeps_the_order_and_leaves_out_what_is_not_there(backend: Backend) -> None:
    index = backend.make()
    index.upsert([chunk(name, name) for name in "abc"])
    ids = {hit.text: hit.id for hit in index.scroll()}
    wanted = [ids["c"], str(uuid.uuid4()), ids["a"], "unknown", ids["c"]]
    assert [hit.text for hit in index.retrieve(wanted)] == ["c", "a"]
    assert index.retrieve(["b", "a"])[0].text == "b"
    assert index.retrieve([]) == []


def test_scroll_gives_every_chunk_once_in_the_order_of_ids(backend: Backend) -> None:
    index = backend.make()
    index.upsert([chunk(f"c{n}", f"chunk {n}", even=n % 2 == 0) for n in range(50)])
    hits = list(index.scroll(batch=7))
    assert [hit.id for hit in hits] == sorted(hit.id for hit in hits)
    assert len({hit.text for hit in hits}) == 50
    assert len(list(index.scroll(where={"even": True}, batch=7))) == 25


def test_threads_may_read_and_write_at_once(backend: Backend) -> None:
    index = backend.make()
    index.upsert([chunk("first", "the tide")])
    failures: list[BaseException] = []

    def work(prefix: str) -> None:
        try:
            for number in range(10):
                index.upsert([chunk(f"{prefix}{number}", f"{prefix} {number} tide")])
                assert index.search_sparse("tide", limit=3)
                assert index.search_dense(vector_of("x"), limit=3)
        except (StoreError, AssertionError) as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(prefix,)) for prefix in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert index.count() == 41


@pytest.mark.case(82)
@pytest.mark.parametrize(
    ("vector", "what"),
    [
        ([0.0] * DIMENSION, "all zeros"),
        ([float("nan")] + [1.0] * (DIMENSION - 1), "not finite"),
        ([float("inf")] + [1.0] * (DIMENSION - 1), "not finite"),
    ],
)
def test_an_unsound_vector_is_named_and_nothing_is_stored(
    backend: Backend, vector: list[float], what: str
) -> None:
    index = backend.make()
    good, bad = chunk("good", "fine"), chunk("bad", "broken", vector=vector)
    with pytest.raises(
        StoreRequestError, match=rf"bad of bad\.md is {what}|bad of bad\.md .*{what}"
    ):
        index.upsert([good, bad])
    assert index.count() == 0
    with pytest.raises(StoreRequestError, match=what):
        index.search_dense(vector, limit=1)


def test_a_very_short_vector_is_still_a_direction(backend: Backend) -> None:
    index = backend.make()
    index.upsert([chunk("a", "x", vector=[1e-9] + [0.0] * (DIMENSION - 1))])
    found = index.search_dense([1.0] + [0.0] * (DIMENSION - 1), limit=1)
    assert found[0].score == pytest.approx(1.0, abs=1e-5)


@pytest.mark.case(70)
def test_a_vector_of_another_size_is_refused_with_both_sizes(backend: Backend) -> None:
    index = backend.make()
    with pytest.raises(CollectionMismatchError, match=r"3 components.*16"):
        index.upsert([chunk("a", "x", vector=[1.0, 2.0, 3.0])])
    with pytest.raises(CollectionMismatchError, match=r"3 components.*16"):
        index.search_dense([1.0, 2.0, 3.0], limit=1)


@pytest.mark.case(70)
@pytest.mark.case(71)
@pytest.mark.parametrize("filled", [True, False])
@pytest.mark.parametrize("change", [{"dimension": 32}, {"embedding_model": "other"}])
def test_another_embedding_model_is_refused_with_both_named(
    backend: Backend, change: dict[str, Any], *, filled: bool
) -> None:
    index = backend.make()
    if filled:
        index.upsert([chunk("a", "x")])
    index.close()
    with pytest.raises(CollectionMismatchError) as caught:
        backend.make(**change)
    wanted = backend.schema(**change)
    for named in ("stub", "16", wanted.embedding_model, str(wanted.dimension), wanted.name):
        assert named in caught.value.message
    assert "another collection" in caught.value.message
    assert backend.open().count() == int(filled)


@pytest.mark.case(81)
def test_a_missing_collection_says_to_ingest(backend: Backend) -> None:
    with pytest.raises(CollectionNotFoundError, match=r"papers.*crag ingest"):
        backend.open()


@pytest.mark.case(74)
def test_any_string_is_an_id(backend: Backend) -> None:
    index = backend.make()
    known = str(uuid.uuid4())
    names = ["docs/a.md#1", "3", "-1", known]
    index.upsert([chunk(name, f"text of {name}") for name in names])
    index.upsert([chunk(name, f"text of {name}") for name in names])
    assert index.count() == 4
    hits = {hit.text: hit for hit in index.scroll()}
    for name in names:
        hit = hits[f"text of {name}"]
        assert hit.id == str(uuid.UUID(hit.id))
        assert hit.payload.get("original_id", hit.id) == name
    assert hits[f"text of {known}"].id == known


@pytest.mark.case(54)
@pytest.mark.case(56)
@pytest.mark.case(85)
@pytest.mark.case(90)
def test_odd_payloads_become_plain(backend: Backend) -> None:
    index = backend.make()
    odd = {
        "score": np.float32(0.5),
        "row": np.arange(3),
        "kinds": {"b", "a"},
        "path": Path("x/y"),
        "raw": b"bytes",
        "nan": float("nan"),
        "nul": "Scan\x00",
        "half": "caf\udce9",
    }
    index.upsert([chunk("a", "pump\x00 house \ud83d 🙂", **odd)])
    (hit,) = index.scroll()
    assert hit.text == "pump house \ufffd 🙂"
    assert {name: hit.payload[name] for name in odd} == {
        "score": 0.5,
        "row": [0, 1, 2],
        "kinds": ["a", "b"],
        "path": str(Path("x/y")),
        "raw": "bytes",
        "nan": None,
        "nul": "Scan",
        "half": "caf\ufffd",
    }


@pytest.mark.case(85)
def test_storing_nothing_does_nothing(backend: Backend) -> None:
    index = backend.make()
    index.upsert([])
    assert index.count() == 0
    assert index.search_dense(vector_of("x"), limit=3) == []
    assert index.search_sparse("x", limit=3) == []


@pytest.mark.case(75)
def test_an_oversized_point_is_named_and_the_rest_can_be_stored(backend: Backend) -> None:
    index = backend.make()
    huge = chunk("huge", "x", blob="y" * 17_000_000)
    with pytest.raises(StoreRequestError, match=r"huge of huge\.md takes 16 MiB"):
        index.upsert([chunk("a", "fine"), huge])
    assert index.count() == 0
    index.upsert([chunk("a", "fine"), chunk("big", "x", blob="y" * 9_000_000), chunk("b", "so")])
    assert index.count() == 3


def test_a_payload_without_document_gets_one(backend: Backend) -> None:
    index = backend.make()
    index.upsert([Point(id="lonely", vector=vector_of("x"), text="x", payload={})])
    (hit,) = index.scroll()
    index.delete_document(hit.payload["document_id"])
    assert index.count() == 0


def test_after_close_every_call_says_so(backend: Backend) -> None:
    index = backend.make()
    index.close()
    index.close()
    for call in (
        lambda: index.count(),
        lambda: index.upsert([chunk("a", "x")]),
        lambda: index.search_dense(vector_of("x"), limit=1),
        lambda: index.retrieve(["a"]),
    ):
        with pytest.raises(StoreError, match="closed before this call"):
            call()
