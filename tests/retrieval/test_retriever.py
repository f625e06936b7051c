"""Hybrid retrieval over both stores, and any LangChain retriever in its place."""

import asyncio
import json
import math
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from crag_graph.errors import (
    CollectionMismatchError,
    EmbeddingError,
    InputError,
    StoreError,
    StoreUnavailableError,
)
from crag_graph.retrieval.index import VectorIndex
from crag_graph.retrieval.retriever import HybridRetriever, Retriever
from crag_graph.settings import Settings
from tests.fakes.qdrant_facade import QdrantFacade
from tests.fakes.stores import DIMENSION, Backend, StubEmbeddings, chunk, vector_of

SETTINGS = Settings(top_k=3)
QUESTION = "when does the tide turn?"


def filled(backend: Backend) -> VectorIndex:
    index = backend.make()
    index.upsert(
        [
            chunk("words", "The tide turns at noon.", title="Tides", page=4),
            chunk("meaning", "High water.", vector=vector_of(QUESTION)),
            chunk("both", "About the tide", vector=[n + 0.3 for n in vector_of(QUESTION)]),
            chunk("neither", "A recipe for bread."),
        ]
    )
    return index


def names(documents: list[Document]) -> list[str]:
    return [document.metadata["document_id"] for document in documents]


def test_both_lists_are_fused_and_traced(backend: Backend) -> None:
    retriever = HybridRetriever(embeddings=StubEmbeddings(), index=filled(backend))
    assert isinstance(retriever, Retriever)
    found = retriever.retrieve(QUESTION, settings=SETTINGS)
    assert names(found) == ["meaning", "both", "words"]
    words = found[2]
    assert words.page_content == "The tide turns at noon."
    assert words.metadata.items() >= {"source": "words.md", "title": "Tides", "page": 4}.items()
    trace = words.metadata["retrieval"]
    assert set(trace) == {"score", "dense", "sparse", "dense_rank", "sparse_rank"}
    assert trace["sparse_rank"] == 1
    assert found[0].metadata["retrieval"]["dense_rank"] == 1
    assert found[0].metadata["retrieval"]["dense"] == pytest.approx(1.0, abs=1e-5)
    assert found[0].metadata["retrieval"]["sparse"] is None
    assert found[0].id == retriever.index.retrieve(["meaning"])[0].id
    json.dumps(found[0].metadata)


@pytest.mark.case(80)
def test_no_score_looks_like_a_relevance(backend: Backend) -> None:
    index = backend.make()
    index.upsert([chunk(f"c{n}", f"off topic {n}") for n in range(5)])
    retriever = HybridRetriever(embeddings=StubEmbeddings(), index=index)
    found = retriever.retrieve(QUESTION, settings=SETTINGS)
    assert found[0].metadata["retrieval"]["score"] == 1.0, "the best of nothing is still the best"
    for document in found:
        assert not {"score", "relevance", "relevance_score", "_score"} & set(document.metadata)


def test_every_way_of_asking_gives_the_same(backend: Backend) -> None:
    retriever = HybridRetriever(
        embeddings=StubEmbeddings(), index=filled(backend), settings=SETTINGS
    )
    expected = retriever.retrieve(QUESTION, settings=SETTINGS)
    assert asyncio.run(retriever.aretrieve(QUESTION, settings=SETTINGS)) == expected
    assert retriever.invoke(QUESTION) == expected
    assert asyncio.run(retriever.ainvoke(QUESTION)) == expected
    assert retriever.batch([QUESTION, QUESTION]) == [expected, expected]


def test_both_stores_give_the_same_documents(facade: QdrantFacade, tmp_path: Any) -> None:
    stores = Backend(tmp_path), Backend(tmp_path, url=facade.url)
    found = [
        HybridRetriever(embeddings=StubEmbeddings(), index=filled(store)).retrieve(
            QUESTION, settings=Settings()
        )
        for store in stores
    ]
    assert found[0] == found[1]
    assert len(found[0]) == 4
    for store in stores:
        store.close()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"retrieval_mode": "dense"}, ["meaning", "both"]),
        ({"retrieval_mode": "sparse"}, ["words", "both"]),
        ({"dense_weight": 1.0}, ["meaning", "both"]),
        ({"dense_weight": 0.0}, ["words", "both"]),
        ({"candidates": 1}, ["meaning", "words"]),
    ],
)
def test_settings_choose_the_lists(
    backend: Backend, changes: dict[str, Any], expected: list[str]
) -> None:
    embeddings = StubEmbeddings()
    retriever = HybridRetriever(embeddings=embeddings, index=filled(backend))
    settings = Settings(top_k=2, **changes)
    assert names(retriever.retrieve(QUESTION, settings=settings)) == expected
    assert len(embeddings.queries) == (settings.retrieval_mode != "sparse")


