"""Files of labelled questions: what is read, and what is said of those that cannot be."""

import gzip
import json
from pathlib import Path

import pytest

from crag_graph.errors import InputError
from crag_graph.evaluation.datasets import label_counts, read_dataset, sample
from crag_graph.evaluation.examples import Example, LabelledPassage, example_of

ROW = {
    "id": "q1",
    "question": "When does the ferry leave?",
    "answers": ["at nine"],
    "passages": [
        {
            "text": "It leaves at nine. It is blue.",
            "title": "Ferry",
            "label": 1,
            "sentences": [{"text": "It leaves at nine.", "label": 1}],
        },
        {"text": "Cows graze.", "label": 0},
    ],
    "source": "a set of our own",
}


def lines(path: Path, *rows: object) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def test_a_line_becomes_a_question_with_its_labels(tmp_path: Path):
    [example] = read_dataset(lines(tmp_path / "set.jsonl", ROW))
    assert example == Example(
        id="q1",
        question="When does the ferry leave?",
        answers=("at nine",),
        answerable=True,
        should_answer=True,
        passages=(
            LabelledPassage(
                text="It leaves at nine. It is blue.",
                title="Ferry",
                label=1.0,
                sentences=(("It leaves at nine.", True),),
            ),
            LabelledPassage(text="Cows graze.", label=0.0),
        ),
    )


def test_gzip_and_a_byte_order_mark_are_read(tmp_path: Path):
    path = tmp_path / "set.jsonl.gz"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbf" + json.dumps(ROW).encode() + b"\n\n"))
    assert [example.id for example in read_dataset(path)] == ["q1"]


def test_a_table_is_read_by_its_header(tmp_path: Path):
    path = tmp_path / "set.csv"
    path.write_text(
        "question,answers,gold,answerable\n"
        '"Who, and when?",Ann|Bob,a.md|b.md,\n'
        'What?,"[""1, 2""]",,no\n',
        encoding="utf-8",
    )
    first, second = read_dataset(path)
    assert (first.question, first.answers, first.gold) == (
        "Who, and when?",
        ("Ann", "Bob"),
        ("a.md", "b.md"),
    )
    assert (first.id, first.answerable) == ("line 2", True)
    assert (second.answers, second.answerable, second.should_answer) == (("1, 2",), False, False)


