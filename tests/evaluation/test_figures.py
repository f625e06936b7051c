"""Bootstrap intervals, and how actions agree with what should have been."""

import numpy as np
import pytest

from crag_graph.evaluation.bootstrap import Bootstrap
from crag_graph.evaluation.verdicts import balanced_accuracy, confusion, macro_f1, separation

ONE = np.ones((1, 6))


def test_a_ratio_is_pooled_and_its_interval_holds_it():
    figure = Bootstrap(100, seed=1).ratio([(1, 1)] * 40 + [(0, 1)] * 60)
    assert figure is not None
    assert (figure.value, figure.questions) == (0.4, 100)
    # The binomial standard error is 0.049: two of them on either side.
    assert figure.low == pytest.approx(0.3, abs=0.03)
    assert figure.high == pytest.approx(0.5, abs=0.03)
    assert Bootstrap(2, seed=1).ratio([(1, 3), (1, 1)]).value == 0.5


def test_the_seed_decides_the_draws():
    pairs = [(float(number % 3 == 0), 1.0) for number in range(50)]
    first, same, other = (Bootstrap(50, seed=seed).ratio(pairs) for seed in (1, 1, 2))
    assert first == same
    assert first != other


def test_what_was_not_measured_takes_no_part():
    draws = Bootstrap(3, seed=1)
    assert draws.ratio([(1, 1), None, None]).value == 1
    assert draws.ratio([(1, 1), None, None]).questions == 1
    assert draws.ratio([None, None, None]) is None
    assert draws.ratio([(0, 0), (0, 0), None]) is None
    assert Bootstrap(0, seed=1).ratio([]) is None


def test_a_difference_is_paired():
    ours = [(1, 1)] * 30 + [(0, 1)] * 20 + [None]
    theirs = [(1, 1)] * 20 + [(0, 1)] * 30 + [(1, 1)]
    figure = Bootstrap(51, seed=1).difference(ours, theirs)
    assert figure.value == pytest.approx(0.2)
    assert figure.questions == 50
    assert figure.low > 0  # unpaired, 30 of 50 against 20 of 50 would not be told apart
    same = Bootstrap(51, seed=1).difference(theirs, theirs)
    assert (same.low, same.high) == (0, 0)


JUDGED = [
    ("correct", True),
    ("correct", True),
    ("ambiguous", True),
    ("incorrect", False),
    ("correct", False),
    None,
]


def test_actions_are_counted_by_what_should_have_been():
    assert confusion(JUDGED) == {
        "answerable": {"correct": 2, "ambiguous": 1, "incorrect": 0},
        "unanswerable": {"correct": 1, "ambiguous": 0, "incorrect": 1},
    }


def test_ambiguous_costs_recall_and_no_precision():
    assert balanced_accuracy(JUDGED)(ONE)[0] == pytest.approx((2 / 3 + 1 / 2) / 2)
    # correct: precision 2/3, recall 2/3; incorrect: precision 1, recall 1/2.
    assert macro_f1(JUDGED)(ONE)[0] == pytest.approx((2 / 3 + 2 / 3) / 2)


def test_one_kind_of_question_alone_has_no_verdict():
    alone = [("correct", True)] * 6
    assert np.isnan(macro_f1(alone)(ONE)[0])
    assert np.isnan(balanced_accuracy(alone)(ONE)[0])
    assert np.isnan(separation([0.5] * 6, [True] * 6)(ONE)[0])
    assert np.isnan(separation([None] * 6, [True] * 6)(ONE)[0])


def test_separation_is_the_area_under_the_curve():
    scores = [0.9, 0.8, 0.5, 0.5, 0.1, None]
    truths = [True, True, True, False, False, True]
    # Of six pairs five are in order, one is a tie.
    assert separation(scores, truths)(ONE)[0] == pytest.approx(5.5 / 6)
    weights = np.array([[1.0, 0, 0, 0, 2, 7], [0, 0, 1, 1, 0, 0]])
    assert separation(scores, truths)(weights) == pytest.approx([1, 0.5])
