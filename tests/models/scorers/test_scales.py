import math
import sys

import pytest

from crag_graph.errors import ConfigurationError
from crag_graph.models.scorers.base import Calibration, ScoreScale
from crag_graph.models.scorers.folder import Facts, as_folder, content_hash
from crag_graph.models.scorers.heads import log_odds, positive_label


@pytest.mark.parametrize(
    ("name", "raw", "unit"),
    [
        ("logit", 0.0, 0.5),
        ("logit", 900.0, 1.0),
        ("logit", -900.0, 0.0),
        ("unit", 0.25, 0.25),
        ("unit", 1.2, None),
        ("unit", -0.1, None),
        ("signed", -1.0, 0.0),
        ("signed", 0.0, 0.5),
        ("signed", 1.0, 1.0),
        ("signed", 1.07, 1.0),  # a regression goes beyond what it was taught
        ("signed", -1.3, 0.0),
        ("logit", math.nan, None),
        ("logit", math.inf, None),
        ("logit", None, None),
        ("logit", True, None),
    ],
)
def test_raw_scores_map_onto_the_internal_scale(name, raw, unit):
    found = ScoreScale(name=name).to_unit(raw)
    assert found == (unit if unit is None else pytest.approx(unit, abs=1e-9))


def test_a_calibration_takes_the_place_of_the_mapping():
    scale = ScoreScale(name="unit", calibration=Calibration(slope=2.0, intercept=-1.0))
    assert scale.to_unit(0.5) == pytest.approx(0.5)
    assert scale.to_unit(3.0) == pytest.approx(1 / (1 + math.exp(-5)))
    assert str(scale) != str(ScoreScale(name="unit"))


@pytest.mark.parametrize(
    ("names", "count", "place"),
    [
        ({}, 1, 0),
        ({}, 2, 1),
        ({0: "LABEL_0", 1: "LABEL_1"}, 2, 1),
        ({0: "entailment", 1: "not_entailment"}, 2, 0),
        ({0: "contradiction", 1: "entailment", 2: "neutral"}, 3, 1),
        ({0: "Relevant", 1: "Irrelevant"}, 2, 0),
    ],
)
def test_the_label_that_means_an_answer(names, count, place):
    assert positive_label(names, count) == place


def test_a_label_may_be_named_and_must_be_where_none_is_known():
    assert positive_label({0: "good", 1: "bad", 2: "ugly"}, 3, wanted="GOOD") == 0
    with pytest.raises(ConfigurationError, match=r"scorer\.toml"):
        positive_label({0: "good", 1: "bad", 2: "ugly"}, 3)
    with pytest.raises(ConfigurationError, match="does not say"):
        positive_label({0: "good", 1: "bad"}, 2, wanted="best")


@pytest.mark.parametrize("outputs", [[1.0, 3.0], [0.5, -2.0, 4.0], [700.0, -700.0]])
def test_log_odds_are_those_of_the_softmax(outputs):
    for place in range(len(outputs)):
        odds = log_odds(outputs, place)
        total = sum(math.exp(value - max(outputs)) for value in outputs)
        share = math.exp(outputs[place] - max(outputs)) / total
        assert odds is not None
        assert ScoreScale().to_unit(odds) == pytest.approx(share, abs=1e-12)


def test_one_output_is_its_own_log_odds_and_nan_is_none():
    assert log_odds([1.5], 0) == 1.5
    assert log_odds([math.nan], 0) is None
    assert log_odds([1.0, math.inf], 1) is None


def test_a_folder_says_how_long_a_text_may_be(tmp_path):
    assert Facts.read(tmp_path).max_tokens == 512
    (tmp_path / "config.json").write_text(
        '{"model_type": "xlm-roberta", "max_position_embeddings": 514}'
    )
    (tmp_path / "tokenizer_config.json").write_text('{"model_max_length": 1e30}')
    assert Facts.read(tmp_path).max_tokens == 512
    (tmp_path / "tokenizer_config.json").write_text('{"model_max_length": 128}')
    assert Facts.read(tmp_path).max_tokens == 128
    (tmp_path / "scorer.toml").write_text("max_tokens = 64")
    assert Facts.read(tmp_path).max_tokens == 64


def test_the_own_file_of_a_folder_is_read(tmp_path):
    (tmp_path / "scorer.toml").write_text(
        'scale = "signed"\nlabel = "yes"\n[calibration]\nslope = 1.5\nintercept = -0.25\n'
    )
    facts = Facts.read(tmp_path)
    assert facts.scale == ScoreScale(
        name="signed", calibration=Calibration(slope=1.5, intercept=-0.25)
    )
    assert facts.label == "yes"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("scales = 1", "scales"),
        ('scale = "percent"', "scale"),
        ("max_tokens = 2", "max_tokens"),
        ("max_tokens = true", "max_tokens"),
        ("label = 1", "label"),
        ("calibration = 3", "calibration"),
        ("[calibration]\nslope = 1", "calibration"),
        ("[calibration]\nslope = -1\nintercept = 0", "slope above 0"),
        ("[calibration]\nslope = 1\nintercept = nan", "calibration"),
        ("scale = ", "cannot be read"),
    ],
)
def test_a_field_that_cannot_work_is_named(tmp_path, text, said):
    (tmp_path / "scorer.toml").write_text(text)
    with pytest.raises(ConfigurationError, match=said) as caught:
        Facts.read(tmp_path)
    assert "scorer.toml" in str(caught.value)


def test_the_hash_of_a_folder_follows_its_files(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/model.onnx").write_bytes(b"weights")
    first = content_hash(tmp_path)
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache/lock").write_text("x")
    assert content_hash(tmp_path) == first
    (tmp_path / "sub/model.onnx").write_bytes(b"Weights")
    assert content_hash(tmp_path) != first


def test_a_path_is_told_from_a_name(tmp_path):
    assert as_folder(str(tmp_path)) == tmp_path
    assert as_folder("cross-encoder/ms-marco-MiniLM-L6-v2") is None
    missing = ["./missing", "models/t5/final", str(tmp_path / "missing")]
    if sys.platform != "win32":
        missing.append("~/no/such/folder")
    for name in missing:
        with pytest.raises(ConfigurationError, match="does not exist"):
            as_folder(name)
