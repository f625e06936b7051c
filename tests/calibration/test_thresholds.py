"""How sure the thresholds are: intervals, held-out figures, and what does not separate."""

from pathlib import Path

import numpy as np
import pytest

from crag_graph.calibration import Objective
from crag_graph.calibration.labels import LabelledPassage, LabelledQuestion
from crag_graph.calibration.resampling import auc, draws, held_out_actions
from crag_graph.calibration.sample import (
    RULES,
    Aggregated,
    Rule,
    Sample,
    choose_unit,
    make_sample,
)
from crag_graph.calibration.sweep import sweep
from crag_graph.calibration.thresholds import find_thresholds
from crag_graph.errors import InputError
from crag_graph.state import Action


def question(name: str, wanted: Action, passages: list[Action | None] | None = None):
    labelled = tuple(
        LabelledPassage(text=f"{name} {n}", wanted=each) for n, each in enumerate(passages or [])
    )
    return LabelledQuestion(text=name, wanted=wanted, passages=labelled)


def sample_of(wanted: list[Action], scores: list[list[float]]) -> Sample:
    questions = [question(f"q{n}", action) for n, action in enumerate(wanted)]
    return make_sample(questions, scores, unit="question")


def two_classes(count: int, *, apart: float, seed: int = 1, passages: int = 1) -> Sample:
    random = np.random.default_rng(seed)
    wanted: list[Action] = ["correct", "incorrect"] * (count // 2)
    centre = [0.5 + apart / 2 if each == "correct" else 0.5 - apart / 2 for each in wanted]
    scores = [
        np.clip(random.normal(each, 0.12, passages), 0.001, 0.999).tolist() for each in centre
    ]
    return sample_of(wanted, scores)


def test_what_separates_is_found_with_narrow_intervals_and_an_honest_figure():
    found = find_thresholds(two_classes(100, apart=0.6), Objective())
    assert found.why_not == ()
    assert 0.3 < found.lower.value <= found.upper.value < 0.7
    for figure in (found.upper, found.lower):
        assert figure.low <= figure.value <= figure.high
        assert figure.high - figure.low < 0.3
    assert found.auc.low > 0.95
    assert found.held_out.objective.value > 0.9
    assert found.p_value < 0.01


@pytest.mark.parametrize("seed", range(3))
def test_scores_that_say_nothing_are_not_separable(seed):
    found = find_thresholds(two_classes(60, apart=0.0, seed=seed), Objective())
    assert found.why_not
    assert any("0.5, which is chance" in why or "shuffled" in why for why in found.why_not)


def test_held_out_figures_do_not_flatter():
    sample = two_classes(40, apart=0.08, seed=7, passages=4)
    found = find_thresholds(sample, Objective())
    assert found.held_out.objective.value < found.achieved.objective.value


def test_few_labels_make_wide_intervals():
    few = find_thresholds(two_classes(20, apart=0.15), Objective())
    many = find_thresholds(two_classes(400, apart=0.15), Objective())
    assert few.upper.high - few.upper.low > many.upper.high - many.upper.low
    assert few.auc.high - few.auc.low > many.auc.high - many.auc.low


def test_where_all_few_labels_separate_the_thresholds_are_still_unsure():
    found = find_thresholds(two_classes(16, apart=0.7), Objective())
    assert found.achieved.objective.value == pytest.approx(1)
    assert found.upper.high - found.upper.low > 0.05


def test_the_seed_decides_everything():
    sample = two_classes(40, apart=0.3)
    once, again = (find_thresholds(sample, Objective(), seed=5) for _ in range(2))
    assert once == again
    other = find_thresholds(sample, Objective(), seed=6)
    assert (other.upper.value, other.lower.value) == (once.upper.value, once.lower.value)
    assert other.upper.low != once.upper.low or other.auc.low != once.auc.low


def test_the_aggregate_that_tells_apart_is_chosen_and_the_first_of_equals():
    # One high score is everywhere; only the second best passage differs.
    wanted: list[Action] = ["correct", "incorrect"] * 20
    scores = [[0.9, 0.8 if each == "correct" else 0.2, 0.1] for each in wanted]
    found = find_thresholds(sample_of(wanted, scores), Objective())
    assert found.choice.rule in (Rule("mean"), Rule("kth_best", 2))
    alike = find_thresholds(two_classes(40, apart=0.5), Objective())
    assert alike.choice.rule == Rule("max")


def test_three_classes_are_weighed_together():
    wanted: list[Action] = ["correct", "ambiguous", "incorrect"] * 15
    centres: dict[Action, float] = {"correct": 0.85, "ambiguous": 0.5, "incorrect": 0.15}
    random = np.random.default_rng(0)
    scores = [[float(np.clip(random.normal(centres[each], 0.06), 0, 1))] for each in wanted]
    sample = sample_of(wanted, scores)
    found = find_thresholds(sample, Objective(three_way=True))
    assert 0.2 < found.lower.value < 0.5 < found.upper.value < 0.8
    assert found.achieved.agreement.value > 0.95


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        (["correct", "incorrect"] * 4, "8 graded questions with labels are too few"),
        (["correct"], "^1 graded question with labels is too few"),
        (["correct"] * 12, "add questions that the collection cannot answer"),
        (["incorrect"] * 12, "add questions that it can answer"),
    ],
)
def test_too_few_labels_or_one_class_are_refused(wanted: list[Action], sentence: str):
    with pytest.raises(InputError, match=sentence):
        find_thresholds(sample_of(wanted, [[0.5]] * len(wanted)), Objective())


