"""What repeats an earlier text, and what only looks like it."""

from hypothesis import given
from hypothesis import strategies as st

from crag_graph.text.duplicates import repeated

BODY = " ".join(f"item{chr(97 + index % 26)} and what belongs to it" for index in range(30))


def test_case_punctuation_and_spacing_make_no_difference() -> None:
    assert repeated(["The valve closes.", "the  VALVE\ncloses", "Ｔhe valve closes"]) == [
        None,
        0,
        0,
    ]


def test_most_of_the_words_in_the_same_order_are_enough() -> None:
    assert repeated([BODY, f"{BODY} indeed", "something else"]) == [None, 0, None]


def test_the_first_of_several_is_named() -> None:
    assert repeated(["a b", "c d", "a b", "c d", "a b"]) == [None, None, 0, 1, 0]


def test_another_number_name_or_negation_is_another_text() -> None:
    assert repeated([f"{BODY} within 14 days", f"{BODY} within 30 days"]) == [None, None]
    assert repeated([f"Contract of Mara. {BODY}", f"Contract of Osei. {BODY}"]) == [None, None]
    assert repeated([f"{BODY} is safe", f"{BODY} is not safe"]) == [None, None]


def test_a_text_may_have_a_sentence_more_but_not_another_name_in_its_place() -> None:
    assert repeated([BODY, f"{BODY}. Thanks"]) == [None, 0]
    assert repeated([f"{BODY}. Mara signed", f"{BODY}. Osei signed"]) == [None, None]


def test_running_page_numbers_make_no_difference() -> None:
    assert repeated(["Page 3 of 80\nInternal use.", "page 4 of 80\nInternal use."]) == [None, 0]


def test_the_order_of_words_makes_a_difference() -> None:
    assert repeated(["the dog bites the man", "the man bites the dog"]) == [None, None]


def test_what_has_no_words_repeats_nothing() -> None:
    assert repeated(["", "", "!!", "!!"]) == [None] * 4


def test_a_chain_of_small_changes_is_compared_with_its_beginning() -> None:
    words = [f"w{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(170)]
    found = repeated([" ".join(words[start : start + 100]) for start in range(0, 60, 2)])
    assert found[1] == 0
    assert None in found[2:]
    assert all(original is None or found[original] is None for original in found)


@given(st.lists(st.text(alphabet="ab .", max_size=20), max_size=12))
def test_only_originals_are_named_and_they_come_earlier(texts: list[str]) -> None:
    found = repeated(texts)
    for index, original in enumerate(found):
        assert original is None or (original < index and found[original] is None)


def test_a_hundred_passages_and_thousands_of_strips_are_no_burden() -> None:
    passages = [
        f"{BODY} {BODY} entry{chr(97 + index % 26)}{chr(97 + index // 26)}" for index in range(100)
    ]
    assert len(repeated(passages)) == 100
    assert repeated(["the same short line"] * 20_000).count(None) == 1
