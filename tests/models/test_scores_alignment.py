import pytest

from crag_graph.models.alignment import align_json, align_text, label_number


def scores(value, count=5):
    return dict(align_json(value, count=count, scale="five_point").scores)


@pytest.mark.case(7)
def test_eleven_is_not_one():
    lines = ["[11] 5", *(f"[{number}] 1" for number in range(1, 13) if number != 11)]
    read = align_text("\n".join(lines), count=12, scale="five_point").scores
    assert read == {number: 5 if number == 11 else 1 for number in range(1, 13)}


@pytest.mark.case(7)
@pytest.mark.parametrize(
    "label", ["P11", "11", 11, "[11]", "passage 11", "D11", "doc_11", "#11", 11.0]
)
def test_an_id_is_read_whole_in_every_form(label):
    assert label_number(label) == 11
    assert scores({"passages": [{"id": label, "score": 5}]}, count=12) == {11: 5}


@pytest.mark.case(8)
def test_too_few_or_too_many_bare_scores_belong_to_nobody():
    for value in ([5], [5, 4, 1, 1, 2, 3, 3], [], {"scores": []}, {}):
        with pytest.raises(ValueError, match="no passage was graded"):
            align_json(value, count=5, scale="five_point")


@pytest.mark.case(8)
def test_ids_given_twice_or_left_out_are_unknown_and_say_so():
    value = [{"id": f"D{n}", "score": s} for n, s in [(1, 3), (1, 4), (3, 1), (4, 1), (5, 1)]]
    read = align_json(value, count=5, scale="five_point")
    assert read.scores == {3: 1, 4: 1, 5: 1}
    assert read.unknown == {1: "it was graded twice, differently", 2: "the model left it out"}


@pytest.mark.case(8)
def test_the_same_grade_twice_is_that_grade_and_a_third_cannot_undo_a_contradiction():
    assert scores([{"id": 1, "score": 3}, {"id": 1, "score": 3}], count=1) == {1: 3}
    thrice = [{"id": 1, "score": 3}, {"id": 1, "score": 4}, {"id": 1, "score": 3}]
    assert scores(thrice, count=1) == {}


@pytest.mark.case(8)
def test_entries_for_passages_that_do_not_exist_are_counted_and_ignored():
    read = align_json({"P1": 5, "P9": 1}, count=2, scale="five_point")
    assert read.scores == {1: 5}
    assert read.extras == 1


def test_ids_that_start_at_nought_are_refused_rather_than_shifted():
    with pytest.raises(ValueError, match="no passage 0"):
        align_json([{"id": 0, "score": 5}, {"id": 1, "score": 1}], count=2, scale="five_point")


@pytest.mark.case(9)
def test_exactly_as_many_bare_scores_are_taken_in_order():
    assert scores({"scores": [5, 1, 1]}, count=3) == {1: 5, 2: 1, 3: 1}


@pytest.mark.case(23)
def test_odd_values_are_unknown_and_their_neighbours_are_kept():
    read = align_json({"scores": [True, "5", 4.5, None, "4/5"]}, count=5, scale="five_point")
    assert read.scores == {2: 5, 3: 4.5, 5: 4}
    assert set(read.unknown) == {1, 4}


@pytest.mark.case(6)
def test_scores_off_the_scale_are_flagged_with_what_was_said():
    read = align_json({"scores": [7, 0, -3, 100, 5]}, count=5, scale="five_point")
    assert read.scores == {5: 5}
    assert read.unknown[1] == "not a score on the scale: '7'"


@pytest.mark.parametrize(
    "value",
    [
        {"passages": [{"id": "P1", "score": 5}, {"id": "P2", "score": 2}]},
        {"grades": {"P1": 5, "P2": 2}},
        {"P1": {"score": 5}, "P2": {"score": 2}},
        [["P1", 5], ["P2", 2]],
        {"data": [{"passage": "P2", "grade": 2}, {"passage": "P1", "rating": "5"}]},
    ],
)
def test_every_shape_gives_the_same(value):
    assert scores(value, count=2) == {1: 5, 2: 2}


def test_a_single_passage_needs_no_id():
    assert scores({"score": 4, "reason": "names it"}, count=1) == {1: 4}


def test_the_other_fields_of_an_entry_are_kept():
    entry = {"id": "P2", "score": 3, "strips": [1, 4]}
    assert align_json([entry], count=2, scale="five_point").fields[2]["strips"] == [1, 4]


@pytest.mark.case(4)
def test_prose_that_names_each_passage_is_read():
    text = "On a scale of 1 to 5, D1 gets a 2 out of 5; D2 gets 4/5; D3: Score: 4.0"
    assert align_text(text, count=3, scale="five_point").scores == {1: 2, 2: 4, 3: 4}


@pytest.mark.case(2)
def test_a_line_that_names_a_passage_and_explains_is_read():
    assert align_text("1: 1. (Not relevant at all.)", count=3, scale="five_point").scores == {1: 1}


@pytest.mark.case(6)
def test_a_minus_sign_is_not_taken_for_a_separator():
    read = align_text("P1: -3\nP2: 7\nP3: 3", count=3, scale="five_point")
    assert read.scores == {3: 3}


@pytest.mark.parametrize(
    "text",
    [
        "P1: 5\nP2: 2",
        "1. 5\n2. 2",
        "1) 5\n2) 2",
        "**P1**: 5\n**P2**: 2",
        "| P1 | 5 |\n| P2 | 2 |",
        "Passage 1 - 5, Passage 2 - 2",
        "passage 1 has a score of 5. passage 2 has a score of 2.",
        "P1 is better than P2. P1: 5, P2: 2",
        "The scores are P1 5 and P2 2",
    ],
)
def test_the_forms_of_lists_in_text_are_read(text):
    assert align_text(text, count=2, scale="five_point").scores == {1: 5, 2: 2}


@pytest.mark.case(1)
@pytest.mark.parametrize(
    "text", ["The passages look fine to me.", "", "See [1] and [2].", "All 3 are relevant."]
)
def test_a_text_without_scores_is_not_read_as_the_worst_grade(text):
    with pytest.raises(ValueError, match=r"no passage (has a score|was graded)"):
        align_text(text, count=3, scale="five_point")
