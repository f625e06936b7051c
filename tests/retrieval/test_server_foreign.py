"""Collections that another tool made: asked where they can be, refused by name where not."""

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qdrant_client import models

from crag_graph.errors import CollectionMismatchError
from crag_graph.retrieval.bm25 import Bm25Encoder
from crag_graph.retrieval.server.index import ServerIndex
from crag_graph.retrieval.store import open_index
from tests.fakes.qdrant_facade import QdrantFacade
from tests.fakes.stores import DIMENSION, SCHEMA, chunk, vector_of

COSINE = models.VectorParams(size=DIMENSION, distance=models.Distance.COSINE)
IDF = models.SparseVectorParams(modifier=models.Modifier.IDF)


def put(facade: QdrantFacade, name: str, *payloads: dict[str, Any], dense: str = "") -> None:
    """Store payloads under the ids 1, 2, …, each with the vector of its position."""
    points = []
    for number, payload in enumerate(payloads, 1):
        vector: Any = vector_of(str(number))
        points.append(
            models.PointStruct(
                id=number, vector={dense: vector} if dense else vector, payload=payload
            )
        )
    facade.collections[name].upsert(models.PointsList(points=points))


@pytest.mark.case(72)
def test_points_without_text_are_skipped_and_counted(
    facade: QdrantFacade, caplog: pytest.LogCaptureFixture
) -> None:
    facade.make("theirs", vectors=COSINE)
    put(facade, "theirs", {"content": "the tide"}, {"other": 1}, {"content": 5}, {"content": " "})
    index = ServerIndex.open(facade.url, "theirs", content_key="content")
    with caplog.at_level(logging.WARNING):
        found = index.search_dense(vector_of("1"), limit=4)
        assert [(hit.id, hit.text) for hit in found] == [("1", "the tide")]
        assert index.skipped == 3
        assert [hit.text for hit in index.scroll()] == ["the tide"]
        assert index.skipped == 6
    assert len(caplog.records) == 1
    assert "without text under content" in caplog.records[0].message
    assert [hit.id for hit in index.retrieve(["2"])] == []
    index.close()


@pytest.mark.case(72)
async def test_no_text_at_all_names_the_keys_that_there_are(facade: QdrantFacade) -> None:
    facade.make("theirs", vectors=COSINE)
    put(facade, "theirs", {"content": "the tide", "url": "x"}, {"page_content": 5})
    index = ServerIndex.open(facade.url, "theirs")
    said = r"text under text or page_content; there are content, page_content, url: .*content_key"
    with pytest.raises(CollectionMismatchError, match=said):
        index.search_dense(vector_of("1"), limit=2)
    with pytest.raises(CollectionMismatchError, match=said):
        await index.asearch_dense(vector_of("1"), limit=2)
    index.close()


def test_langchains_layout_is_read_as_it_is(facade: QdrantFacade) -> None:
    facade.make("theirs", vectors=COSINE)
    put(facade, "theirs", {"page_content": "the tide", "metadata": {"source": "a.md"}})
    index = ServerIndex.open(facade.url, "theirs")
    assert index.schema.embedding_model == ""
    assert index.schema.dimension == DIMENSION
    (hit,) = index.search_dense(vector_of("1"), limit=1, where={"metadata.source": "a.md"})
    assert (hit.text, hit.payload) == ("the tide", {"metadata": {"source": "a.md"}})
    index.close()


def test_words_are_searched_where_the_sparse_vector_is_made_for_them(
    facade: QdrantFacade,
) -> None:
    facade.make("theirs", vectors={"minilm": COSINE}, sparse_vectors={"bm25": IDF})
    indices, values = Bm25Encoder("english").document("the tide turns")
    sparse = models.SparseVector(indices=indices, values=values)
    point = models.PointStruct(
        id=7, vector={"minilm": vector_of("x"), "bm25": sparse}, payload={"text": "the tide turns"}
    )
    facade.collections["theirs"].upsert(models.PointsList(points=[point]))
    index = ServerIndex.open(facade.url, "theirs")
    ranked = index.rank(vector=vector_of("x"), text="tides", limit=3)
    assert [hit.id for hit in ranked.dense] == [hit.id for hit in ranked.sparse] == ["7"]
    index.close()


@pytest.mark.parametrize("sparse", [{}, {"splade": models.SparseVectorParams()}])
def test_without_bm25_vectors_only_meaning_is_searched(
    facade: QdrantFacade, sparse: dict[str, Any]
) -> None:
    facade.make("theirs", vectors={"minilm": COSINE}, sparse_vectors=sparse)
    put(facade, "theirs", {"text": "the tide"}, dense="minilm")
    index = ServerIndex.open(facade.url, "theirs")
    ranked = index.rank(vector=vector_of("1"), text="tide", limit=3)
    assert (len(ranked.dense), len(ranked.sparse)) == (1, 0)
    with pytest.raises(CollectionMismatchError, match=r"no BM25 vectors.*retrieval_mode to dense"):
        index.search_sparse("tide", limit=3)
    index.close()


@pytest.mark.case(81)
@pytest.mark.parametrize(
    ("vectors", "named"),
    [
        ({"first": COSINE, "second": COSINE}, r"first \(16\), second \(16\)"),
        (
            models.VectorParams(size=4, distance=models.Distance.EUCLID),
            r"it has an unnamed one \(4\)",
        ),
        ({}, "none at all"),
    ],
)
def test_the_vectors_that_cannot_be_searched_are_named(
    facade: QdrantFacade, vectors: Any, named: str
) -> None:
    sparse = {} if vectors else {"only": IDF}
    facade.make("theirs", vectors=vectors, sparse_vectors=sparse)
    expected = named if vectors else r"only \(sparse\)"
    with pytest.raises(CollectionMismatchError, match=f"no vector 'dense'.*{expected}"):
        ServerIndex.open(facade.url, "theirs")


def test_a_dense_vector_called_dense_is_taken_among_many(facade: QdrantFacade) -> None:
    facade.make("theirs", vectors={"dense": COSINE, "other": COSINE})
    index = ServerIndex.open(facade.url, "theirs")
    assert index.rank(vector=vector_of("x"), text=None, limit=1).dense == []
    index.close()


def test_nothing_is_ingested_into_another_tools_collection(
    facade: QdrantFacade, tmp_path: Path
) -> None:
    facade.make("papers", vectors={"dense": COSINE}, sparse_vectors={"sparse": IDF})
    with pytest.raises(CollectionMismatchError, match="another tool"):
        open_index(home=tmp_path, collection="papers", create=SCHEMA, url=facade.url)
    assert facade.paths("index") == []


def test_a_collection_of_ours_that_lost_a_vector_is_refused(facade: QdrantFacade) -> None:
    made_with = {"embedding_model": "stub", "dimension": DIMENSION, "bm25_language": "english"}
    facade.make("papers", vectors={"dense": COSINE}, metadata={"crag_graph": made_with})
    with pytest.raises(CollectionMismatchError, match=r"it has dense \(16\)"):
        ServerIndex.open(facade.url, "papers")


def test_odd_numbers_in_a_payload_are_stored(facade: QdrantFacade, index: ServerIndex) -> None:
    index.upsert([chunk("n", "x", big=np.int64(2**53 + 1), small=np.float16(0.5))])
    (hit,) = index.retrieve(["n"])
    assert (hit.payload["big"], hit.payload["small"]) == (2**53 + 1, 0.5)
