"""Scores are paid for once: kept as they come, found again, and never those of something else."""

import contextlib
import sqlite3
from pathlib import Path

import pytest

from crag_graph.calibration import ScoreStore, calibrate, read_labels
from crag_graph.calibration.run import Plan
from crag_graph.errors import EvaluationError, InputError, StoreDamagedError, StoreError
from crag_graph.evaluators.base import Passage
from crag_graph.settings import Settings
from tests.fakes.collaborators import StubEvaluator, StubRetriever, doc, services

PASSAGES = [Passage(id="a", text="one"), Passage(id="b", text="two", title="t")]


def labels_file(tmp_path: Path, count: int = 30) -> Path:
    rows = [f"question {n},{'yes' if n % 2 else 'no'}" for n in range(count)]
    path = tmp_path / "labels.csv"
    path.write_text("question,should_answer\n" + "\n".join(rows), encoding="utf-8")
    return path


def graded(passage: Passage) -> float:
    number = int(passage.text.split()[-1])
    return (0.8 if number % 2 else 0.2) + (number % 7) / 100


def stub_services(evaluator: StubEvaluator):
    retriever = StubRetriever(lambda asked: [doc("d", f"about {asked.split()[-1]}")])
    return services(retriever=retriever, evaluator=evaluator)


def test_scores_come_back_in_order_after_reopening(tmp_path: Path):
    path = tmp_path / "deep" / "scores.sqlite"
    with ScoreStore(path) as store:
        assert store.get("e", "q", PASSAGES) is None
        store.put("e", "q", PASSAGES, [0.25, None])
    with ScoreStore(path) as store:
        assert store.get("e", "q", PASSAGES) == [0.25, None]


def test_scores_of_anything_else_are_not_found():
    with ScoreStore(None) as store:
        store.put("e", "q", PASSAGES, [0.1, 0.2])
        assert store.get("other", "q", PASSAGES) is None
        assert store.get("e", "Q", PASSAGES) is None
        assert store.get("e", "q", PASSAGES[::-1]) is None  # candidates are weighed together
        assert store.get("e", "q", PASSAGES[:1]) is None
        assert store.get("e", "q", [Passage(id="x", text="one"), PASSAGES[1]]) == [0.1, 0.2]


@pytest.mark.parametrize("content", [b"not a database, by any means" * 50, b"other"])
def test_a_file_that_holds_no_scores_is_one_sentence(tmp_path: Path, content: bytes):
    path = tmp_path / "scores.sqlite"
    if content == b"other":
        with contextlib.closing(sqlite3.connect(path)) as other:
            other.execute("CREATE TABLE mine (x)")
    else:
        path.write_bytes(content)
    with pytest.raises(StoreDamagedError, match="move it away"):
        ScoreStore(path)


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path: Path):
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(StoreError, match="CRAG_HOME"):
        ScoreStore(tmp_path / "file" / "scores.sqlite")


def test_another_objective_grades_nothing_again(tmp_path: Path):
    evaluator = StubEvaluator(graded)
    labels = read_labels(labels_file(tmp_path))
    with ScoreStore(tmp_path / "s.sqlite") as store:
        first = calibrate(labels, services=stub_services(evaluator), store=store)
        assert len(evaluator.calls) == 30
        again = calibrate(labels, services=stub_services(evaluator), store=store)
    assert len(evaluator.calls) == 30
    assert (first.reused, again.reused) == (0, 30)
    assert first.separable
    assert (again.upper, again.lower) == (first.upper, first.lower)


@pytest.mark.parametrize("end", [KeyboardInterrupt, EvaluationError("down", reason="transport")])
def test_what_was_graded_before_the_end_is_kept(tmp_path: Path, end):
    path, labels = tmp_path / "s.sqlite", read_labels(labels_file(tmp_path))

    class Ends(StubEvaluator):
        def evaluate(self, *args, **kwargs):
            if len(self.calls) == 12:
                raise end
            return super().evaluate(*args, **kwargs)

    with pytest.raises((KeyboardInterrupt, EvaluationError)) as caught, ScoreStore(path) as store:
        calibrate(labels, services=stub_services(Ends(graded)), store=store)
    if isinstance(caught.value, EvaluationError):
        assert caught.value.message.startswith("grading stopped at the question 'question 12'")
        assert "run the same command again" in caught.value.message
    rest = StubEvaluator(graded)
    with ScoreStore(path) as store:
        # The fingerprint is that of the class's name, which differs between the two here.
        store._connection.execute("UPDATE score SET evaluator = replace(evaluator, ?, ?)",
                                  (Ends.__qualname__, "StubEvaluator"))  # fmt: skip
        result = calibrate(labels, services=stub_services(rest), store=store)
    assert len(rest.calls) == 18
    assert result.reused == 12


def test_a_passage_that_failed_is_tried_again(tmp_path: Path):
    class Fails(StubEvaluator):
        def _grade(self, document_id, score):
            return {**super()._grade(document_id, score), "status": "failed", "score": None}

    labels = read_labels(labels_file(tmp_path, 12))
    with ScoreStore(tmp_path / "s.sqlite") as store:
        with pytest.raises(InputError, match="0 graded questions"):
            calibrate(labels, services=stub_services(Fails(graded)), store=store)
        rows = store._connection.execute("SELECT count(*) FROM score").fetchone()
    assert rows == (0,)


@pytest.mark.parametrize(("mode", "calls"), [("fused", 30), ("per_passage", 90)])
def test_what_a_model_costs_is_told_before_it_is_spent(tmp_path: Path, mode, calls):
    evaluator = StubEvaluator(lambda _: 0.5, name="llm")
    found = [doc(name) for name in ("a", "b", "c")]
    plans: list[Plan] = []

    def refuse(plan: Plan) -> None:
        plans.append(plan)
        raise InputError("no")

    with pytest.raises(InputError, match="no"):
        calibrate(
            labels_file(tmp_path),
            services=services(retriever=StubRetriever(found), evaluator=evaluator),
            settings=Settings(evaluation_mode=mode),
            approve=refuse,
        )
    assert evaluator.calls == []
    assert (plans[0].questions, plans[0].waiting, plans[0].passages) == (30, 30, 90)
    assert plans[0].calls == calls


def test_questions_without_any_passage_are_left_out_and_told(tmp_path: Path):
    empty = ("question 3", "question 4")
    retriever = StubRetriever(
        lambda asked: [] if asked in empty else [doc("d", f"about {asked.split()[-1]}")]
    )
    result = calibrate(
        labels_file(tmp_path),
        services=services(retriever=retriever, evaluator=StubEvaluator(graded)),
    )
    assert result.sample.ungraded == 2
    assert "2 questions without any grade were left out" in result.notes


def test_progress_counts_questions(tmp_path: Path):
    told: list[tuple[int, int]] = []
    calibrate(
        labels_file(tmp_path, 12),
        services=stub_services(StubEvaluator(graded)),
        progress=lambda done, total: told.append((done, total)),
    )
    assert told == [(n, 12) for n in range(1, 13)]
