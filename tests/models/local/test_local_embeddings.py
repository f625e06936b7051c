import numpy as np
import pytest

from crag_graph.models.local.embeddings import LocalEmbeddings


async def test_documents_and_queries_live_in_one_space_whatever_the_door() -> None:
    embeddings = LocalEmbeddings()
    text = "The dam was built in 1931."

    document = embeddings.embed_documents([text, "Bananas."])[0]

    assert embeddings.embed_query(text) == pytest.approx(document, abs=1e-5)
    assert await embeddings.aembed_query(text) == embeddings.embed_query(text)
    assert await embeddings.aembed_documents([text]) == embeddings.embed_documents([text])
    assert len(document) == embeddings.dimension
    assert all(type(component) is float for component in document)


@pytest.mark.case(112)
def test_a_long_question_is_embedded_with_its_end() -> None:
    embeddings = LocalEmbeddings()
    background = "We run a plant near the coast with pumps and tanks of many kinds. " * 150
    passage = np.array(embeddings.embed_documents(["The relief valve opens at 9 bar."])[0])

    with_end = embeddings.embed_query(f"{background} So, at what pressure does the valve open?")
    without = embeddings.embed_query(background)

    assert len(background) > 9_800
    assert passage @ np.array(with_end) > passage @ np.array(without) + 0.02


def test_a_long_question_keeps_some_of_its_start() -> None:
    embeddings = LocalEmbeddings()
    filler = "as was said before and will be said again. " * 100

    assert embeddings.embed_query(f"Which valve? {filler}") != embeddings.embed_query(filler)


def test_tokens_are_counted_before_any_cut() -> None:
    embeddings = LocalEmbeddings()
    assert embeddings.count_tokens("hello worlds") == 2
    assert embeddings.count_tokens("word " * 1000) == 1000


def test_a_model_of_its_own_has_its_own_threads() -> None:
    assert LocalEmbeddings(threads=1)._model is not LocalEmbeddings()._model
    assert LocalEmbeddings()._model is LocalEmbeddings()._model