def test_a_filter_narrows_both_lists(backend: Backend) -> None:
    retriever = HybridRetriever(
        embeddings=StubEmbeddings(), index=filled(backend), where={"source": "words.md"}
    )
    where = {"source": ["both.md", "neither.md"]}
    found = retriever.retrieve(QUESTION, settings=SETTINGS, where=where)
    assert names(found) == ["both", "neither"]
    assert names(retriever.invoke(QUESTION)) == ["words"]
    with pytest.raises(InputError):
        retriever.retrieve(QUESTION, settings=SETTINGS, where={"a": {"b": 1}})


@pytest.mark.case(129)
def test_empty_is_not_the_same_as_nothing_found(backend: Backend) -> None:
    retriever = HybridRetriever(embeddings=StubEmbeddings(), index=backend.make())
    assert retriever.retrieve(QUESTION, settings=SETTINGS) == []
    assert retriever.is_empty()
    retriever.index.upsert([chunk("a", "something")])
    assert retriever.retrieve(QUESTION, settings=SETTINGS, where={"source": "no"}) == []
    assert not retriever.is_empty()


@pytest.mark.case(128)
def test_a_failure_is_never_an_empty_list(facade: QdrantFacade, index: VectorIndex) -> None:
    retriever = HybridRetriever(embeddings=StubEmbeddings(), index=index)
    facade.fail(status=503, times=99)
    with pytest.raises(StoreUnavailableError):
        retriever.retrieve(QUESTION, settings=SETTINGS)
    with pytest.raises(StoreUnavailableError):
        asyncio.run(retriever.aretrieve(QUESTION, settings=SETTINGS))


@pytest.mark.case(82)
@pytest.mark.parametrize("vector", [[0.0] * DIMENSION, [math.nan] * DIMENSION])
async def test_an_unsound_vector_of_the_question_is_an_error(
    index: VectorIndex, vector: list[float]
) -> None:
    retriever = HybridRetriever(embeddings=StubEmbeddings(vector=vector), index=index)
    with pytest.raises(EmbeddingError):
        retriever.retrieve(QUESTION, settings=SETTINGS)
    with pytest.raises(EmbeddingError):
        await retriever.aretrieve(QUESTION, settings=SETTINGS)


@pytest.mark.case(70)
@pytest.mark.case(71)
def test_other_embeddings_are_refused_before_the_first_question(index: VectorIndex) -> None:
    for other in (StubEmbeddings(name="other"), StubEmbeddings(name="other", dimension=32)):
        with pytest.raises(CollectionMismatchError) as caught:
            HybridRetriever(embeddings=other, index=index)
        said = caught.value.message
        assert f"stub ({DIMENSION} components)" in said
        assert f"other ({other.dimension} components)" in said
        assert other.queries == []


@pytest.mark.case(70)
def test_embeddings_that_change_their_size_are_refused(index: VectorIndex) -> None:
    class Unnamed(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            raise AssertionError

        def embed_query(self, text: str) -> list[float]:
            return [1.0, 2.0]

    wrong = Unnamed()
    wrong.name = "stub"  # type: ignore[attr-defined]
    retriever = HybridRetriever(embeddings=wrong, index=index)
    with pytest.raises(CollectionMismatchError, match=r"16 components.*2 components"):
        retriever.retrieve(QUESTION, settings=SETTINGS)


@pytest.mark.case(112)
def test_of_a_very_long_question_the_end_is_searched(backend: Backend) -> None:
    index = backend.make()
    index.upsert([chunk("asked", "Valve nine closes first."), chunk("told", "background noise")])
    retriever = HybridRetriever(embeddings=StubEmbeddings(), index=index)
    question = "background noise " * 2000 + "So, which valve?"
    (first, *_) = retriever.retrieve(question, settings=Settings(retrieval_mode="sparse"))
    ranks = {d.metadata["document_id"]: d.metadata["retrieval"] for d in [first, *_]}
    assert ranks["asked"]["sparse_rank"] is not None


def test_closing_lets_go_of_the_store(backend: Backend) -> None:
    retriever = HybridRetriever(embeddings=StubEmbeddings(), index=backend.make())
    retriever.close()
    with pytest.raises(StoreError, match="closed"):
        retriever.retrieve(QUESTION, settings=SETTINGS)
