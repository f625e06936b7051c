"""Reading labels: files as people save them, and one sentence with file and line for bad ones."""

import json
from pathlib import Path

import pytest

from crag_graph.calibration import LabelSet, read_labels
from crag_graph.calibration.values import LabelScale, as_class, detect_scale
from crag_graph.errors import InputError
from crag_graph.state import Action

ROWS = "question,passage,label\nq1,good,1\nq1,bad,0\nq2,bad,0\n"


def read(tmp_path: Path, content: str | bytes, *, name: str = "labels.csv", **kwargs) -> LabelSet:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_labels(path, **kwargs)


def refused(tmp_path: Path, content: str | bytes, *, name: str = "labels.csv") -> str:
    with pytest.raises(InputError) as caught:
        read(tmp_path, content, name=name)
    assert "\n" not in caught.value.message
    return caught.value.message.removeprefix(str(tmp_path / name))


def wanted(labels: LabelSet) -> dict[str, Action]:
    return {question.text: question.wanted for question in labels.questions}


@pytest.mark.parametrize(
    "content",
    [
        ROWS,
        ROWS.replace("\n", "\r\n"),
        "\ufeff" + ROWS,
        ROWS.replace(",", ";"),
        ROWS.replace(",", "\t"),
        "sep=;\r\n" + ROWS.replace(",", ";"),
        ROWS.encode("utf-16"),
        ROWS.replace(",", "\t").encode("utf-16-le"),
        "\n\n" + ROWS + ",,\n\n",
        ROWS.replace("question,passage,label", " Query , Page-Content , Is Relevant "),
        ROWS.replace("question,passage,label", "userQuestion,passageText,relevanceLabel"),
        'question,note,passage,label\nq1,"a, b",good,yes\nq1,,bad,no\nq2,,bad,irrelevant\n',
        "label,passage,question\n1.0,good,q1\n0.0,bad,q1\n0,bad,q2\n",
    ],
    ids=range(13),
)
def test_the_same_labels_in_every_dress(tmp_path: Path, content: str | bytes):
    labels = read(tmp_path, content)
    assert wanted(labels) == {"q1": "correct", "q2": "incorrect"}
    assert (labels.form, labels.labels, labels.three_way) == ("passages", 3, False)


def test_a_passage_may_be_longer_than_the_csv_module_reads_by_itself(tmp_path: Path):
    passage = "word " * 60_000
    labels = read(tmp_path, f'question,passage,label\nq1,"{passage}",1\nq2,bad,0\n')
    assert len(labels.questions[0].passages[0].text) > 131_072 * 2


def test_columns_that_are_missing_are_told_beside_those_that_are_there(tmp_path: Path):
    said = refused(tmp_path, "id,text,label\n1,good,1\n")
    assert "the columns are id, text, label; none of them holds the question: name it" in said
    said = refused(tmp_path, "question,answer\nq1,yes\n")
    assert "the columns are question, answer; beside question there must be one for" in said
    assert "passage, text or the like" in said
    said = refused(tmp_path, "question,passage\nq1,good\n")
    assert "the columns are question, passage; none of them holds the label" in said


def test_rows_that_are_short_do_not_hide_a_column(tmp_path: Path):
    said = refused(tmp_path, "question,passage,label\nq1,good\nq2,bad\n")
    assert "2 rows without a label left out" in said


def test_letters_of_an_excel_encoding_survive(tmp_path: Path):
    content = "Frage;passage;label\nWelche Größe hat Müllers Tür?;Die Tür misst 2 m.;ja\n"
    labels = read(tmp_path, content.encode("cp1252"))
    assert labels.questions[0].text == "Welche Größe hat Müllers Tür?"
    assert "cp1252" in labels.notes[0]


def test_a_quoted_newline_stays_in_its_passage_and_lines_are_counted_on(tmp_path: Path):
    good = 'question,passage,label\nq1,"two\nlines; ""quoted""",1\nq2,x,0\n'
    labels = read(tmp_path, good)
    assert labels.questions[0].passages[0].text == 'two\nlines; "quoted"'
    assert labels.questions[1].line == 4
    assert refused(tmp_path, good.replace("q2,x,0", "q2,x,perhaps")).startswith(":4: ")


def test_json_lines_json_and_nested_passages(tmp_path: Path):
    nested = [
        {"question": "q1", "passages": [{"text": "good", "label": 1}, {"text": "bad", "label": 0}]},
        {"question": "q2", "passages": [{"text": "bad", "label": 0}]},
    ]
    flat = [
        {"query": "q1", "text": "good", "relevance": True},
        {"query": "q1", "text": "bad", "relevance": False},
        {"query": "q2", "text": "bad", "relevance": False},
    ]
    for rows in (nested, flat):
        lines = "\n".join(json.dumps(row) for row in rows) + "\n\n"
        for content in (lines, json.dumps(rows)):
            labels = read(tmp_path, content, name="labels.jsonl")
            assert wanted(labels) == {"q1": "correct", "q2": "incorrect"}
            assert labels.labels == 3


def test_a_question_may_bring_its_verdict_and_its_passages(tmp_path: Path):
    row = {"question": "q", "answerable": False, "passages": ["a", {"text": "b", "label": 1}]}
    labels = read(tmp_path, json.dumps(row), name="x.jsonl")
    assert wanted(labels) == {"q": "incorrect"}
    assert [passage.wanted for passage in labels.questions[0].passages] == [None, "correct"]


