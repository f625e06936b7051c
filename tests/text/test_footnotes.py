"""Footnote marks of a source are left out where it is quoted; code is not touched."""

import pytest

from crag_graph.text.footnotes import without_footnotes


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("It was built in 1990.[3] Later it moved.", "It was built in 1990. Later it moved."),
        ("It was built in 1990[3][4] and moved.", "It was built in 1990 and moved."),
        ("Paris[3] is the capital.", "Paris is the capital."),
        ("As shown [12], it holds.", "As shown, it holds."),
        ("The river[3] meets the sea[4].", "The river meets the sea."),
    ],
)
def test_footnote_marks_are_left_out(text: str, left: str) -> None:
    assert without_footnotes(text) == left


@pytest.mark.parametrize(
    "text",
    [
        "The fourth item is arr[3].",
        "Then m[1][2] is the sum.",
        "It starts at Rows[0].",
        "Set Names[2] = 1.",
        "Use `Items[3]` for it.",
        "```python\nx = Y[1]\n```",
        "A [link](https://a.example/[2]) and [1](https://b.example).",
        "Since [2024], no.",
    ],
)
def test_code_links_and_years_stay(text: str) -> None:
    assert without_footnotes(text) == text


def test_the_text_around_tells_footnotes_from_indices() -> None:
    assert without_footnotes("The river[3].", around="The river[3]. The sea.[4]") == "The river."