def test_a_quoted_cell_may_hold_line_breaks_and_errors_still_name_the_line(tmp_path: Path):
    path = tmp_path / "set.csv"
    path.write_text('question,answerable\n"a\nb?",yes\nc?,perhaps\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"set\.csv:4: answerable: true or false is needed"):
        read_dataset(path)


@pytest.mark.parametrize(
    ("row", "answerable", "should_answer"),
    [
        ({}, None, None),
        ({"answers": ["x"]}, True, True),
        ({"gold": "a.md"}, True, True),
        ({"should_answer": False, "answers": ["x"]}, False, False),
        ({"answerable": False, "should_answer": True}, False, True),
        ({"passages": [{"text": "a", "label": 0}]}, False, False),
        ({"passages": [{"text": "a", "label": 0}, {"text": "b"}]}, None, None),
        ({"passages": [{"text": "a", "label": 1}, {"text": "b"}]}, False, False),
        ({"passages": [{"text": "a", "label": 2}, {"text": "b"}]}, True, True),
    ],
)
def test_what_is_not_said_follows_from_the_labels(row, answerable, should_answer):
    if row.get("passages") and row["passages"][0].get("label") == 1:
        row["passages"][1]["label"] = 0  # all are known, none reaches the bar
    example = example_of({"question": "q?", **row}, default_id="1", relevant_from=2)
    assert (example.answerable, example.should_answer) == (answerable, should_answer)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"question": "a?"}\nnope\n', ":2: this is not JSON"),
        ('{"question": "a?"}\n[1]\n', ":2: an object is needed"),
        ('{"question": ""}', ":1: the key `question` is missing or empty"),
        ('{"answers": ["x"]}', ":1: the key `question` is missing or empty"),
        ('{"question": "  \\u200b "}', ":1: "),
        ('{"question": "a?", "answerable": "maybe"}', ":1: answerable: true or false is needed"),
        ('{"question": "a?", "passages": "text"}', ":1: passages: a list is needed"),
        ('{"question": "a?", "passages": []}', ":1: passages: the list is empty"),
        ('{"question": "a?", "passages": "[]"}', ":1: passages: the list is empty"),
        ('{"question": "a?", "passages": [{"label": 1}]}', ":1: passages: each needs a text"),
        ('{"question": "a?", "passages": [{"text": " "}]}', ":1: passages: one has a blank text"),
        ('{"question": "a?", "passages": [{"text": "a", "label": "x"}]}', ":1: label: a number"),
        ('{"question": "a?", "passages": [{"text": "a", "label": NaN}]}', ":1: label: a number"),
        (
            '{"question": "a?", "passages": [{"text": "a", "sentences": ["a"]}]}',
            ":1: sentences: each needs a text",
        ),
        ('{"question": "a?", "answers": {"a": 1}}', ":1: answers: a list is needed"),
        ('{"question": "a?", "gold": [["a"]]}', ":1: gold: a text or a list of texts"),
        ('{"question": "a?", "gold": "[a"}', ":1: gold: '[a' begins like a list but is none"),
        ("", ": there is no question in it"),
        (
            '{"question": "a?", "passages": [{"text": "a"}]}\n{"question": "b?"}',
            ":2: questions with passages of their own and questions without are mixed",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_told_with_its_line(tmp_path: Path, content, message):
    path = tmp_path / "set.jsonl"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_dataset(path)
    assert error.value.message.startswith(f"{path}{message}")
    assert "\n" not in error.value.message


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("set.csv", b"q,answers\nx,y\n", ":1: the header has the columns q, answers, but a column"),
        ("set.csv", b"question;answers\nx;y\n", ":1: the cells are parted by ';', not by ','"),
        ("set.csv", b"question\nx,y\n", ":2: there are more cells than columns"),
        ("set.csv", b'question\n"x"y\n', ":2: "),
        ("set.csv", b'question\na?\n"x', ":3: "),
        ("set.jsonl", b'{"question": "a?"}\n{"question": "\xff"}', ":2: this is not UTF-8"),
        ("set.csv", b"question\na?\nb\xff?\n", ":3: this is not UTF-8"),
        ("set.jsonl.gz", b"\x1f\x8bxx", ": this is no whole gzip file"),
        ("set.jsonl.gz", b'{"question": "a?"}', ": this is no whole gzip file"),
        ("set.xlsx", b"", ": a .jsonl or .csv file is needed"),
        ("set", b"", ": a .jsonl or .csv file is needed"),
    ],
)
def test_other_files_are_told_apart(tmp_path: Path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError) as error:
        read_dataset(path)
    assert error.value.message.startswith(f"{path}{message}")


def test_a_missing_file_and_a_folder_are_told(tmp_path: Path):
    for path in (tmp_path / "none.jsonl", tmp_path / "folder.jsonl"):
        if path.stem == "folder":
            path.mkdir()
        with pytest.raises(InputError, match="cannot be read: "):
            read_dataset(path)


def test_equal_ids_are_told_apart(tmp_path: Path):
    path = lines(
        tmp_path / "set.jsonl", {"id": "a", "question": "1?"}, {"id": "a", "question": "2?"}
    )
    assert [example.id for example in read_dataset(path)] == ["a", "a#2"]


def test_a_sample_is_drawn_by_the_seed_and_keeps_the_order():
    examples = [Example(id=str(number), question="?") for number in range(50)]
    drawn = [int(example.id) for example in sample(examples, limit=10, seed=1)]
    assert len(drawn) == 10
    assert drawn == sorted(drawn)
    assert drawn == [int(example.id) for example in sample(examples, limit=10, seed=1)]
    assert drawn != [int(example.id) for example in sample(examples, limit=10, seed=2)]
    assert drawn != list(range(10))
    assert set(drawn) > {int(example.id) for example in sample(examples, limit=5, seed=1)}
    assert sample(examples, limit=None, seed=1) == sample(examples, limit=90, seed=1) == examples


def test_labels_are_counted(tmp_path: Path):
    rows = (ROW, {"question": "b?", "passages": [{"text": "x"}], "answerable": False})
    assert label_counts(read_dataset(lines(tmp_path / "set.jsonl", *rows))) == {
        "answerable": 1,
        "unanswerable": 1,
        "answers": 1,
        "gold": 1,
        "sentences": 1,
        "passages": 3,
    }


def test_a_cell_may_be_as_long_as_its_file(tmp_path: Path):
    path = tmp_path / "set.csv"
    path.write_text(f'question,answers\nWhich?,"{"word " * 60_000}"\n')
    (example,) = read_dataset(path)
    assert len(example.answers[0]) > 131_072 * 2
