import asyncio
import os
import threading

import pytest

from crag_graph.errors import ConfigurationError
from crag_graph.models.scorers.base import PairScorer
from crag_graph.models.scorers.onnx import OnnxScorer
from tests.fakes.onnx_models import onnx_folder

WEIGHTS = {"inlet": 1.0, "closes": 2.0, "bread": -3.0, "which": 100.0}
TEXTS = ["inlet closes first", "bread", "inlet inlet", "nothing known"]


def scorer(folder, **more):
    return OnnxScorer(onnx_folder(folder, WEIGHTS, **more), threads=1)


def test_each_text_has_its_own_score_in_the_order_given(tmp_path):
    made = scorer(tmp_path / "tiny")
    assert isinstance(made, PairScorer)
    assert made.name == "cross-encoder:tiny"
    assert made.score("which closes", TEXTS) == [3.0, -3.0, 2.0, 0.0]
    assert made.score("", TEXTS[:1]) == [3.0]
    assert made.score("which", []) == []


def test_lengths_do_not_mix_up_texts_or_padding(tmp_path):
    made = scorer(tmp_path)
    texts = ["bread " * (1 + at * 37 % 90) for at in range(60)]
    assert made.score("which", texts) == [-3.0 * text.count("bread") for text in texts]


async def test_the_event_loop_goes_on_while_it_computes(tmp_path, monkeypatch):
    made = scorer(tmp_path)
    seen = []
    score = OnnxScorer.score
    monkeypatch.setattr(
        OnnxScorer,
        "score",
        lambda *given, **named: seen.append(threading.get_ident()) or score(*given, **named),
    )
    found = await asyncio.gather(*(made.ascore("which", TEXTS) for _ in range(4)))
    assert found == [[3.0, -3.0, 2.0, 0.0]] * 4
    assert threading.get_ident() not in seen


@pytest.mark.parametrize("model", ["onnx/model.onnx", "model_quantized.onnx"])
def test_other_places_of_the_model_are_known(tmp_path, model):
    assert scorer(tmp_path, model=model).score("", ["closes"]) == [2.0]


def test_two_labels_are_a_softmax(tmp_path):
    weights = {"inlet": (0.0, 2.0), "bread": (1.0, 0.0)}
    made = OnnxScorer(onnx_folder(tmp_path, weights, labels=2), threads=1)
    assert made.score("q", ["inlet", "bread"]) == [2.0, -1.0]
    assert made.scale.to_unit(2.0) == pytest.approx(0.8808, abs=1e-4)


def test_the_entailment_label_counts_wherever_it_stands(tmp_path):
    weights = {"inlet": (3.0, 0.0, 0.0)}
    labels = {0: "entailment", 1: "neutral", 2: "contradiction"}
    made = OnnxScorer(onnx_folder(tmp_path, weights, labels=labels), threads=1)
    (score,) = made.score("q", ["inlet"])
    assert made.scale.to_unit(score) == pytest.approx(20.0855 / 22.0855, abs=1e-4)


def test_the_own_file_sets_scale_and_calibration(tmp_path):
    toml = 'scale = "unit"\n[calibration]\nslope = 2.0\nintercept = 0.0\n'
    made = OnnxScorer(onnx_folder(tmp_path, {"half": 0.5}, toml=toml), threads=1)
    assert made.score("q", ["half"]) == [0.5]
    assert made.scale.to_unit(0.5) == pytest.approx(0.7311, abs=1e-4)


def test_what_is_too_long_is_cut_at_its_end_and_still_scored(tmp_path):
    made = scorer(tmp_path, max_tokens=16)
    assert made.max_tokens == 16
    long = "closes " * 5 + "nothing " * 40 + "bread"
    assert made.score("which", [long]) == [10.0]
    assert made.score("which " * 50, ["closes first"]) != [None]
    assert made.count_tokens("inlet closes first") == 3


def test_a_text_that_no_tokenizer_takes_is_scored_all_the_same(tmp_path):
    assert scorer(tmp_path).score("q\ud800", ["closes \udfff"]) == [2.0]


def test_the_fingerprint_follows_files_and_scale(tmp_path):
    one, same = scorer(tmp_path / "a"), scorer(tmp_path / "b")
    other = OnnxScorer(onnx_folder(tmp_path / "c", {"inlet": 1.5}), threads=1)
    scaled = scorer(tmp_path / "d", toml='scale = "unit"')
    prints = [made.fingerprint() for made in (one, same, other, scaled)]
    assert prints[0] == prints[1]
    assert len(set(prints)) == 3
    assert str(tmp_path) not in prints[0]


def test_a_number_that_is_none_is_no_score(tmp_path):
    made = OnnxScorer(onnx_folder(tmp_path, {"odd": float("nan"), "inlet": 1.0}), threads=1)
    assert made.score("q", ["odd", "inlet"]) == [None, 1.0]


def test_a_folder_that_is_none_of_a_model_is_refused(tmp_path):
    with pytest.raises(ConfigurationError, match=r"holds no model\.onnx"):
        OnnxScorer(tmp_path)
    (tmp_path / "model.onnx").write_bytes(b"no model")
    with pytest.raises(ConfigurationError, match=r"tokenizer\.json"):
        OnnxScorer(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ConfigurationError, match="cannot be loaded"):
        OnnxScorer(tmp_path).score("q", ["a"])
    onnx_folder(tmp_path, WEIGHTS)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ConfigurationError, match=r"tokenizer\.json cannot be read"):
        OnnxScorer(tmp_path).score("q", ["a"])


def test_threads_may_be_set_and_must_make_sense(tmp_path):
    folder = onnx_folder(tmp_path, WEIGHTS)
    assert OnnxScorer(folder, threads=2).score("", ["closes"]) == [2.0]
    with pytest.raises(ConfigurationError, match="threads"):
        OnnxScorer(folder, threads=0)


def test_a_forked_child_loads_the_model_anew(tmp_path, monkeypatch):
    made = scorer(tmp_path)
    made.score("q", ["closes"])
    before = made._loaded
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert made.score("q", ["closes"]) == [2.0]
    assert made._loaded is not before