def test_questions_alone_with_an_action_where_there_is_one(tmp_path: Path):
    content = "question,should_answer,action\nq1,yes,\nq2,No,\nq3,yes,ambiguous\nq4,,incorrect\n"
    labels = read(tmp_path, content)
    assert labels.form == "questions"
    assert wanted(labels) == {
        "q1": "correct", "q2": "incorrect", "q3": "ambiguous", "q4": "incorrect"
    }  # fmt: skip
    assert labels.three_way
    assert not labels.questions[0].passages


def test_duplicates_and_contradictions_are_counted_and_left_out(tmp_path: Path):
    content = ROWS + "Q1 ,good,1\nq3,x,1\nq3,x,0\nq2,blank,\n"
    labels = read(tmp_path, content)
    assert (labels.duplicates, labels.contradictions, labels.unlabelled) == (1, 1, 1)
    assert wanted(labels) == {"q1": "correct", "q2": "incorrect"}
    assert len(labels.notes) == 3


def test_a_question_that_is_labelled_both_ways_is_left_out(tmp_path: Path):
    labels = read(tmp_path, "question,should_answer\nq1,yes\nq1,no\nq2,no\nq2,no\n")
    assert wanted(labels) == {"q2": "incorrect"}
    assert (labels.contradictions, labels.duplicates) == (1, 1)


def test_more_passages_may_be_needed_for_the_action_correct(tmp_path: Path):
    content = "question,passage,label\na,1,1\na,2,1\nb,1,1\nb,2,0\nc,1,0\n"
    labels = read(tmp_path, content, min_relevant_docs=2)
    assert wanted(labels) == {"a": "correct", "b": "ambiguous", "c": "incorrect"}


@pytest.mark.parametrize(
    ("numbers", "scale"),
    [
        ({0, 1}, "binary"), ({1}, "binary"), ({0, 0.5, 1}, "unit"), ({0, 1, 2}, "0-2"),
        ({0, 3}, "0-3"), ({1, 2, 3, 4, 5}, "1-5"), ({1, 4}, "1-5"), ({-1, 0, 1}, "signed"),
        (set(), "binary"),
    ],
)  # fmt: skip
def test_the_scale_of_grades_is_told_from_all_of_them(numbers: set[float], scale: str):
    assert detect_scale(numbers) == scale


@pytest.mark.parametrize("numbers", [{1, 2, 3}, {0, 5}, {7}, {-2, 1}, {-1, 3}])
def test_a_scale_that_cannot_be_told_is_asked_for(numbers: set[float]):
    with pytest.raises(ValueError, match="labels from"):
        detect_scale(numbers)


@pytest.mark.parametrize(
    ("value", "scale", "action"),
    [
        (2, "0-3", "correct"), (1, "0-3", "ambiguous"), ("0", "0-3", "incorrect"),
        (4, "1-5", "correct"), ("3,0", "1-5", "ambiguous"), (2, "1-5", "incorrect"),
        (0.5, "unit", "ambiguous"), (-1, "signed", "incorrect"), (True, "binary", "correct"),
        (" Partially_Relevant", "binary", "ambiguous"), ("Not relevant", "binary", "incorrect"),
        ("Ambiguous", "1-5", "ambiguous"),
    ],
)  # fmt: skip
def test_labels_mean_what_they_say(value: object, scale: LabelScale, action: str):
    assert as_class(value, scale) == action


def test_a_label_off_the_named_scale_is_refused(tmp_path: Path):
    with pytest.raises(InputError, match=r":2: the label 5 is not between 0 and 3"):
        read(tmp_path, "question,passage,label\nq,p,5\n", scale="0-3")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", " is empty"),
        ("question,passage,label\n", " has no row"),
        ("a,b\n1,2\n", ":1: the columns are a, b; none"),
        ("question,passage\nq,p\n", ":1: the columns are question, passage; none"),
        ("question,colour\nq,red\n", ":1: the columns are question, colour; beside"),
        ("question,passage,label\n,p,1\n", ":2: the column question is blank"),
        ("question,passage,label\nq,p,1\n\nq,,1\n", ":4: the column passage is blank"),
        ("question,passage,label\nq,p,maybe so\n", ":2: the label 'maybe so'"),
        ("question,passage,label\nq,a, b,1\n", ":2: it has 4 fields, but the header has 3"),
        ('question,passage,label\nq,"open,1\n', ":2: not CSV"),
        ("question,passage,label\nq,p,\n", " holds no label"),
        ("question,passage,label\nq,p,1\nq,p2,3\n", ": labels from 1 to 3 could be"),
        ("question,passage,label\nq,p,1\nq,p,0\n", " holds no label"),
        (b"\x00\x01\x02\x03\xff\xfe\x00\x01", ": binary data"),
    ],
)  # fmt: skip
def test_bad_tables_are_refused_with_the_place(tmp_path: Path, content: str, sentence: str):
    assert refused(tmp_path, content).startswith(sentence)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ('{"question": "q", "passage": "p", "label": 1}\n{broken\n', ":2: not JSON"),
        ('{"question": "q", "passage": "p", "label": 1}\n[1]\n', ":2: an object"),
        ('{"question": "q", "passages": "p"}', ":1: its passages are not a list"),
        ('{"question": "q", "passages": [{"label": 1}]}', ":1: one of its passages has no text"),
    ],
)
def test_bad_json_lines_are_refused_with_the_place(tmp_path: Path, content: str, sentence: str):
    assert refused(tmp_path, content, name="x.jsonl").startswith(sentence)


def test_a_file_that_is_not_there_is_one_sentence(tmp_path: Path):
    with pytest.raises(InputError, match="cannot be read: no such file"):
        read_labels(tmp_path / "none.csv")
    with pytest.raises(InputError, match="cannot be read: is a directory"):
        read_labels(tmp_path)
