"""The verdict: every aggregate, both boundaries, and what takes no part."""

import dataclasses
import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crag_graph.errors import EvaluationError
from crag_graph.settings import PROFILES, Aggregate, Settings, Thresholds, to_unit
from crag_graph.state import Grade
from crag_graph.verdict import Verdict, decide, known_score


def thresholds(
    upper: float = 0.7, lower: float = 0.3, *, aggregate: Aggregate = "max", k: int = 1
) -> Thresholds:
    return Thresholds(
        upper=upper,
        lower=lower,
        aggregate=aggregate,
        min_relevant_docs=k,
        profile="test",
        provenance="",
    )


def grade(score: Any, status: Any = "scored", reason: str = "") -> Grade:
    return Grade(
        document_id="d",
        score=score,
        raw=None,
        status=status,
        reason=reason,
        evaluator="test",
    )


def verdict(*scores: Any, **options: Any) -> Verdict:
    return decide([grade(score) for score in scores], thresholds(**options))


def five_point(*scores: float) -> Verdict:
    settings = Settings(profile="five_point")
    units = [to_unit(score, "five_point") for score in scores]
    return decide([grade(unit) for unit in units], settings.thresholds())


@pytest.mark.case(117)
@pytest.mark.parametrize(
    ("score", "action"),
    [
        (1.0, "correct"),
        (0.7, "correct"),
        (math.nextafter(0.7, 0), "ambiguous"),
        (math.nextafter(0.3, 1), "ambiguous"),
        (0.3, "incorrect"),
        (0.0, "incorrect"),
    ],
)
def test_both_thresholds_are_inclusive(score: float, action: str) -> None:
    assert verdict(score).action == action


@pytest.mark.case(117)
def test_where_the_thresholds_are_equal_reaching_them_wins() -> None:
    assert verdict(0.5, upper=0.5, lower=0.5).action == "correct"
    assert verdict(math.nextafter(0.5, 0), upper=0.5, lower=0.5).action == "incorrect"


@pytest.mark.case(117)
@pytest.mark.parametrize("profile", PROFILES)
def test_a_grade_on_a_threshold_of_its_own_scale_reaches_it(profile: str) -> None:
    source = PROFILES[profile]
    bars = dataclasses.replace(Settings(profile=profile).thresholds(), aggregate="mean")
    for value, action in ((source.upper, "correct"), (source.lower, "incorrect")):
        grades = [grade(to_unit(value, source.scale))] * 3
        assert decide(grades, bars).action == action


@pytest.mark.case(118)
def test_the_mean_would_hide_the_one_good_passage_and_the_default_does_not() -> None:
    assert five_point(5, 1, 1, 1, 1).action == "correct"
    assert verdict(1.0, 0.0, 0.0, 0.0, 0.0, aggregate="mean").action == "incorrect"


@pytest.mark.case(44)
def test_weak_passages_beside_a_good_one_do_not_trigger_the_web() -> None:
    assert five_point(5, 5, 1, 1, 1).action == "correct"
    assert verdict(0.9, 0.9, 0.0, 0.0, 0.0).action == "correct"


@pytest.mark.case(113)
def test_passages_that_answer_half_each_are_not_incorrect() -> None:
    assert five_point(3, 3).action == "ambiguous"


def test_the_mean_is_exact() -> None:
    assert verdict(0.7, 0.7, 0.7, aggregate="mean").action == "correct"
    assert verdict(0.1, 0.1, 0.1, lower=0.1, aggregate="mean").action == "incorrect"
    assert verdict(0.2, 0.6, aggregate="mean").score == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("scores", "action", "score"),
    [
        ((0.9, 0.8, 0.1), "correct", 0.8),
        ((0.9, 0.6, 0.1), "ambiguous", 0.6),
        ((0.9, 0.1), "ambiguous", 0.1),  # one good passage is never thrown away
        ((0.9,), "ambiguous", 0.0),
        ((0.5,), "ambiguous", 0.0),
        ((0.3, 0.3), "incorrect", 0.3),
        ((0.2,), "incorrect", 0.0),
    ],
)
def test_kth_best_needs_k_passages_for_correct_and_none_above_lower_for_incorrect(
    scores: tuple[float, ...], action: str, score: float
) -> None:
    result = verdict(*scores, aggregate="kth_best", k=2)
    assert (result.action, result.score) == (action, score)


