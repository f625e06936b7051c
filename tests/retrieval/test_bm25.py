import threading

import pytest

from crag_graph.errors import ConfigurationError
from crag_graph.retrieval.bm25 import Bm25Encoder


def test_a_question_and_a_document_share_the_ids_of_their_words() -> None:
    encoder = Bm25Encoder("english")
    words, weights = encoder.query("closing valves valve")
    assert weights == [1.0, 1.0]
    assert set(words) <= set(encoder.document("The valves were closed by hand.")[0])


def test_german_is_stemmed_as_german() -> None:
    encoder = Bm25Encoder("german")
    assert set(encoder.query("Häuser")[0]) == set(encoder.document("Hause")[0])
    assert encoder.query("und der die")[0] == []


@pytest.mark.parametrize(
    ("text", "word"),
    [("机器学习是人工智能的一个分支", "人工智能"), ("これは日本語の文章です", "日本語")],
)
def test_multilingual_splits_text_without_spaces(text: str, word: str) -> None:
    encoder = Bm25Encoder("multilingual")
    assert set(encoder.query(word)[0]) <= set(encoder.document(text)[0])
    assert len(encoder.document(text)[0]) > 3


def test_multilingual_drops_and_stems_nothing() -> None:
    encoder = Bm25Encoder("multilingual")
    assert len(encoder.query("the of and")[0]) == 3
    assert set(encoder.query("valve")[0]) != set(encoder.query("valves")[0])


@pytest.mark.parametrize("language", ["klingon", "", "en-GB"])
def test_an_unknown_language_is_refused(language: str) -> None:
    with pytest.raises(ConfigurationError, match="bm25_language"):
        Bm25Encoder(language)


def test_threads_share_an_encoder() -> None:
    encoder = Bm25Encoder("english")
    expected = encoder.document("the tide turns at noon")
    found: list[object] = []

    def encode() -> None:
        found.extend(encoder.document("the tide turns at noon") for _ in range(200))

    threads = [threading.Thread(target=encode) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 800
