"""Made questions ask for what one sentence of the passage says."""

import random

import pytest

from training.cloze import make_cloze, spans_of
from training.labelled import passage_of
from training.words import holds

TEXT = (
    "The harbour of Orsk was dredged again by Ada Holm during the long dry summer of 1932. "
    "In that year some 300 barges of the northern company were towed through the old canal lock. "
    "It remained the only deep basin between the lighthouse and the town of New Lund."
)
PASSAGE = passage_of("test", TEXT, "Orsk harbour")


@pytest.mark.parametrize("seed", range(40))
def test_the_answer_stands_in_its_sentence_and_not_in_the_question(seed: int):
    cloze = make_cloze(PASSAGE, random.Random(seed))
    assert cloze is not None
    own = {strip["id"]: strip["text"] for strip in PASSAGE.strips}
    assert cloze.answer in own[cloze.strip_id]
    assert not holds(cloze.question, [cloze.answer])
    assert cloze.labels == {name: int(name == cloze.strip_id) for name in own}


def test_kinds_of_answers_are_asked_for_by_their_words():
    asked = {}
    for seed in range(300):
        cloze = make_cloze(PASSAGE, random.Random(seed))
        assert cloze is not None
        asked.setdefault(cloze.answer, set()).add(cloze.question.lower().split()[0])
    assert asked["1932"] == {"when", "what", "in"}
    assert asked["Ada Holm"] == {"who"}
    assert asked["300"] == {"how", "what"}


def test_a_sentence_that_holds_the_answer_too_is_left_open():
    again = passage_of("test", f"{TEXT} Another dredger of the company followed in 1932.", "Orsk")
    for seed in range(60):
        cloze = make_cloze(again, random.Random(seed))
        assert cloze is not None
        if cloze.answer == "1932":
            assert len(cloze.labels) == len(again.strips) - 1
            break
    else:
        pytest.fail("no question asks for the year")


def test_no_question_is_made_of_a_text_without_anything_to_ask_for():
    plain = passage_of("test", "we went on and on and it was all the same to us in the end.", "")
    assert make_cloze(plain, random.Random(1)) is None


def test_years_numbers_and_names_are_told_apart():
    found = {match[0]: kind for match, kind in spans_of("In 1932 some 300 men saw New Lund.")}
    assert found == {"1932": "when", "300": "how many", "New Lund": "name"}
