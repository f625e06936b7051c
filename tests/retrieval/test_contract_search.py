"""What every store must do alike: searching and filtering."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from crag_graph.errors import InputError
from crag_graph.retrieval.index import Hit
from tests.fakes.qdrant_facade import QdrantFacade
from tests.fakes.stores import DIMENSION, Backend, chunk, vector_of


def sources(hits: list[Hit]) -> list[str]:
    return [hit.payload["document_id"] for hit in hits]


FILTERS: list[tuple[dict[str, Any], str]] = [
    ({"lang": "en"}, "abd"),
    ({"lang": ["en", "de"]}, "abcd"),
    ({"year": 2021}, "b"),
    ({"year": [2020, 2021, 1]}, "ab"),
    ({"year": [2020, None]}, "ae"),
    ({"draft": True}, "ac"),
    ({"draft": False}, "bd"),
    ({"draft": [True, False]}, "abcd"),
    ({"share": 0.5}, "c"),
    ({"lang": "en", "draft": True}, "a"),
    ({"meta.kind": "memo"}, "d"),
    ({"tags": "x"}, "ab"),
    ({"with space": "yes"}, "a"),
    ({"lang": None}, "e"),
    ({"nowhere": "x"}, ""),
    ({"lang": []}, ""),
    ({}, "abcde"),
]


@pytest.mark.case(73)
def test_filters(backend: Backend) -> None:
    index = backend.make()
    index.upsert(
        [
            chunk(
                "a", "one", lang="en", year=2020, draft=True, tags=["x"], **{"with space": "yes"}
            ),
            chunk("b", "two", lang="en", year=2021, draft=False, tags=["x", "y"]),
            chunk("c", "three", lang="de", year=2022, draft=True, share=0.5),
            chunk("d", "four", lang="en", year=2023, draft=False, meta={"kind": "memo"}),
            chunk("e", "five", lang=None),
        ]
    )
    query = vector_of("q")
    for where, expected in FILTERS:
        found = index.search_dense(query, limit=10, where=where)
        assert (where, sorted(sources(found))) == (where, list(expected))
        assert (where, index.count(where=where)) == (where, len(expected))
        scrolled = list(index.scroll(where=where))
        assert (where, sorted(sources(scrolled))) == (where, list(expected))


def test_a_filter_that_cannot_be_used_is_refused(backend: Backend) -> None:
    index = backend.make()
    wrong: list[dict[str, Any]] = [
        {"": "x"},
        {'a"b': "x"},
        {"a..b": "x"},
        {"a": {"gte": 1}},
        {"a": float("nan")},
    ]
    for where in wrong:
        with pytest.raises(InputError, match="filter"):
            index.count(where=where)


def test_dense_search_is_ordered_by_cosine(backend: Backend) -> None:
    index = backend.make()
    axis = [1.0] + [0.0] * (DIMENSION - 1)
    for name, second in (("far", 9.0), ("near", 0.1), ("middle", 1.0), ("opposite", -0.1)):
        sign = -1.0 if name == "opposite" else 1.0
        vector = [sign, second] + [0.0] * (DIMENSION - 2)
        index.upsert([chunk(name, name, vector=[5 * number for number in vector])])
    found = index.search_dense(axis, limit=10)
    assert sources(found) == ["near", "middle", "far", "opposite"]
    assert found[1].score == pytest.approx(2**-0.5, abs=1e-6)
    assert sources(index.search_dense(axis, limit=2)) == ["near", "middle"]


def test_sparse_search_weighs_words_by_rarity(backend: Backend) -> None:
    index = backend.make()
    index.upsert([chunk(f"c{n}", f"common words only {n}") for n in range(20)])
    index.upsert([chunk("rare", "a plain note on chlorine")])
    found = index.search_sparse("common chlorine", limit=30)
    assert sources(found)[0] == "rare"
    assert found[0].score > 2 * found[1].score > 0


@pytest.mark.parametrize("text", ["the of and", "", "!?", "zzzz"])
def test_words_that_find_nothing_give_an_empty_list(backend: Backend, text: str) -> None:
    index = backend.make()
    index.upsert([chunk("a", "the tide")])
    assert index.search_sparse(text, limit=5) == []


def test_english_is_stemmed(backend: Backend) -> None:
    index = backend.make()
    index.upsert([chunk("a", "the valves were closing"), chunk("b", "a door")])
    assert sources(index.search_sparse("valve closes", limit=5)) == ["a"]


def test_multilingual_finds_words_without_spaces_between_them(backend: Backend) -> None:
    index = backend.make(bm25_language="multilingual")
    index.upsert([chunk("a", "机器学习是人工智能的一个分支"), chunk("b", "今天天气很好")])
    assert sources(index.search_sparse("人工智能", limit=1)) == ["a"]
    index.close()
    assert sources(backend.open().search_sparse("天气", limit=1)) == ["b"]


@pytest.mark.parametrize("copies", [12, 60])
def test_equal_scores_are_ordered_and_cut_by_id(backend: Backend, copies: int) -> None:
    index = backend.make()
    same = [chunk(f"copy{n}", "all rights reserved here") for n in range(copies)]
    index.upsert([*same, chunk("other", "something else")])
    query = vector_of("all rights reserved here")
    for search in (
        index.search_dense(query, limit=5),
        index.search_sparse("rights reserved", limit=5),
    ):
        ids = sorted(hit.id for hit in index.scroll() if hit.text.startswith("all"))
        assert [hit.id for hit in search] == ids[:5]


def test_both_lists_come_from_one_call(backend: Backend) -> None:
    index = backend.make()
    index.upsert([chunk(f"c{n}", f"chunk number {n} of the tide") for n in range(30)])
    query, text = vector_of("q"), "tide number 7"
    both = index.rank(vector=query, text=text, limit=8)
    assert [hit.id for hit in both.dense] == [h.id for h in index.search_dense(query, limit=8)]
    assert [hit.id for hit in both.sparse] == [h.id for h in index.search_sparse(text, limit=8)]
    assert list(index.rank(vector=None, text=None, limit=8).dense) == []
    assert list(index.rank(vector=query, text=None, limit=8).sparse) == []


@pytest.mark.case(66)
def test_two_event_loops_after_each_other_get_the_same(backend: Backend) -> None:
    index = backend.make()
    index.upsert([chunk(f"c{n}", f"chunk {n} of the tide") for n in range(20)])
    query = vector_of("q")

    async def ask() -> list[list[Hit]]:
        return await asyncio.gather(
            index.asearch_dense(query, limit=5),
            index.asearch_sparse("tide 3", limit=5, where={"version": "1"}),
        )

    expected = [index.search_dense(query, limit=5), index.search_sparse("tide 3", limit=5)]
    assert asyncio.run(ask()) == expected
    assert asyncio.run(ask()) == expected


def test_the_same_question_gets_the_same_answer_from_every_store(tmp_path: Path) -> None:
    points = [
        chunk(f"c{n}", f"chunk {n % 17} of the {'tide' if n % 3 else 'moon'}", n=n)
        for n in range(200)
    ]
    with QdrantFacade(tmp_path / "server") as facade:
        embedded, server = Backend(tmp_path), Backend(tmp_path, url=facade.url)
        here, there = embedded.make(), server.make()
        for index in (here, there):
            index.upsert(points)
        here.optimize()
        for question in ("moon 3", "the tide of chunk 11"):
            query = {"vector": vector_of(question), "text": question, "limit": 50}
            ours, theirs = here.rank(**query), there.rank(**query)
            for one, other in ((ours.dense, theirs.dense), (ours.sparse, theirs.sparse)):
                assert [hit.id for hit in one] == [hit.id for hit in other]
                # The engine adds up in an order of its own, so the last bits may differ.
                scores = [hit.score for hit in other]
                assert [hit.score for hit in one] == pytest.approx(scores, rel=1e-6)
        assert list(here.scroll()) == list(there.scroll())
        embedded.close()
        server.close()
