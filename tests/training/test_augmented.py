"""Tasks made from labelled ones: pairs of a passage and its changed form, and made questions."""

import dataclasses

from training.augmented import changed_tasks, cloze_tasks
from training.labelled import Task, passage_of, task_of
from training.words import holds

FERRY = passage_of(
    "nq", "The Orsk ferry was opened in 1932 by Ada Holm. It carries people across the bay.", "Orsk"
)
CANAL = passage_of(
    "nq", "The canal of Lund was dug by convicts. Boats of the northern company use it.", "Lund"
)


def task(fold: int = 0, **fields) -> Task:
    made = task_of(
        "nq",
        "when was the orsk ferry opened",
        (CANAL, FERRY),
        [0, 1],
        strip_labels={strip["id"]: int("1932" in strip["text"]) for strip in FERRY.strips},
    )
    return dataclasses.replace(made, answers=("1932",), fold=fold, **fields)


def test_each_changed_form_stands_beside_a_passage_that_answers():
    made = list(changed_tasks([task()]))
    assert [one.set for one in made] == ["cut", "cut", "renamed", "renamed", "restated", "restated"]
    assert [one.labels for one in made] == [(1,), (0,)] * 3
    assert {one.question for one in made} == {"when was the orsk ferry opened"}
    for good, changed in zip(made[::2], made[1::2], strict=True):
        assert holds(good.passages[0].text, ["1932"])
        assert changed.passages[0].text != good.passages[0].text


def test_the_cut_form_lacks_the_answer_and_the_other_something_else():
    good, cut, *_ = changed_tasks([task()])
    assert not holds(cut.passages[0].text, ["1932"])
    # A gap in one alone would tell them apart.
    assert good.passages[0].text != FERRY.text


def test_a_restated_question_stands_in_a_text_without_the_answer():
    *_, restated = changed_tasks([task()])
    text = restated.passages[0].text
    assert holds(text, ["ferry"])
    assert not holds(text, ["1932"])


def test_a_task_without_a_passage_that_answers_is_left_out():
    assert list(changed_tasks([task(labels=(0, 0))])) == []
    assert list(changed_tasks([dataclasses.replace(task(), answers=())])) == []


def test_questions_are_made_of_the_passages_that_only_the_given_folds_have():
    seen = list(cloze_tasks([task(fold=1)], range(5)))
    assert seen
    assert {one.fold for one in seen} == {0}
    for one in seen:
        assert one.passages[0].text == FERRY.text
        assert one.labels == (1,) + (0,) * (len(one.passages) - 1)
        assert any(one.strip_labels.values())
    assert list(cloze_tasks([task(fold=1), task(fold=7)], range(5))) == []
