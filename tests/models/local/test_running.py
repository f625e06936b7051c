"""Threads, sessions and batches of the models that run on the processor."""

import pytest

from crag_graph.errors import ConfigurationError
from crag_graph.models.local.running import batches_of_like_length, processors


def test_the_threads_of_local_models_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRAG_SCORER_THREADS", "3")
    assert processors() == 3
    monkeypatch.setenv("CRAG_SCORER_THREADS", " ")
    assert 1 <= processors() <= 8


@pytest.mark.parametrize("given", ["0", "257", "two", "-1", "1.5"])
def test_threads_that_are_no_number_are_refused(
    monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    monkeypatch.setenv("CRAG_SCORER_THREADS", given)
    with pytest.raises(ConfigurationError, match="CRAG_SCORER_THREADS must be a whole number"):
        processors()


def test_texts_of_like_length_go_together_up_to_the_bound() -> None:
    batches = list(batches_of_like_length([50, 3, 4, 60, 5], most_tokens=100))
    assert batches == [[1, 2, 4], [0], [3]]


def test_a_text_longer_than_a_batch_goes_alone_and_none_is_lost() -> None:
    batches = list(batches_of_like_length([900, 10, 900], most_tokens=100))
    assert batches == [[1], [0], [2]]
    assert list(batches_of_like_length([], most_tokens=100)) == []
