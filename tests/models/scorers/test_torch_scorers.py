import threading

import pytest

from crag_graph.errors import ConfigurationError, EvaluationError
from crag_graph.models.scorers.base import PairScorer
from crag_graph.models.scorers.loading import load_scorer
from crag_graph.models.scorers.t5 import T5Scorer
from crag_graph.models.scorers.transformer import SentenceTransformerScorer
from tests.fakes.torch_libraries import install, uninstall

NAME = "cross-encoder/ms-marco-MiniLM-L6-v2"


def lengths(text):
    return [float(len(text))]


def test_a_cross_encoder_is_loaded_by_name_and_gives_raw_scores(monkeypatch):
    libraries = install(monkeypatch, lengths)
    made = SentenceTransformerScorer(NAME)
    assert made.name == "cross-encoder:ms-marco-MiniLM-L6-v2"
    assert libraries.loaded == []  # nothing before it is asked
    assert isinstance(made, PairScorer)
    assert made.score("q", ["a", "bcd"]) == [1.0, 3.0]
    assert made.score("q", []) == []
    assert libraries.loaded == [(NAME, {})]
    assert made.max_tokens == 64
    assert made.count_tokens("three words here") == 3
    assert made.fingerprint() == f"sentence-transformers 6.2.0:{NAME}@abc123:logit"


def test_several_labels_are_turned_into_odds_by_their_names(monkeypatch):
    install(monkeypatch, lambda text: [2.0, 0.0], {0: "entailment", 1: "not_entailment"})
    assert SentenceTransformerScorer(NAME).score("q", ["a"]) == [2.0]


def test_a_folder_brings_its_own_scale(monkeypatch, tmp_path):
    libraries = install(monkeypatch, lengths)
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "scorer.toml").write_text("[calibration]\nslope = 1\nintercept = -3\n")
    made = SentenceTransformerScorer(str(tmp_path))
    assert made.scale.to_unit(3.0) == pytest.approx(0.5)
    made.score("q", ["a"])
    assert libraries.loaded == [(str(tmp_path), {})]
    assert made.fingerprint().endswith(str(made.scale))


async def test_both_leave_the_event_loop_alone(monkeypatch):
    libraries = install(monkeypatch, lengths)
    assert await SentenceTransformerScorer(NAME).ascore("q", ["ab"]) == [2.0]
    assert await T5Scorer("org/evaluator").ascore("q", ["ab"]) == [float(len("q [SEP] ab"))]
    assert threading.get_ident() not in libraries.threads


def test_the_papers_evaluator_reads_question_and_passage_as_one_text(monkeypatch):
    scores = {"q [SEP] good": [0.9], "q [SEP] of two lines": [-1.2], "q [SEP] odd": [float("nan")]}
    libraries = install(monkeypatch, scores.__getitem__)
    made = T5Scorer("org/evaluator")
    assert isinstance(made, PairScorer)
    assert made.name == "t5:evaluator"
    assert made.score("q", ["good", "of two\nlines", "odd"]) == [0.9, -1.2, None]
    assert made.scale.to_unit(0.9) == pytest.approx(0.95)
    assert libraries.loaded == [("org/evaluator", {"num_labels": 1})]
    assert made.max_tokens == 512
    assert made.fingerprint() == "t5 5.24.0:org/evaluator@abc123:signed"


def test_texts_of_like_length_share_a_batch(monkeypatch):
    libraries = install(monkeypatch, lengths)
    texts = ["x" * (1 + at * 7 % 40) for at in range(40)]
    expected = [float(len("q [SEP] ") + len(text)) for text in texts]
    assert T5Scorer("org/evaluator").score("q", texts) == expected
    assert [len(call) for call in libraries.calls] == [16, 16, 8]
    sizes = [len(text) for call in libraries.calls for text in call]
    assert sizes == sorted(sizes)


@pytest.mark.parametrize(
    ("kind", "extra"), [("cross-encoder", "cross-encoder"), ("t5", "t5")], ids=str
)
def test_a_missing_library_is_told_with_its_extra(monkeypatch, kind, extra):
    uninstall(monkeypatch)
    with pytest.raises(ConfigurationError, match=rf"crag-graph\[{extra}\]"):
        load_scorer(kind, NAME, {})


@pytest.mark.parametrize("kind", ["cross-encoder", "t5"])
def test_a_wrong_path_is_told_before_a_library_that_is_missing(monkeypatch, tmp_path, kind):
    uninstall(monkeypatch)
    (tmp_path / "file").write_text("no model")
    (tmp_path / "empty").mkdir()
    for name, said in (
        ("missing", "does not exist"),
        ("file", "is not a folder"),
        ("empty", "holds no model"),
    ):
        with pytest.raises(ConfigurationError, match=said) as caught:
            load_scorer(kind, str(tmp_path / name), {})
        assert "pip install" not in caught.value.message


@pytest.mark.parametrize("kind", [SentenceTransformerScorer, T5Scorer])
def test_a_model_that_cannot_be_loaded_or_run_is_told(monkeypatch, kind):
    libraries = install(monkeypatch, lengths)
    libraries.failure = OSError("no such model\nlong story")
    with pytest.raises(ConfigurationError, match=r"cannot be loaded \(no such model\)"):
        kind("org/evaluator").score("q", ["a"])
    libraries.failure = None

    def explode(text):
        raise RuntimeError("out of memory")

    libraries.outputs = explode
    with pytest.raises(EvaluationError, match=r"cannot be run \(out of memory\)"):
        kind("org/evaluator").score("q", ["a"])


def test_a_folder_with_an_onnx_file_needs_no_such_library(monkeypatch, tmp_path):
    from crag_graph.models.scorers.onnx import OnnxScorer
    from tests.fakes.onnx_models import onnx_folder

    uninstall(monkeypatch)
    folder = onnx_folder(tmp_path, {"a": 1.0})
    assert isinstance(
        load_scorer("cross-encoder", str(folder), {"CRAG_SCORER_THREADS": "1"}), OnnxScorer
    )
    with pytest.raises(ConfigurationError, match="CRAG_SCORER_THREADS"):
        load_scorer("cross-encoder", str(folder), {"CRAG_SCORER_THREADS": "many"})
    with pytest.raises(ConfigurationError, match="name after the colon"):
        load_scorer("t5", "", {})