def test_kth_best_of_one_is_the_best() -> None:
    assert verdict(0.1, 0.8, aggregate="kth_best") == verdict(0.1, 0.8)


@pytest.mark.case(116)
@pytest.mark.parametrize("order", list(itertools.permutations([math.nan, 1.0, 0.0])))
def test_nan_takes_no_part_wherever_it_stands(order: tuple[float, ...]) -> None:
    result = verdict(*order)
    assert (result.action, result.score, result.grading) == ("correct", 1.0, "scored")


@pytest.mark.case(116)
@pytest.mark.parametrize(
    "score", [math.nan, math.inf, -math.inf, True, False, None, "0.9", 5, -0.1, np.float64("nan")]
)
def test_what_is_no_score_is_unknown_even_when_it_says_scored(score: Any) -> None:
    assert known_score(grade(score)) is None
    result = verdict(score, score)
    assert (result.action, result.score, result.margin) == ("ambiguous", None, None)
    assert result.grading == "failed"


@pytest.mark.parametrize("score", [1, 0, np.float32(0.5), np.float64(1.0)])
def test_every_kind_of_number_is_a_score(score: Any) -> None:
    known = known_score(grade(score))
    assert type(known) is float
    assert known == score


@pytest.mark.parametrize("status", ["unknown", "failed", "", None])
def test_only_a_scored_grade_takes_part(status: Any) -> None:
    result = decide([grade(1.0, status), grade(0.0)], thresholds())
    assert result.action == "incorrect"
    assert "1 of 2 passages could not be graded" in result.reason


def test_a_grade_without_its_keys_is_unknown() -> None:
    partial: Any = {"document_id": "d"}
    assert decide([partial], thresholds()).grading == "failed"


@pytest.mark.case(129)
def test_nothing_retrieved_is_not_retrieved_but_irrelevant() -> None:
    empty, irrelevant = decide([], thresholds()), verdict(0.1)
    assert empty.action == irrelevant.action == "incorrect"
    assert (empty.grading, irrelevant.grading) == ("empty", "scored")
    assert empty.score is None
    assert empty.reason.startswith("nothing was retrieved")


@pytest.mark.case(121)
@pytest.mark.parametrize(
    ("policy", "action"),
    [("ambiguous", "ambiguous"), ("irrelevant", "incorrect"), ("local", "ambiguous")],
)
def test_when_grading_fails_the_chosen_policy_decides(policy: Any, action: str) -> None:
    grades = [grade(None, "failed", "timed out"), grade(None, "unknown")]
    result = decide(grades, thresholds(), outage_policy=policy)
    assert (result.action, result.grading, result.score) == (action, "failed", None)
    assert result.reason == (
        f"grading failed for all 2 passages (timed out); the outage policy '{policy}' makes that "
        f"{action}"
    )


@pytest.mark.case(121)
def test_the_policy_raise_raises() -> None:
    with pytest.raises(EvaluationError, match=r"timed out.*outage_policy") as caught:
        decide([grade(None, "failed", "timed out")], thresholds(), outage_policy="raise")
    assert caught.value.transient
    with pytest.raises(EvaluationError) as caught:
        decide([grade(None, "unknown")], thresholds(), outage_policy="raise")
    assert caught.value.reason == "parse"


