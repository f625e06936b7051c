"""The trained cross-encoder: found, checked, padded without effect, averaged with the evidence."""

import itertools
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crag_graph.budget import Budget
from crag_graph.errors import ConfigurationError
from crag_graph.evaluators.base import Evaluation, Passage
from crag_graph.evaluators.local import LocalEvaluator
from crag_graph.evaluators.local import cross as local_cross
from crag_graph.evaluators.local.cross import CrossEncoder, find_model
from crag_graph.evaluators.local.features import PASSAGE_FEATURES, STRIP_FEATURES
from crag_graph.evaluators.local.pairs import INPUTS, Pair, stack
from crag_graph.models.local.running import open_session
from crag_graph.settings import Settings
from tests.fakes.grading import passages as passages_of

QUESTION = "When was the Harwell dam built?"
ANSWERS = "The Harwell dam was built in 1931. It holds back the river Ock."
SAME_TOPIC = "The Harwell dam holds back the river Ock. Many people visit it in summer."
OFF_TOPIC = "Bees make honey from nectar."


@pytest.fixture
def folder() -> Path:
    found = find_model()
    assert found is not None, "the checkout holds the model"
    return found


@pytest.fixture
def copied(folder: Path, tmp_path: Path) -> Path:
    for name in ("model.onnx", "scores.json"):
        shutil.copy(folder / name, tmp_path / name)
    return tmp_path


def passages(*texts: str) -> list[Passage]:
    return list(passages_of({f"p{at}": text for at, text in enumerate(texts)}))


def judged(evaluator: LocalEvaluator, question: str, found: list[Passage]) -> Evaluation:
    return evaluator.evaluate(question, found, settings=Settings(), budget=Budget())


def pair(*, asked: int, read: int, strips: int, seed: int) -> Pair:
    draw = np.random.default_rng(seed)

    def vectors(rows: int) -> Any:
        made = draw.normal(size=(rows, 384))
        return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)

    edges = [read * at // strips for at in range(strips + 1)]
    return Pair(
        question=vectors(asked),
        weights=np.full(asked, 1 / asked, dtype=np.float32),
        passage=vectors(read),
        alive=np.ones(read, dtype=bool),
        owned=tuple(itertools.pairwise(edges)),
        passage_features=draw.random(len(PASSAGE_FEATURES) + 1, dtype=np.float32),
        strip_features=draw.random((strips, len(STRIP_FEATURES) + 1), dtype=np.float32),
    )


def test_a_passage_that_answers_stands_above_one_on_the_topic_and_one_off_it() -> None:
    found = passages(ANSWERS, SAME_TOPIC, OFF_TOPIC)
    scores = [grade["score"] or 0.0 for grade in judged(LocalEvaluator(), QUESTION, found).grades]
    assert scores[0] > scores[1] > scores[2]


def test_it_is_used_where_it_is_there_and_can_be_left_out(folder: Path) -> None:
    found = passages(ANSWERS, SAME_TOPIC)
    default = judged(LocalEvaluator(), QUESTION, found)
    assert default == judged(LocalEvaluator(cross=folder), QUESTION, found)
    assert default != judged(LocalEvaluator(cross=None), QUESTION, found)


def test_without_the_package_the_evidence_alone_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_cross, "_MODULE", "there_is_no_such_module")
    monkeypatch.setattr(local_cross, "_CHECKOUT", Path("nowhere"))
    found = passages(ANSWERS, SAME_TOPIC)
    without = judged(LocalEvaluator(), QUESTION, found)
    assert without == judged(LocalEvaluator(cross=None), QUESTION, found)


def test_every_strip_has_a_score_between_0_and_1() -> None:
    found = passages(ANSWERS, SAME_TOPIC, OFF_TOPIC)
    scores = judged(LocalEvaluator(), QUESTION, found).strip_scores
    assert scores.keys() == {strip["id"] for passage in found for strip in passage.strips}
    assert all(0 <= score <= 1 for score in scores.values())


def test_a_passage_that_only_repeats_the_question_gets_nothing() -> None:
    grade = judged(LocalEvaluator(), QUESTION, passages(QUESTION, ANSWERS)).grades[0]
    assert grade["score"] == 0


def test_a_pair_has_the_same_logits_whatever_else_is_in_its_batch(folder: Path) -> None:
    session = open_session((folder / "model.onnx").read_bytes(), threads=1)
    short = pair(asked=5, read=12, strips=2, seed=1)
    long = pair(asked=30, read=200, strips=9, seed=2)
    alone = session.run(None, stack([short]))
    together = session.run(None, stack([long, short]))
    assert together[0][1] == pytest.approx(alone[0][0], abs=1e-4)
    assert together[1][1, :2] == pytest.approx(alone[1][0], abs=1e-4)


def test_a_batch_is_padded_and_says_what_is_padding() -> None:
    arrays = stack(
        [pair(asked=2, read=3, strips=1, seed=1), pair(asked=4, read=6, strips=2, seed=2)]
    )
    assert tuple(arrays) == INPUTS
    assert arrays["question"].shape == (2, 4, 384)
    assert arrays["question_alive"].sum(axis=1).tolist() == [2, 4]
    assert arrays["passage_alive"].sum(axis=1).tolist() == [3, 6]
    assert arrays["strips"].sum(axis=2).tolist() == [[3, 0], [3, 3]]


def test_attention_over_nothing_is_avoided() -> None:
    one = pair(asked=2, read=3, strips=1, seed=1)
    one.alive[:] = False
    assert stack([one])["passage_alive"].tolist() == [[True, False, False]]


def test_a_damaged_model_is_refused(copied: Path) -> None:
    weights = bytearray((copied / "model.onnx").read_bytes())
    weights[1000] ^= 1
    (copied / "model.onnx").write_bytes(weights)
    with pytest.raises(ConfigurationError, match="is damaged; install it again"):
        judged(LocalEvaluator(cross=copied), QUESTION, passages(ANSWERS))


def test_a_model_for_another_evidence_is_refused(copied: Path) -> None:
    fields = json.loads((copied / "scores.json").read_text())
    fields["evidence_sha256"] = "0" * 64
    (copied / "scores.json").write_text(json.dumps(fields))
    with pytest.raises(ConfigurationError, match="trained for another version"):
        judged(LocalEvaluator(cross=copied), QUESTION, passages(ANSWERS))


@pytest.mark.parametrize("damage", ["missing", "not JSON", "without a weight", "not a number"])
def test_scores_that_cannot_be_read_are_one_sentence(copied: Path, damage: str) -> None:
    file = copied / "scores.json"
    fields = json.loads(file.read_text())
    if damage == "missing":
        file.unlink()
    elif damage == "not JSON":
        file.write_text("{")
    elif damage == "not a number":
        fields["strip"]["weights"]["cross"] = float("nan")
        file.write_text(json.dumps(fields))
    else:
        del fields["passage"]["weights"]["cross"]
        file.write_text(json.dumps(fields))
    with pytest.raises(ConfigurationError, match="cannot be read"):
        judged(LocalEvaluator(cross=copied), QUESTION, passages(ANSWERS))


def test_the_model_is_loaded_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    monkeypatch.setattr(
        local_cross,
        "open_session",
        lambda model, *, threads: made.append(model) or open_session(model, threads=threads),
    )
    encoder = CrossEncoder(folder)
    assert encoder._load()[0] is encoder._load()[0]
    assert len(made) == 1
