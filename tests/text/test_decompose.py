"""Decomposing documents into strips."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from crag_graph.state import Strip, as_documents
from crag_graph.text.strips import decompose

PIECES = st.sampled_from(
    [
        "A sentence of some length stands here. ",
        "Yes. ",
        "好。",
        "\n\n",
        "# H\n",
        "| a | b |\n|---|---|\n| 1 | 2 |\n",
        "- item\n",
        "k: v\n",
        "```\ncode. x?\n```\n",
        "\udcff",
    ]
)
TEXTS = st.lists(st.one_of(PIECES, st.text(max_size=10)), max_size=20).map("".join)


def strips_of(text: str, *, window: int = 1, max_chars: int = 600) -> list[Strip]:
    document = Document(id="d", page_content=text, metadata={"source": "a.md"})
    return decompose(document, origin="internal", window=window, max_chars=max_chars)


def texts_of(text: str, *, window: int = 1, max_chars: int = 600) -> list[str]:
    return [strip["text"] for strip in strips_of(text, window=window, max_chars=max_chars)]


@given(TEXTS, st.integers(1, 4), st.integers(1, 90))
def test_strips_are_slices_in_order_and_leave_out_white_space_alone(
    text: str, window: int, max_chars: int
) -> None:
    position = 0
    for strip in strips_of(text, window=window, max_chars=max_chars):
        assert strip["text"] == text[strip["start"] : strip["end"]]
        assert strip["text"] == strip["text"].strip() != ""
        assert not text[position : strip["start"]].strip()
        assert strip["start"] >= position
        assert len(strip["text"]) <= max_chars
        assert strip["id"] == f"d:{strip['start']}-{strip['end']}"
        position = strip["end"]
    assert not text[position:].strip()


def test_a_strip_carries_its_provenance_and_no_judgement() -> None:
    document = Document(id="d7", page_content="Ferries leave at nine.", metadata={"source": "f.md"})
    assert decompose(document, origin="web") == [
        {
            "id": "d7:0-22",
            "text": "Ferries leave at nine.",
            "document_id": "d7",
            "start": 0,
            "end": 22,
            "score": None,
            "kept": False,
            "origin": "web",
            "source": "f.md",
        }
    ]


def test_a_document_without_id_or_source_gets_the_id_that_the_state_gives_it() -> None:
    document = Document(page_content="Ferries leave at nine.", metadata={"source": None})
    (strip,) = decompose(document, origin="internal")
    assert strip["document_id"] == as_documents(None, [document])[0].id
    assert strip["source"] == ""


@pytest.mark.case(97)
def test_short_lines_are_merged_never_dropped() -> None:
    assert texts_of("Port: 8443\nUser: ops\nTTL: 30 s") == ["Port: 8443\nUser: ops\nTTL: 30 s"]


@pytest.mark.case(97)
def test_a_short_sentence_joins_what_follows_or_else_what_precedes() -> None:
    long = "The second pump starts ten minutes later."
    assert texts_of(f"Yes. {long} {long}") == [f"Yes. {long}", long]
    assert texts_of(f"{long} {long} No.") == [long, f"{long} No."]


def test_many_short_sentences_do_not_become_one_strip() -> None:
    assert max(map(len, texts_of("Yes it is. No it is not. " * 40))) < 80


def test_wide_characters_say_more_in_less_room() -> None:
    assert texts_of("该泵站于一九九八年重建完成。阀门先关闭然后水泵停止。") == [
        "该泵站于一九九八年重建完成。",
        "阀门先关闭然后水泵停止。",
    ]


def test_a_heading_leads_the_sentence_under_it() -> None:
    body = "Ferries leave at nine in the morning."
    text = f"# Timetable\n\n## Summer\n\n{body} {body}"
    assert texts_of(text) == [f"# Timetable\n\n## Summer\n\n{body}", body]


@pytest.mark.case(98)
def test_every_row_is_a_strip_and_the_header_leads_the_first() -> None:
    rows = "".join(f"| K{i} | {i} Nm |\n" for i in range(80))
    found = texts_of(f"| part | torque |\n|---|---|\n{rows}")
    assert len(found) == 80
    assert found[0] == "| part | torque |\n|---|---|\n| K0 | 0 Nm |"
    assert found[7] == "| K7 | 7 Nm |"


@pytest.mark.case(99)
def test_a_fence_is_one_strip() -> None:
    fence = "```\n" + "\n".join(f'x{i} = "a. b?"' for i in range(20)) + "\n```"
    assert fence in texts_of(f"Some code that follows on this sentence.\n\n{fence}\n\nAnd an end.")


@pytest.mark.case(96)
def test_no_strip_ends_at_an_abbreviation() -> None:
    text = "Dr. Osei set No. 4 to 3.5 bar, e.g. at night. See v2.0.1. Dose 400 mg. Copy sent."
    assert not any(
        piece.endswith(("Dr.", "No.", "3.", "e.g.", "v2.", "v2.0.")) for piece in texts_of(text)
    )


def test_a_window_joins_sentences_within_their_section() -> None:
    one, two, three = (f"The {word} sentence is long enough." for word in ("first", "next", "last"))
    assert texts_of(f"{one} {two} {three}", window=2) == [f"{one} {two}", three]
    assert texts_of(f"{one}\n\n# New\n\n{two}", window=2) == [one, f"# New\n\n{two}"]
    assert texts_of(f"{one} {two}", window=2, max_chars=60) == [one, two]


def test_an_impossible_window_is_refused() -> None:
    with pytest.raises(ValueError, match="window must be at least 1"):
        strips_of("a", window=0)


def test_nothing_gives_no_strips() -> None:
    assert strips_of(" \n") == []


def test_a_short_end_of_a_row_stays_with_its_own_row() -> None:
    rows = (
        "module: heapq; object: heapq; characters: 1409; summary: A queue. Heaps are arrays for "
        "which the first is the smallest of all of them, counting from 0. Fo",
        "module: heapq; object: heapreplace; characters: 405; summary: Pop and return the smallest "
        "value, and add the new item to the heap at once.",
    )
    document = Document("\n".join(rows), id="d")
    texts = [strip["text"] for strip in decompose(document, origin="internal")]
    assert not any("Fo" in text and "heapreplace" in text for text in texts)