def test_the_policy_does_not_decide_where_a_grade_is_known_or_nothing_was_retrieved() -> None:
    assert decide(
        [grade(None, "failed"), grade(0.9)], thresholds(), outage_policy="raise"
    ).action == ("correct")
    assert decide([], thresholds(), outage_policy="raise").grading == "empty"


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (verdict(0.82), "best passage 0.82 reaches the upper threshold 0.70"),
        (verdict(0.21, 0.1), "best passage 0.21 is not above the lower threshold 0.30"),
        (
            verdict(0.5),
            "best passage 0.50 is between the lower threshold 0.30 and the upper threshold 0.70",
        ),
        (
            verdict(0.9, 0.5, aggregate="mean"),
            "mean of 2 passages 0.70 reaches the upper threshold 0.70",
        ),
        (
            verdict(0.9, 0.8, aggregate="kth_best", k=2),
            "2nd best passage 0.80 reaches the upper threshold 0.70",
        ),
        (
            verdict(0.9, 0.1, aggregate="kth_best", k=2),
            "best passage 0.90 is above the lower threshold 0.30, but the upper threshold 0.70 is "
            "reached by 1 of the 2 passages needed",
        ),
        (
            verdict(0.2, 0.1, aggregate="kth_best", k=2),
            "best passage 0.20 is not above the lower threshold 0.30",
        ),
        (
            verdict(0.6999),
            "best passage 0.6999 is between the lower threshold 0.3000 and the upper threshold "
            "0.7000",
        ),
    ],
)
def test_the_reason_gives_the_numbers(result: Verdict, reason: str) -> None:
    assert result.reason == reason


SCORES = st.lists(st.floats(0, 1), min_size=1, max_size=8)
BARS = st.tuples(st.floats(0, 1), st.floats(0, 1)).map(sorted)
AGGREGATES = st.sampled_from(["max", "mean", "kth_best"])
ORDER = {"incorrect": 0, "ambiguous": 1, "correct": 2}


@given(SCORES, BARS, AGGREGATES, st.integers(1, 4), st.randoms(use_true_random=False))
def test_the_order_of_grades_does_not_matter(
    scores: list[float], bars: list[float], aggregate: Aggregate, k: int, random: Any
) -> None:
    options = {"lower": bars[0], "upper": bars[1], "aggregate": aggregate, "k": k}
    shuffled = random.sample(scores, len(scores))
    assert verdict(*scores, **options) == verdict(*shuffled, **options)


@given(SCORES, BARS, AGGREGATES, st.integers(1, 4), st.integers(0, 7), st.floats(0, 1))
def test_a_better_grade_never_worsens_the_action(
    scores: list[float], bars: list[float], aggregate: Aggregate, k: int, at: int, better: float
) -> None:
    options = {"lower": bars[0], "upper": bars[1], "aggregate": aggregate, "k": k}
    improved = list(scores)
    improved[at % len(scores)] = max(better, scores[at % len(scores)])
    before, after = verdict(*scores, **options), verdict(*improved, **options)
    assert ORDER[after.action] >= ORDER[before.action]


@given(SCORES, BARS, AGGREGATES, st.integers(1, 4))
def test_score_margin_and_reason_agree_with_the_action(
    scores: list[float], bars: list[float], aggregate: Aggregate, k: int
) -> None:
    lower, upper = bars
    result = verdict(*scores, lower=lower, upper=upper, aggregate=aggregate, k=k)
    assert result.score is not None
    assert result.margin is not None
    assert 0 <= result.score <= 1
    assert 0 <= result.margin <= 1
    assert (result.action == "correct") == (result.score >= upper)
    if aggregate != "kth_best" and result.action != "correct":
        assert (result.action == "incorrect") == (result.score <= lower)
        nearest = min(abs(result.score - upper), abs(result.score - lower))
        assert result.margin == pytest.approx(nearest)
    assert "\n" not in result.reason


@given(SCORES, st.integers(0, 3))
def test_unknown_grades_change_nothing_but_the_reason(scores: list[float], unknown: int) -> None:
    known = [grade(score) for score in scores]
    mixed = decide([*known, *[grade(None, "failed")] * unknown], thresholds())
    alone = decide(known, thresholds())
    assert dataclasses.replace(mixed, reason="") == dataclasses.replace(alone, reason="")
    assert ("could not be graded" in mixed.reason) == (unknown > 0)
