"""Blocks: what belongs together before sentences are looked for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crag_graph.text.blocks import find_blocks


def blocks(text: str) -> list[tuple[str, str]]:
    return [(block.kind, text[block.start : block.end]) for block in find_blocks(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\nb\n\nc", [("prose", "a\nb"), ("prose", "c")]),
        ("## H\ntext", [("heading", "## H"), ("prose", "text")]),
        ("#hashtag is prose", [("prose", "#hashtag is prose")]),
        ("* a\n* b", [("item", "* a"), ("item", "* b")]),
        ("1) a\n2) b", [("item", "1) a"), ("item", "2) b")]),
        ("in\n1998. It was", [("prose", "in\n1998. It was")]),
        ("a - b\nc", [("prose", "a - b\nc")]),
        ("Port: 1\nUser: x", [("item", "Port: 1"), ("item", "User: x")]),
        ("He said: no\nand left", [("prose", "He said: no\nand left")]),
        ("~~~\na\n\nb\n~~~~\nc", [("fence", "~~~\na\n\nb\n~~~~"), ("prose", "c")]),
        ("```py\na\n\nb", [("fence", "```py\na\n\nb")]),
        ("````\n```\n````", [("fence", "````\n```\n````")]),
        ("`x` is code", [("prose", "`x` is code")]),
        ("x || y\nz", [("prose", "x || y\nz")]),
        ("A title\n---\nb", [("heading", "A title\n---"), ("prose", "b")]),
        ("A sentence.\n---\nb", [("prose", "A sentence.\n---\nb")]),
        ("a\r\n\r\nb\r\n", [("prose", "a"), ("prose", "b")]),
    ],
)
def test_lines_are_grouped_as_a_reader_would(text: str, expected: list[tuple[str, str]]) -> None:
    assert blocks(text) == expected


def test_a_table_ends_at_the_first_line_without_a_bar() -> None:
    text = "a | b\n--|--\n1 | 2\nno bar\n3 | 4"
    assert blocks(text) == [
        ("head", "a | b\n--|--"),
        ("row", "1 | 2"),
        ("prose", "no bar\n3 | 4"),
    ]


@given(st.text(alphabet="ab1.#-|`~: \n\r\t\u2028", max_size=80))
def test_blocks_hold_all_that_is_visible_in_order(text: str) -> None:
    position = 0
    for block in find_blocks(text):
        assert position <= block.start <= block.end
        assert not text[position : block.start].strip()
        position = block.end
    assert not text[position:].strip()


@pytest.mark.parametrize(
    "text", ["# =====\nHelp methods\n# =====", "##", "*****\n=====", "# ---\nText"]
)
def test_a_line_of_marks_is_no_heading(text: str) -> None:
    assert "heading" not in {block.kind for block in find_blocks(text)}


@pytest.mark.parametrize("text", ["# 3.1", "# *Title*", "## 要約", "Title\n====="])
def test_whatever_says_something_is_a_heading(text: str) -> None:
    assert [block.kind for block in find_blocks(text)] == ["heading"]
