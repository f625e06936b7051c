"""Footnote marks of a source are left out where it is quoted; code is not touched."""

import pytest

from crag_graph.text.footnotes import without_footnotes


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("It was built in 1990.[3] Later it moved.", "It was built in 1990. Later it moved."),
        ("It was built in 1990[3][4] and moved.", "It was built in 1990 and moved."),
        ("Paris[3] is the capital.", "Paris is the capital."),
        ("As shown [12], it holds.", "As shown (12), it holds."),
        (
            "According to [7], pumps fail; see [8] and [9, 11].",
            "According to (7), pumps fail; see (8) and (9, 11).",
        ),
        ("Pumps fail [1](https://b.example).", "Pumps fail [(1)](https://b.example)."),
        ("Pumps fail ([7]).", "Pumps fail (7)."),
        ("Pumps fail.[7, 8] Valves do not.[9-11]", "Pumps fail. Valves do not."),
        ("It failed.[^2] Then [^3] it ran [4][5].", "It failed. Then (3) it ran (4, 5)."),
        ("[7] Lund, Pumps, 1990.", "(7) Lund, Pumps, 1990."),
        ("【3】で、［4］", "(3)で、(4)"),
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
        "A [link](https://a.example/[2]) and more.",
        "Since [2024], no.",
        "A share in [0, 1] is meant.",
    ],
)
def test_code_links_and_years_stay(text: str) -> None:
    assert without_footnotes(text) == text


def test_the_text_around_tells_footnotes_from_indices() -> None:
    assert without_footnotes("The river[3].", around="The river[3]. The sea.[4]") == "The river."
