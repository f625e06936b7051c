"""Citation markers: every form that models write, checked against the sources."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crag_graph.text.citations import check_citations


@pytest.mark.case(126)
def test_markers_out_of_range_are_removed_and_the_others_checked() -> None:
    checked = check_citations("A [1]. B [7]. C [1, 2]. D [1-2]. E [0].", count=2)
    assert checked.text == "A [1]. B. C [1][2]. D [1][2]. E."
    assert checked.cited == [1, 2]
    assert checked.removed == 2


@pytest.mark.case(126)
@pytest.mark.parametrize(
    ("marker", "shown"),
    [
        ("[2]", "[2]"),
        ("[ 2 ]", "[2]"),
        ("[2, 3]", "[2][3]"),
        ("[2,3]", "[2][3]"),
        ("[2; 3]", "[2][3]"),
        ("[2 and 3]", "[2][3]"),
        ("[2, 3, and 4]", "[2][3][4]"),
        ("[2][3]", "[2][3]"),
        ("[2-4]", "[2][3][4]"),
        ("[2–4]", "[2][3][4]"),
        ("[2 to 4]", "[2][3][4]"),
        ("[4-2]", "[2][3][4]"),
        ("[2-3, 5]", "[2][3][5]"),
        ("[2, 2]", "[2]"),
        ("[^2]", "[2]"),
        ("[#2]", "[2]"),
        ("[[2]]", "[2]"),
        ("【2】", "[2]"),
        ("【2†source】", "[2]"),
        ("［２］", "[2]"),
        ("[２、３]", "[2][3]"),
        ("[٢]", "[2]"),
        ("[source 2]", "[2]"),
        ("[Source: 2]", "[2]"),
        ("[Sources 2, 3]", "[2][3]"),
        ("[Source 2, Source 3]", "[2][3]"),
        ("[doc 2]", "[2]"),
        ("[Ref. 2]", "[2]"),
        ("(source 2)", "[2]"),
        ("(Sources: 2, 3)", "[2][3]"),
        ("（来源 2）", "[2]"),
    ],
)
def test_every_form_is_read(marker: str, shown: str) -> None:
    checked = check_citations(f"Yes{marker}.", count=5)
    assert checked.text == f"Yes{shown}."
    assert checked.removed == 0


@pytest.mark.parametrize(
    "text",
    [
        "step (1) and (2)",
        "[ ] todo, [x] done",
        "[Kim et al., 2020]",
        "[1, p. 3]",
        "[Figure 1]",
        "[a1]",
        r"\[1\]",
        r"\[1] and \[2]",
        "[-1]",
        "[1.5]",
        "[1234567]",
        "see [the note 1](https://a.example/[2]) and ![figure 1](fig1.png)",
    ],
)
def test_what_is_no_marker_stays(text: str) -> None:
    checked = check_citations(text, count=3)
    assert checked.text == text
    assert checked.cited == []
    assert checked.removed == 0


@pytest.mark.case(7)
def test_two_digit_markers_are_two_digit_sources() -> None:
    checked = check_citations("It is 9 Nm [11].", count=12)
    assert checked.cited == [11]


def test_numbers_stay_as_they_were_given_and_streamed() -> None:
    checked = check_citations("A [3]. B [1]. C [3][2].", count=3)
    assert checked.text == "A [3]. B [1]. C [3][2]."
    assert checked.cited == [3, 1, 2]


@pytest.mark.parametrize(
    "text",
    [
        "Revised [1990], and in [2024] again.",
        "See [RFC 2119], [ISO 9001] and [2019-2021].",
        "The fourth is arr[3].",
        "It begins with rows[0] and ends.",
        "Then set names[2] = 1.",
        "As found before [47], it holds.",
        "As found before.[47] It holds.",
        "[48] Smith, J. tells more.",
    ],
)
def test_a_number_that_is_no_citation_stays(text: str) -> None:
    source = "The fourth is arr[3]. As found before [47], it is so. And before.[47] [48]  Smith, J."
    checked = check_citations(f"{text} [1]", count=3, quoted=["Nothing.", source])
    assert checked.text == f"{text} [1]"
    assert checked.cited == [1]
    assert checked.removed == 0


@pytest.mark.case(126)
@pytest.mark.parametrize(
    ("marker", "removed"),
    [("[47]", 1), ("[9]", 1), ("[source 2024]", 1), ("(source 1990)", 1), ("【2024】", 1)],
)
def test_an_unknown_marker_goes_although_its_number_stands_elsewhere(
    marker: str, removed: int
) -> None:
    source = "As found before [47], it is so: 9 of [9]."
    checked = check_citations(f"It leaves {marker}. [1]", count=3, quoted=[source])
    assert checked.text == "It leaves. [1]"
    assert checked.removed == removed


def test_a_marker_behind_a_word_cites_where_no_source_has_it_so() -> None:
    checked = check_citations("It leaves at nine[2].", count=3, quoted=["It leaves at nine."])
    assert checked.cited == [2]


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("[9] Start. Mid [9] word[9] end [9]", "Start. Mid word end"),
        ("A [9][9].\n[9] B", "A.\nB"),
        ("A [1][9].", "A [1]."),
        ("A [1, 9].", "A [1]."),
        ("* [9] item\n  * [1] nested", "* item\n  * [1] nested"),
    ],
)
def test_removing_a_marker_leaves_no_gap(answer: str, text: str) -> None:
    assert check_citations(answer, count=2).text == text


def test_a_range_beyond_the_sources_counts_once() -> None:
    checked = check_citations("A [1-999].", count=2)
    assert (checked.text, checked.removed) == ("A [1][2].", 1)


def test_code_stays_and_cites_nothing() -> None:
    text = "Use `x[1]` here.\n\n```python\ny = z[2]\n```\n\n~~~\n[1]\n"
    checked = check_citations(text, count=2)
    assert checked.text == text
    assert checked.cited == []


def test_a_link_whose_text_is_a_marker_is_a_marker() -> None:
    checked = check_citations("A [2](https://a.example/x). B [9](https://b.example).", count=2)
    assert checked.text == "A [2](https://a.example/x). B."
    assert checked.cited == [2]
    assert checked.removed == 1


def test_without_sources_every_marker_goes() -> None:
    assert check_citations("A [1].", count=0).text == "A."


FRAGMENTS = st.sampled_from(
    ["[1]", "[2, 3]", "[9]", "[1-3]", "【2】", "[^3]", "`x[1]`", "\n", " ", "word", ". ", "```\n",
     "[t](http://a)", "(source 2)", "[", "]", "(", "\\", "[[3]]", "[0]", "\ufdd0", "|"]
)  # fmt: skip


@given(
    st.lists(st.one_of(FRAGMENTS, st.text(max_size=5)), max_size=25).map("".join), st.integers(0, 4)
)
def test_what_is_cited_exists_and_stands_in_the_text(answer: str, count: int) -> None:
    checked = check_citations(answer, count=count)
    assert len(set(checked.cited)) == len(checked.cited)
    assert all(1 <= number <= count for number in checked.cited)
    assert all(f"[{number}]" in checked.text for number in checked.cited)
    assert checked.removed >= 0


@given(st.lists(st.sampled_from(["[1]", "[2]", "[3]", "[1, 3]", "[8]", " a", ". b"]), max_size=12))
def test_checking_a_checked_answer_changes_nothing(parts: list[str]) -> None:
    first = check_citations("".join(parts), count=3)
    again = check_citations(first.text, count=3)
    assert again == dataclasses.replace(first, removed=0)
