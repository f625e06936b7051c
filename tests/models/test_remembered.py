"""Token vectors that are kept: the same as the first time, bounded, by how the text is cut."""

import numpy as np

from crag_graph.models.local.minilm import MiniLM
from crag_graph.models.local.remembered import RememberedVectors


class Counting(MiniLM):
    """The encoder, which writes down what it is asked."""

    def __init__(self):
        super().__init__()
        self.asked: list[str] = []

    def token_vectors(self, texts, *, keep="start"):
        self.asked.extend(texts)
        return super().token_vectors(texts, keep=keep)


def test_a_text_is_encoded_once_and_has_the_same_vectors_again():
    model = Counting()
    remembered = RememberedVectors(model)
    first = remembered.token_vectors(["the dam was built", "bees make honey"])
    again = remembered.token_vectors(["bees make honey", "a third text", "the dam was built"])
    assert model.asked == ["the dam was built", "bees make honey", "a third text"]
    assert np.array_equal(first[0].vectors, again[2].vectors)
    assert np.array_equal(first[0].offsets, again[2].offsets)
    assert np.array_equal(first[1].pooled, again[0].pooled)


def test_a_text_that_is_asked_twice_at_once_is_encoded_once():
    model = Counting()
    one, two = RememberedVectors(model).token_vectors(["bees make honey"] * 2)
    assert model.asked == ["bees make honey"]
    assert np.array_equal(one.vectors, two.vectors)


def test_what_was_not_used_for_longest_goes_first():
    model = Counting()
    remembered = RememberedVectors(model, most_tokens=7)
    remembered.token_vectors(["bees make honey"])  # three tokens
    remembered.token_vectors(["dams hold water"])  # three
    remembered.token_vectors(["bees make honey"])
    remembered.token_vectors(["rain fills rivers"])  # makes nine
    remembered.token_vectors(["bees make honey"])
    assert model.asked.count("bees make honey") == 1
    remembered.token_vectors(["dams hold water"])
    assert model.asked.count("dams hold water") == 2


def test_ends_cut_otherwise_are_another_text():
    model = Counting()
    remembered = RememberedVectors(model)
    long = " ".join(f"word{number}" for number in range(400))
    start = remembered.token_vectors([long], keep="start")[0]
    both = remembered.token_vectors([long], keep="both_ends")[0]
    assert model.asked == [long, long]
    assert start.offsets[-1, 1] < both.offsets[-1, 1] == len(long)


def test_vectors_are_those_of_the_encoder_but_for_rounding():
    text = "The Harwell dam was built in 1931."
    exact = MiniLM().token_vectors([text])[0]
    kept = RememberedVectors(MiniLM()).token_vectors([text])[0]
    assert kept.vectors.dtype == np.float32
    assert np.abs(kept.vectors - exact.vectors).max() < 2e-3
