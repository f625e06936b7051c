"""Changed passages answer no longer, and nothing else in them changes."""

import random

from crag_graph.evaluators.base import Passage
from training.changes import (
    restated,
    with_another_name,
    with_other_numbers,
    without_answer,
    without_words,
)
from training.labelled import passage_of
from training.words import holds

FERRY = passage_of(
    "test",
    "The Orsk ferry was opened in 1932 by Ada Holm. It carries 300 passengers, and 20 cars.",
    "Orsk",
)


def labels(passage: Passage, answer: str) -> dict[str, int]:
    return {strip["id"]: int(answer in strip["text"]) for strip in passage.strips}


def test_the_sentence_that_answers_is_left_out():
    assert without_answer(FERRY, labels(FERRY, "1932")) == "It carries 300 passengers, and 20 cars."


def test_nothing_is_left_out_where_every_sentence_answers_or_none():
    assert without_answer(FERRY, dict.fromkeys(labels(FERRY, ""), 1)) is None
    assert without_answer(FERRY, {}) is None


def test_the_words_of_the_answer_go_with_the_preposition_before_them():
    assert without_words(FERRY, ["1932"]) == (
        "The Orsk ferry was opened by Ada Holm. It carries 300 passengers, and 20 cars.",
        "Orsk",
    )
    text, _ = without_words(FERRY, ["ada  HOLM", "Ada"]) or ("", "")
    assert text.startswith("The Orsk ferry was opened in 1932. It carries")


def test_an_answer_that_is_absent_or_in_the_title_cannot_be_cut():
    assert without_words(FERRY, ["1933"]) is None
    assert without_words(FERRY, ["Orsk"]) is None


def test_only_the_numbers_of_the_question_are_changed():
    assert with_other_numbers("What opened in 1932?", FERRY) == (
        "The Orsk ferry was opened in 1939 by Ada Holm. It carries 300 passengers, and 20 cars.",
        "Orsk",
    )
    assert with_other_numbers("What opened in 1931?", FERRY) is None
    assert with_other_numbers("What opened?", FERRY) is None


def test_the_name_that_the_question_asks_about_is_changed_everywhere():
    draw = random.Random(1)
    swapped = with_another_name("when did the orsk ferry open", FERRY, ["Lund (town)"], draw)
    assert swapped == (
        "The Lund ferry was opened in 1932 by Ada Holm. It carries 300 passengers, and 20 cars.",
        "Lund",
    )


def test_no_name_is_changed_that_the_question_does_not_have():
    draw = random.Random(1)
    assert with_another_name("when did the ferry open", FERRY, ["Lund"], draw) is None
    # Names of as many words, and none of them the same.
    assert with_another_name("when did orsk open", FERRY, ["Orsk", "New Lund"], draw) is None


def test_a_question_is_said_again_as_a_statement():
    draw = random.Random(3)
    said = {restated("Who is the captain of the Orsk?", draw, held_out=False) for _ in range(200)}
    assert "Nobody knows Who the captain of the Orsk is." in said
    assert all(sentence[0].isupper() and sentence.endswith(".") for sentence in said)
    others = {restated("Who is the captain of the Orsk?", draw, held_out=True) for _ in range(200)}
    assert not said & others


def test_an_auxiliary_of_the_question_goes_where_the_statement_has_none():
    draw = random.Random(3)
    said = {restated("when did it open", draw, held_out=True) for _ in range(200)}
    assert "We cannot say when it open." in said
    assert not any(holds(sentence, ["did"]) for sentence in said)
