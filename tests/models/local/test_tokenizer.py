import hashlib

import pytest

from crag_graph.models.local.tokenizer import VOCABULARY, encode, load_tokenizer

# Ids that the tokenizer.json published with the model gives.
EXPECTED = {
    "Who built the dam in 1931?": [101, 2040, 2328, 1996, 5477, 1999, 4739, 1029, 102],
    "ÉCOLE naïve — 1,000.5 $": [101, 12431, 15743, 1517, 1015, 1010, 2199, 1012, 1019, 1002, 102],
    "京都は日本の都市です。": [
        101,
        1755,
        1961,
        1672,
        1864,
        1876,
        1671,
        1961,
        100,
        1665,
        30184,
        1636,
        102,
    ],
    "v2.0.1 [SEP] x_y": [101, 1058, 2475, 1012, 1014, 1012, 1015, 102, 1060, 1035, 1061, 102],
    "unaffable 🙂": [101, 14477, 20961, 3468, 100, 102],
    "हिन्दी": [101, 1339, 29877, 29863, 29861, 29878, 102],
}


@pytest.mark.parametrize(("text", "ids"), EXPECTED.items())
def test_the_ids_are_the_models_own(text: str, ids: list[int]) -> None:
    assert encode(load_tokenizer(), text).ids == ids


def test_the_vocabulary_is_the_published_one() -> None:
    digest = hashlib.sha256(VOCABULARY.read_bytes()).hexdigest()
    assert digest == "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"


def test_a_lone_surrogate_counts_as_a_question_mark_and_shifts_nothing() -> None:
    tokens = encode(load_tokenizer(), "a\ud800b café")
    assert tokens.tokens == ["[CLS]", "a", "?", "b", "cafe", "[SEP]"]
    assert tokens.offsets[4] == (4, 8)
