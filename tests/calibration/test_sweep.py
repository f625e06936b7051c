"""The sweep: it agrees with the verdict, recovers what separates, and never sits on a score."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crag_graph.calibration.objectives import Costs, Objective
from crag_graph.calibration.sample import (
    CLASSES,
    RULES,
    Aggregated,
    Rule,
    actions_of,
    aggregated,
)
from crag_graph.calibration.sweep import Gaps, sweep
from crag_graph.errors import InputError
from crag_graph.settings import Thresholds
from crag_graph.state import Grade
from crag_graph.verdict import decide

# Scores as evaluators give them: on a scale of five points, or with four decimals.
score = st.one_of(
    st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), st.integers(0, 10_000).map(lambda n: n / 10_000)
)
unit = st.lists(score, min_size=1, max_size=6)
objectives = st.sampled_from(
    [
        Objective(),
        Objective(three_way=True),
        Objective(name="cost"),
        Objective(name="cost", costs=Costs(false_correct=20, mixed=0)),
        Objective(name="searches", max_searches=0.5),
    ]
)


def units_of(scores: list[float]) -> Aggregated:
    return aggregated([[each] for each in scores], Rule("max"))


def bars(rule: Rule, *, upper: float, lower: float) -> Thresholds:
    return Thresholds(
        upper=upper, lower=lower, aggregate=rule.aggregate, min_relevant_docs=rule.k,
        profile="p", provenance="",
    )  # fmt: skip


def grades(scores: list[float]) -> list[Grade]:
    return [
        Grade(document_id=str(n), score=s, raw=s, status="scored", reason="", evaluator="e")
        for n, s in enumerate(scores)
    ]


def confusion(actions: np.ndarray, wanted: np.ndarray) -> tuple[tuple[float, ...], ...]:
    return tuple(
        tuple(float(((actions == a) & (wanted == c)).sum()) for c in range(3)) for a in (2, 0)
    )


@given(st.lists(unit, min_size=1, max_size=8), score, score, st.sampled_from(RULES))
def test_actions_are_those_of_the_verdict_for_every_threshold(units, one, other, rule):
    upper, lower = max(one, other), min(one, other)
    found = actions_of(aggregated(units, rule), upper=upper, lower=lower)
    thresholds = bars(rule, upper=upper, lower=lower)
    assert [CLASSES[n] for n in found] == [
        decide(grades(scores), thresholds).action for scores in units
    ]


@given(
    st.lists(st.tuples(unit, st.integers(0, 2)), min_size=2, max_size=12),
    st.sampled_from(RULES),
    objectives,
)
def test_what_the_sweep_promises_is_what_the_verdict_gives(labelled, rule, objective):
    wanted = np.array([number for _, number in labelled])
    units = aggregated([scores for scores, _ in labelled], rule)
    best = sweep(units, wanted, objective)
    if best is None:
        return
    assert 0 <= best.lower <= best.upper <= 1
    assert not {best.upper, best.lower} & {*units.score, *units.best}
    thresholds = bars(rule, upper=best.upper, lower=best.lower)
    actions = np.array(
        [CLASSES.index(decide(grades(scores), thresholds).action) for scores, _ in labelled]
    )
    total = tuple(float((wanted == c).sum()) for c in range(3))
    correct, incorrect = confusion(actions, wanted)
    assert objective.value(correct, incorrect, total) == pytest.approx(best.value)
    for upper in (0.13, 0.37, 0.63, 0.88):  # no pair that is not tried is better
        for lower in (0.13, 0.37, 0.63, 0.88):
            if lower <= upper:
                other = actions_of(units, upper=upper, lower=lower)
                value = objective.value(*confusion(other, wanted), total)
                assert value <= best.value + 1e-9


@given(
    st.lists(st.floats(0.01, 0.3), min_size=3, max_size=10),
    st.lists(st.floats(0.4, 0.6), min_size=3, max_size=10),
    st.lists(st.floats(0.7, 0.99), min_size=3, max_size=10),
)
def test_three_classes_that_separate_are_separated_midway(low, middle, high):
    wanted = np.array([0] * len(low) + [1] * len(middle) + [2] * len(high))
    found = sweep(units_of([*low, *middle, *high]), wanted, Objective(three_way=True))
    assert found is not None
    assert found.value == pytest.approx(1)
    for value, below, above in (
        (found.lower, max(low), min(middle)),
        (found.upper, max(middle), min(high)),
    ):
        quarter = (above - below) / 4
        assert below + quarter <= value <= above - quarter


@given(
    st.lists(st.floats(0.01, 0.4), min_size=3, max_size=10),
    st.lists(st.floats(0.6, 0.99), min_size=3, max_size=10),
)
def test_between_two_classes_that_separate_lies_a_band_that_nothing_is_known_of(low, high):
    wanted = np.array([0] * len(low) + [2] * len(high))
    found = sweep(units_of([*low, *high]), wanted, Objective())
    assert found is not None
    assert max(low) < found.lower < found.upper < min(high)
    assert found.value == pytest.approx(1)


def test_scores_on_five_points_are_cut_between_the_points():
    scores = [0.0, 0.25, 0.25, 0.5, 0.75, 0.75, 1.0, 1.0]
    wanted = np.array([0, 0, 0, 1, 2, 2, 2, 2])
    found = sweep(units_of(scores), wanted, Objective(three_way=True))
    assert found is not None
    assert 0.25 < found.lower < 0.5 < found.upper < 0.75


def test_odds_worse_than_two_to_one_are_ambiguous_among_two_way_labels():
    scores = [0.1] * 9 + [0.5] * 9 + [0.9] * 9
    wanted = np.array([0] * 9 + [0, 2, 0, 2, 0, 2, 0, 2, 0] + [2] * 9)
    found = sweep(units_of(scores), wanted, Objective())
    assert found is not None
    assert 0.1 < found.lower < 0.5 < found.upper < 0.9
    certain = np.array([0] * 9 + [2] * 8 + [0] + [2] * 9)
    found = sweep(units_of(scores), certain, Objective())
    assert found is not None
    assert 0.1 < found.lower <= found.upper < 0.5


def test_a_dearer_false_correct_raises_the_upper_threshold():
    random = np.random.default_rng(3)
    wanted = np.array([0] * 100 + [2] * 100)
    scores = np.clip(random.normal(0.4 + 0.1 * wanted, 0.15), 0.001, 0.999)
    units = Aggregated(score=scores, best=scores)
    cheap, dear = (
        sweep(units, wanted, Objective(name="cost", costs=Costs(false_correct=cost)))
        for cost in (2, 20)
    )
    assert cheap is not None
    assert dear is not None
    assert dear.upper > cheap.upper


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 1.0])
def test_no_more_searches_than_allowed(share):
    scores = np.linspace(0.05, 0.95, 40)
    wanted = np.array([0] * 30 + [2] * 10)
    objective = Objective(name="searches", max_searches=share)
    units = Aggregated(score=scores, best=scores)
    found = sweep(units, wanted, objective)
    assert found is not None
    assert (scores < found.upper).mean() <= share


def test_a_budget_of_searches_that_nothing_meets_is_no_pair():
    units = units_of([0.0, 0.0, 1.0])
    found = sweep(units, np.array([0, 0, 2]), Objective(name="searches", max_searches=0.1))
    assert found is None


def test_gaps_are_thinned_evenly_and_stay_between_neighbours():
    scores = np.linspace(0, 1, 1001)
    gaps = Gaps.of(Aggregated(score=scores, best=scores), most=50)
    assert len(gaps.low) == 50
    assert np.allclose(gaps.high - gaps.low, 0.001)


@pytest.mark.parametrize("cost", [-1.0, float("inf"), float("nan")])
def test_an_impossible_cost_is_refused_by_its_option(cost):
    with pytest.raises(InputError, match="--cost-false-correct"):
        Costs(false_correct=cost)


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_an_impossible_share_of_searches_is_refused(share):
    with pytest.raises(InputError, match="--max-searches"):
        Objective(name="searches", max_searches=share)
