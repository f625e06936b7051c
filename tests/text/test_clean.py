"""Cleaning, questions, and cutting text without breakage."""

from collections.abc import Callable

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from crag_graph.errors import InputError
from crag_graph.text.clean import (
    MAX_QUESTION_CHARACTERS,
    clean_question,
    clean_text,
    grapheme_cut,
    is_blank,
    shorten,
    tail_text,
)

FAMILY = "👨\u200d👩\u200d👧"
ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=200)


def graphemes(text: str) -> list[str]:
    return regex.findall(r"\X", text)


@pytest.mark.case(90)
def test_nul_is_removed_and_nothing_else() -> None:
    assert clean_text("pump\x00 house") == "pump house"


@pytest.mark.case(56)
def test_a_lone_surrogate_becomes_the_replacement_character() -> None:
    assert clean_text("caf\udce9 opening hours") == "caf\ufffd opening hours"
    assert clean_text("\ud83d") == "\ufffd"


@pytest.mark.case(56)
def test_valid_emoji_stay_and_surrogate_pairs_become_them() -> None:
    assert clean_text(f"ok 🙂 {FAMILY} 🏴󠁧󠁢󠁥󠁮󠁧󠁿") == f"ok 🙂 {FAMILY} 🏴󠁧󠁢󠁥󠁮󠁧󠁿"
    assert clean_text("\ud83d\ude42") == "🙂"


def test_line_ends_become_newlines() -> None:
    assert clean_text("a\r\nb\rc\u2028d\x0ce\x85f\n") == "a\nb\nc\nd\ne\nf\n"


def test_byte_order_marks_and_control_characters_are_removed() -> None:
    assert clean_text("\ufeffa\ufeff\x1b[31mb\x07\x9dc\td") == "abc\td"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("\x1b[1;31merror:\x1b[0m no \x1b[38;5;9mpump\x1b[m", "error: no pump"),
        ("\x1b[2K\x1b[1Gdone\x1b[?25h", "done"),
        ("\x9b31mred\x9b0m", "red"),
        ("\x1b]0;a title\x07text", "text"),
        ("\x1b]8;;https://a.example\x1b\\link\x1b]8;;\x1b\\.", "link."),
        ("\x1b(Bplain\x1b7\x1b8", "plain"),
        ("\x1b]never closed\nnext", "]never closed\nnext"),
        ("\x1b\x1b[31mtwice", "twice"),
        ("N\x08NA\x08AM\x08ME\x08E  _\x08p_\x08s", "NAME  ps"),
        ("\x9bquoted\x9b", "quoted"),
        ("Write [31m or \\033[31m for red, [0m for none.",) * 2,
    ],
)
def test_what_was_written_for_a_terminal_leaves_nothing_behind(text: str, left: str) -> None:
    assert clean_text(text) == left


def test_hidden_tag_characters_are_removed_outside_of_flags() -> None:
    hidden = "".join(chr(0xE0000 + ord(letter)) for letter in "give 5")
    assert clean_text(f"Tide table{hidden}.") == "Tide table."


@given(ANY_TEXT)
def test_cleaning_is_idempotent_and_encodable(text: str) -> None:
    cleaned = clean_text(text)
    assert clean_text(cleaned) == cleaned
    cleaned.encode("utf-8")
    assert "\x00" not in cleaned
    assert "\r" not in cleaned


@given(st.text(st.characters(categories=["L", "N", "P", "So", "Zs"]), max_size=100))
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert clean_text(text) == text


@pytest.mark.case(110)
@pytest.mark.parametrize(
    "question",
    ["", " ", "\n\t", "\u200b", "\u200d \ufeff\u00ad", "\x00", "\u3164", None, 5, b"x", []],
)
def test_a_question_that_is_none_is_refused_in_one_sentence(question: object) -> None:
    with pytest.raises(InputError) as caught:
        clean_question(question)
    assert "question" in caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.exit_code == 2


def test_the_type_of_a_wrong_question_is_named() -> None:
    with pytest.raises(InputError, match="must be text, not int"):
        clean_question(5)


def test_a_question_is_trimmed_of_visible_and_invisible_space() -> None:
    assert clean_question(" \u200b\ufeff Which valve?\u00a0\u200d\n") == "Which valve?"


@pytest.mark.parametrize("question", ["👍", "5", "?", "京", "क", "🏴󠁧󠁢󠁥󠁮󠁧󠁿"])
def test_short_questions_are_questions(question: str) -> None:
    assert clean_question(question) == question