def test_equal_scores_are_not_separable():
    wanted: list[Action] = ["correct", "incorrect"] * 10
    found = find_thresholds(sample_of(wanted, [[0.5]] * 20), Objective())
    assert found.why_not


def test_auc_is_the_chance_of_the_right_order_and_ties_count_half():
    scores = np.array([0.1, 0.5, 0.5, 0.9])
    assert auc(scores, np.array([0, 0, 2, 2]))[0] == pytest.approx(3.5 / 4)
    assert auc(scores, np.array([0, 1, 1, 2]))[0] == 1.0
    assert auc(scores, np.array([2, 2, 2, 2]))[0] == 0.5
    doubled = auc(scores, np.array([0, 0, 2, 2]), np.array([[1.0, 0.0, 2.0, 1.0]]))
    assert doubled[0] == 1.0


def test_auc_is_that_of_all_pairs_under_any_weights():
    random = np.random.default_rng(5)
    scores, wanted = random.integers(0, 9, 60) / 8, random.integers(0, 3, 60)
    weights = random.integers(0, 3, (4, 60)).astype(np.float64)
    better = wanted[:, None] > wanted[None, :]
    won = (scores[:, None] > scores[None, :]) + 0.5 * (scores[:, None] == scores[None, :])
    expected = [row @ (better * won) @ row / (row @ better @ row) for row in weights]
    assert auc(scores, wanted, weights) == pytest.approx(expected)


def test_hundreds_of_thousands_of_units_fit_into_memory():
    count = 200_000  # a table of all pairs would take gigabytes by the hundred
    scores = np.linspace(0, 1, count)
    assert auc(scores, (scores > 0.5).astype(np.intp) * 2)[0] == 1.0
    units = Aggregated(score=scores, best=scores)
    pair = sweep(units, (scores > 0.5).astype(np.intp) * 2, Objective(), most=96)
    assert pair is not None
    assert pair.upper == pytest.approx(0.5, abs=0.02)


def test_passages_of_one_question_are_drawn_and_held_out_together():
    questions = [question(f"q{n}", "correct", ["correct", "incorrect", None]) for n in range(12)]
    scores = [[0.9, 0.1, 0.5]] * 12
    sample = make_sample(questions, scores, unit="passage")
    assert len(sample.wanted) == 24
    weights = draws(sample, 20, seed=0)
    assert (weights[:, 0::2] == weights[:, 1::2]).all()
    actions = held_out_actions(sample, Objective(), folds=3, repeats=2, seed=0)
    assert (actions == sample.wanted).all()


def test_passages_are_the_unit_only_where_all_questions_want_the_same():
    relevant: list[Action | None] = ["correct", "incorrect"]
    same = [question(f"q{n}", "correct", relevant) for n in range(10)]
    mixed = [*same[:5], *(question(f"n{n}", "incorrect", ["incorrect"]) for n in range(5))]
    assert choose_unit(same) == "passage"
    assert choose_unit(mixed) == "question"
    assert choose_unit([question(f"q{n}", "correct") for n in range(10)]) == "question"


def test_what_has_no_grade_is_left_out_and_counted():
    questions = [question("a", "correct"), question("b", "incorrect"), question("c", "correct")]
    sample = make_sample(questions, [[0.9, None], [None], []], unit="question")
    assert (len(sample.wanted), sample.ungraded) == (1, 2)
    assert set(sample.rules) == {RULES[0]}


def test_the_package_needs_no_scipy():
    import crag_graph.calibration

    folder = Path(crag_graph.calibration.__file__).parent
    assert all("scipy" not in path.read_text(encoding="utf-8") for path in folder.glob("*.py"))
