import math

import pytest

from crag_graph.models.scores import read_score


@pytest.mark.case(2)
@pytest.mark.parametrize(
    "text",
    ["1. (Not relevant at all.)", "**1**", "1.", " 1 ", "1", "[1]", "(1)", "Score: 1", "`1`"],
)
def test_a_score_is_read_through_full_stops_emphasis_and_explanations(text):
    assert read_score(text, "five_point") == 1


@pytest.mark.case(4)
@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("On a scale of 1 to 5, it gets a 2 out of 5", 2),
        ("4/5", 4),
        ("4 / 5", 4),
        ("Score: 4.0", 4),
        ("Scale 1-5: 4", 4),
        ("score (1-5): 3", 3),
        ("on a scale of 1 to 5 I give 2", 2),
        ("rating of 4 out of 5 stars", 4),
        ("8 out of 10", None),
        ("10/10", None),
    ],
)
def test_the_stated_scale_is_never_the_score(text, score):
    assert read_score(text, "five_point") == score


@pytest.mark.case(5)
@pytest.mark.parametrize(
    "text",
    [
        "There are 5 reasons this is only a 2.",
        "I cannot score this; 1 field is missing.",
        "5 reasons speak for it",
        "it gives 3 reasons",
        "3-4",
        "between 3 and 4",
        "4/5, or rather 3/5",
        "no idea",
        "",
        "five",
    ],
)
def test_a_number_amid_prose_is_not_taken_and_nothing_is_made_up(text):
    assert read_score(text, "five_point") is None


@pytest.mark.case(6)
@pytest.mark.parametrize("value", [7, 0, -3, 100, "7", "-3", "−3", "score: -4", "12", "score: 45"])
def test_what_is_off_the_scale_is_unknown_and_never_part_of_it_taken(value):
    assert read_score(value, "five_point") is None


@pytest.mark.case(6)
def test_two_point_nought_is_two_and_not_the_nought():
    assert read_score("2.0", "five_point") == 2
    assert read_score("score: 2.0", "five_point") == 2


@pytest.mark.case(5)
def test_an_exponent_is_part_of_its_number():
    assert read_score("1e-1", "five_point") is None
    assert read_score("1e-1", "unit") == pytest.approx(0.1)


@pytest.mark.case(23)
@pytest.mark.parametrize(
    ("value", "score"),
    [
        (True, None),
        (False, None),
        (None, None),
        ("5", 5),
        (4.5, 4.5),
        ("4.5", 4.5),
        ("4,5", 4.5),
        ("4/5", 4),
        (math.nan, None),
        (math.inf, None),
        ([5], None),
        ({"score": 5}, None),
    ],
)
def test_each_json_value_has_one_reading(value, score):
    assert read_score(value, "five_point") == score


@pytest.mark.parametrize(
    ("value", "scale", "score"),
    [
        (0.85, "unit", 0.85),
        (".5", "unit", 0.5),
        ("4/5", "unit", 0.8),
        ("85%", "unit", None),
        (1.2, "unit", None),
        ("score: -0.5", "signed", -0.5),
        ("score: -0.5", "unit", None),
        (-1.1, "signed", None),
    ],
)
def test_the_other_scales_have_their_own_limits(value, scale, score):
    assert read_score(value, scale) == score
