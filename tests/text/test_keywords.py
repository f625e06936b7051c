"""The keyword query that is made without a model."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crag_graph.text.keywords import keyword_query


@pytest.mark.parametrize(
    ("question", "query"),
    [
        ("When was the dam built and who paid?", "dam built paid"),
        ("Is Mara's permit still valid?", "Mara permit still valid"),
        ("latest ferry timetable for Orsk harbour", "latest ferry timetable Orsk harbour"),
        ("What is the dose: 1,200 mg or 3.5 g?", "dose 1,200 mg 3.5 g"),
        ('Who wrote "The Art of War" and when?', 'wrote "The Art of War"'),
        ("Who wrote „Die Verwandlung“?", 'wrote "Die Verwandlung"'),
        ("valve, Valve, VALVE or pump?", "valve pump"),
        ("Wann wurde die Brücke in Köln gebaut?", "Brücke Köln gebaut"),
        ("大坝是什么时候建成的？", "大坝是什么时候建成的"),
        ("please tell me -site:evil.example OR who?", "site evil example"),
    ],
)
def test_content_words_in_their_order_each_once(question: str, query: str) -> None:
    assert keyword_query(question) == query


@pytest.mark.case(35)
@pytest.mark.parametrize("question", ["who are we", "🙂", "?", "was it you"])
def test_a_question_without_content_is_its_own_query(question: str) -> None:
    assert keyword_query(question) == question


@pytest.mark.case(32)
@pytest.mark.case(112)
def test_of_a_long_question_the_sentence_that_asks_comes_first() -> None:
    background = "The old pump station of Harlow Engineering was flooded again. " * 160
    query = keyword_query(background + "So, which valve closes at 3.5 bar?")
    assert len(query) <= 400
    assert query.endswith("valve closes 3.5 bar")
    assert "Harlow Engineering" in query


def test_where_little_fits_names_come_before_long_words() -> None:
    question = "The considerable circumstances concern Orsk. And what is the depth?"
    assert keyword_query(question, limit=10) == "Orsk depth"
    assert keyword_query(question, limit=18) == "concern Orsk depth"


@pytest.mark.case(33)
def test_cjk_and_emoji_are_cut_between_characters() -> None:
    family = "👨\u200d👩\u200d👧"
    query = keyword_query("港" * 410)
    assert query == "港" * 400
    assert keyword_query(family * 100, limit=20) == family * 4


@pytest.mark.case(33)
def test_401_characters_without_a_space_are_cut_at_the_limit() -> None:
    assert keyword_query("x" * 401) == "x" * 400


def test_a_query_never_has_more_words_than_an_engine_reads() -> None:
    assert len(keyword_query(" ".join(f"word{i}" for i in range(90))).split()) <= 24


@given(st.text(max_size=300), st.integers(1, 60))
def test_a_query_keeps_the_limit_and_is_empty_only_for_blank_questions(
    question: str, limit: int
) -> None:
    query = keyword_query(question, limit=limit)
    assert len(query) <= limit
    assert query == query.strip()
    assert query or not any(character.isalnum() for character in question)


def test_an_impossible_limit_is_refused() -> None:
    with pytest.raises(ValueError, match="limit must be at least 1"):
        keyword_query("a", limit=0)


def test_quotation_marks_around_nothing_are_no_phrase() -> None:
    assert keyword_query('the pump "   " and the valve') == "pump valve"
