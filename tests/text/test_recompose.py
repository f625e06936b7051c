"""Recomposing strips, and their context."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from crag_graph.state import Strip
from crag_graph.text.strips import decompose, recompose, strip_context

MANUAL = """# Pumps

Intro that is long enough to stand alone.

## Torque

| part | torque |
|------|--------|
| K6 | 8 Nm |
| K7 | 9 Nm |
| K8 | 10 Nm |

Setup
-----

Open the valve before anything else is done. Then start the pump slowly.

## Other

The last sentence of the whole manual.
"""


def cut(text: str) -> list[Strip]:
    return decompose(Document(id="d", page_content=text), origin="internal")


def keep(strips: list[Strip], *words: str) -> list[Strip]:
    return [{**strip, "kept": any(word in strip["text"] for word in words)} for strip in strips]


def find(strips: list[Strip], word: str) -> Strip:
    return next(strip for strip in strips if word in strip["text"])


@pytest.mark.case(98)
def test_the_context_of_a_row_is_its_headings_and_its_header() -> None:
    strips = cut(MANUAL)
    assert strip_context(MANUAL, find(strips, "K7")) == "Pumps > Torque\n| part | torque |"


def test_the_context_does_not_repeat_what_the_strip_holds() -> None:
    strips = cut(MANUAL)
    assert strip_context(MANUAL, find(strips, "K6")) == "Pumps"
    assert strip_context(MANUAL, find(strips, "Intro")) == ""


def test_a_heading_with_an_underline_counts_and_a_later_one_of_its_level_ends_it() -> None:
    strips = cut(MANUAL)
    assert strip_context(MANUAL, find(strips, "Then start")) == "Pumps > Setup"
    assert strip_context(MANUAL, find(strips, "last sentence")) == "Pumps"


def test_plain_text_has_no_context() -> None:
    text = "Only a sentence. | not a table |"
    assert [strip_context(text, strip) for strip in cut(text)] == [""]


def test_neighbours_are_joined_as_in_the_text_and_gaps_are_marked() -> None:
    text = (
        "The first sentence stands here.  The second sentence follows it.\n\n"
        "The third sentence is dropped. The fourth sentence is kept."
    )
    strips = keep(cut(text), "first", "second", "fourth")
    expected = (
        "The first sentence stands here.  The second sentence follows it. … "
        "The fourth sentence is kept."
    )
    assert recompose(strips, text=text) == expected
    only_kept = [strip for strip in strips if strip["kept"]]
    assert recompose(only_kept, text=text) == expected


def test_without_the_text_white_space_is_guessed_from_the_offsets() -> None:
    text = "The first sentence stands here. The second sentence follows it."
    assert recompose(keep(cut(text), "first", "second")) == text
    chinese = "该泵站于一九九八年重建完成。阀门先关闭然后水泵停止。"
    assert recompose(keep(cut(chinese), "泵")) == chinese


def test_strips_come_in_the_order_of_the_text() -> None:
    text = "The first sentence stands here. The second sentence follows it."
    strips = keep(cut(text), "first", "second")
    assert recompose(strips[::-1]) == text


@pytest.mark.case(98)
def test_rows_get_their_header_back_once() -> None:
    strips = cut(MANUAL)
    assert recompose(keep(strips, "K7", "K8"), text=MANUAL) == (
        "| part | torque |\n|------|--------|\n| K7 | 9 Nm |\n| K8 | 10 Nm |"
    )
    whole = recompose(keep(strips, "K6", "K8"), text=MANUAL)
    assert whole.count("| part | torque |") == 1
    assert whole.endswith("| K6 | 8 Nm | … \n| K8 | 10 Nm |")


def test_nothing_kept_is_nothing() -> None:
    assert recompose(cut(MANUAL)) == ""
    assert recompose([]) == ""


@given(
    st.lists(
        st.sampled_from(
            ["One sentence is here. ", "第二句话在这里。", "\n\n", "# H\n", "- an item\n"]
        ),
        max_size=15,
    ).map("".join)
)
def test_all_strips_recompose_to_the_text(text: str) -> None:
    strips: list[Strip] = [{**strip, "kept": True} for strip in cut(text)]
    assert recompose(strips, text=text) == text.strip()


def test_without_the_text_a_wide_gap_is_a_gap_and_a_paragraph_a_paragraph() -> None:
    text = (
        "The first sentence stands here.\n\n"
        "The second sentence follows it. The third sentence ends it."
    )
    assert recompose(keep(cut(text), "first", "second")).count("\n\n") == 1
    kept = [strip for strip in keep(cut(text), "first", "third") if strip["kept"]]
    assert recompose(kept) == "The first sentence stands here. … The third sentence ends it."