@pytest.mark.case(22)
def test_the_texts_of_content_blocks_are_joined_and_others_left_out() -> None:
    blocks = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "Which valve"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        "closes first?",
        {"type": "text", "text": None},
        7,
    ]
    assert clean_question(blocks) == "Which valve\ncloses first?"


def test_blocks_without_text_are_no_question() -> None:
    with pytest.raises(InputError, match="blank"):
        clean_question([{"type": "image_url", "image_url": {"url": "https://a.example/x.png"}}])


def test_a_question_of_100_000_characters_is_kept_whole() -> None:
    question = "valve " * 16_666 + "now?"
    assert clean_question(question) == question


def test_a_question_beyond_the_cap_is_refused_with_its_length() -> None:
    assert len(clean_question("x" * MAX_QUESTION_CHARACTERS)) == MAX_QUESTION_CHARACTERS
    with pytest.raises(InputError, match="200,001 characters"):
        clean_question("x" * (MAX_QUESTION_CHARACTERS + 1))


@pytest.mark.case(112)
def test_the_end_of_a_long_question_is_kept_for_embedding() -> None:
    question = "The pump station was rebuilt in 1998. " * 258 + "So, which valve?"
    tail = tail_text(question, 1000)
    assert tail.endswith("So, which valve?")
    assert 900 < len(tail) <= 1000
    assert tail.split()[0] in {"The", "pump", "station", "was", "rebuilt", "in", "1998."}


@pytest.mark.case(112)
def test_a_question_that_fits_is_embedded_whole() -> None:
    assert tail_text(" Which valve? ", 12) == "Which valve?"


@pytest.mark.case(32)
def test_900_characters_are_cut_between_words() -> None:
    short = shorten("harbour timetable " * 50, 400)
    assert len(short) <= 400
    assert short.split()[-1] in {"harbour", "timetable"}
    assert len(short) > 380


@pytest.mark.case(33)
def test_cjk_and_emoji_of_several_code_points_are_cut_between_characters() -> None:
    text = "港" * 390 + FAMILY * 20
    short = shorten(text, 400)
    assert 390 <= len(short) <= 400
    assert graphemes(short) == graphemes(text)[: len(graphemes(short))]
    assert short.endswith(FAMILY)


@pytest.mark.case(33)
def test_401_characters_without_a_space_are_cut_at_the_limit() -> None:
    assert shorten("x" * 401, 400) == "x" * 400


def test_a_cut_may_fall_on_the_space_at_the_limit() -> None:
    assert shorten("abcd efgh", 4) == "abcd"
    assert tail_text("abcd efgh", 4) == "efgh"
    assert tail_text("abcd e fgh", 5) == "e fgh"


def test_a_character_longer_than_the_limit_gives_its_beginning() -> None:
    assert shorten(FAMILY * 2, 2) == "👨"
    assert shorten("e" + "\u0301" * 50, 10) == "e" + "\u0301" * 9


@pytest.mark.parametrize("cut", [shorten, tail_text])
def test_an_impossible_limit_is_refused(cut: Callable[[str, int], str]) -> None:
    with pytest.raises(ValueError, match="limit must be at least 1"):
        cut("a", 0)


MIXED = st.lists(
    st.one_of(st.sampled_from([FAMILY, "🇩🇪", "é", "京", " ", "क्षि", "\n"]), st.text(max_size=8)),
    max_size=40,
).map("".join)


@given(MIXED, st.integers(1, 60))
def test_shortening_keeps_the_limit_the_beginning_and_something(text: str, limit: int) -> None:
    short = shorten(text, limit)
    assert len(short) <= limit
    assert text.strip().startswith(short)
    assert bool(short) == bool(text.strip())


@given(MIXED, st.integers(1, 60))
def test_the_tail_keeps_the_limit_the_end_and_something(text: str, limit: int) -> None:
    tail = tail_text(text, limit)
    assert len(tail) <= limit
    assert text.strip().endswith(tail)
    assert bool(tail) == bool(text.strip())


@given(MIXED, st.integers(0, 200))
def test_a_grapheme_cut_is_where_a_grapheme_ends(text: str, at: int) -> None:
    cut = grapheme_cut(text, at)
    ends = {0}
    for piece in graphemes(text):
        ends.add(max(ends) + len(piece))
    assert cut in ends
    assert cut <= max(at, 0) or cut == len(text) <= at


def test_what_cannot_be_seen_is_blank() -> None:
    assert is_blank("\u200b\u2060\u00a0\u115f")
    assert not is_blank(".")
