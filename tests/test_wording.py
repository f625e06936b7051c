"""Counts are told in the singular and the plural."""

import pytest

from crag_graph.wording import counted, named


@pytest.mark.parametrize(
    ("number", "told"), [(0, "0 strips"), (1, "1 strip"), (2, "2 strips"), (1200, "1,200 strips")]
)
def test_one_of_them_is_told_in_the_singular(number: int, told: str) -> None:
    assert counted(number, "strip") == told


def test_an_irregular_plural_is_given() -> None:
    assert counted(2, "search", "searches") == "2 searches"


def test_names_are_told_in_a_row_cut_and_counted() -> None:
    assert named([]) == "none"
    assert named(["a", " ", "b\nc"]) == "a, (without a name), b c"
    assert named("abc", most=2) == "a, b and 1 more"
    assert named(["x" * 50]) == "x" * 40 + "…"
