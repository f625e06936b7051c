"""Sentences: offsets, coverage, caps, the scripts and forms of real documents."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crag_graph.text.sentences import segments, sentence_spans

PIECES = st.sampled_from(
    [
        "Dr. Osei set No. 4. ",
        "Ends here! ",
        "我们走吧。",
        "यह है। ",
        "สวัสดี ครับ ",
        "\n",
        "\n\n",
        "- item one\n",
        "1. first\n",
        "# Heading\n",
        "Title\n---\n",
        "| a | b |\n|---|---|\n| 1 | 2 |\n",
        "```\nx = 1. # ? \n\ny\n```\n",
        "~~~py\n",
        "key: value\n",
        "👨\u200d👩\u200d👧",
        '"quoted. text" ',
        "\ud800",
        "x" * 70,
        "\u2028",
        "\u3000",
        "\t",
    ]
)
DOCUMENTS = st.lists(st.one_of(PIECES, st.text(max_size=12)), max_size=25).map("".join)


def sentences(text: str, **options: int) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text, **options)]


def visible(text: str) -> str:
    return "".join(text.split())


@given(DOCUMENTS, st.integers(1, 80))
def test_spans_ascend_trimmed_capped_and_leave_out_white_space_alone(
    text: str, max_chars: int
) -> None:
    spans = sentence_spans(text, max_chars=max_chars)
    position = 0
    for start, end in spans:
        assert position <= start < end <= len(text)
        assert not text[position:start].strip()
        assert text[start:end] == text[start:end].strip()
        assert end - start <= max_chars
        position = end
    assert not text[position:].strip()


@given(DOCUMENTS)
def test_splitting_is_deterministic(text: str) -> None:
    assert sentence_spans(text) == sentence_spans(text)


@pytest.mark.case(96)
def test_abbreviations_decimals_and_versions_do_not_end_a_sentence() -> None:
    text = (
        "Dr. Osei set No. 4 to 3.5 bar, e.g. at night. See v2.0.1. Dose 400 mg. Copy sent. "
        "See Fig. 2 for approx. ten of them. Use Node.js or .NET now. 3. Turn the valve."
    )
    assert sentences(text) == [
        "Dr. Osei set No. 4 to 3.5 bar, e.g. at night.",
        "See v2.0.1.",
        "Dose 400 mg.",
        "Copy sent.",
        "See Fig. 2 for approx. ten of them.",
        "Use Node.js or .NET now.",
        "3. Turn the valve.",
    ]


def test_a_full_stop_without_a_space_ends_a_sentence_only_before_a_letter() -> None:
    assert sentences("It needs httpcore==1.* to run.Then it runs.") == [
        "It needs httpcore==1.* to run.",
        "Then it runs.",
    ]


def test_closing_tags_belong_to_what_they_close() -> None:
    assert sentences("<p>A client.</p> <p>It is fast.</p>") == [
        "<p>A client.</p>",
        "<p>It is fast.</p>",
    ]


def test_a_title_with_a_question_mark_does_not_end_a_sentence() -> None:
    text = "Who Wants to Be a Millionaire? was a show. Then it ended."
    assert sentences(text) == [
        "Who Wants to Be a Millionaire? was a show.",
        "Then it ended.",
    ]


@pytest.mark.case(94)
def test_chinese_without_a_space_is_split_at_its_full_stops() -> None:
    sentence = "该泵站于一九九八年重建完成。"
    text = sentence * 300
    assert sentences(text) == [sentence] * 300


@pytest.mark.case(94)
def test_thai_with_spaces_between_phrases_is_cut_below_the_cap() -> None:
    text = "สถานีสูบน้ำสร้างใหม่ วาล์วปิดก่อน " * 120
    found = sentences(text)
    assert len(found) > 5
    assert max(map(len, found)) <= 600
    assert all(piece.split()[0] in text.split() for piece in found)
    assert visible("".join(found)) == visible(text)


@pytest.mark.case(94)
def test_hindi_is_split_at_the_danda() -> None:
    text = "पंप घर बंद है। वाल्व पहले बंद होता है। फिर पंप।"
    assert sentences(text) == ["पंप घर बंद है।", "वाल्व पहले बंद होता है।", "फिर पंप।"]


def test_a_japanese_passage_in_an_english_document_is_split_as_japanese() -> None:
    text = "The manual says so in Japanese, see below.\n\n弁を閉じる。次にポンプを止める。"
    assert sentences(text)[1:] == ["弁を閉じる。", "次にポンプを止める。"]


def test_list_items_headings_and_lines_of_pairs_are_their_own() -> None:
    text = (
        "# Ports\nText goes\non here.\n- first item\n  continued\n- second. Third.\n"
        "Port: 8443\nUser: ops\n"
    )
    assert sentences(text) == [
        "# Ports",
        "Text goes\non here.",
        "- first item\n  continued",
        "- second.",
        "Third.",
        "Port: 8443",
        "User: ops",
    ]


def test_a_wrapped_line_that_begins_with_a_number_is_not_a_list_item() -> None:
    text = "The limit was raised to\n14. It was 12 before."
    assert sentences(text) == ["The limit was raised to\n14.", "It was 12 before."]


def test_a_list_that_starts_at_one_interrupts_a_paragraph() -> None:
    assert sentences("Do this:\n1. open\n2. close") == ["Do this:", "1. open", "2. close"]


def test_long_lines_are_paragraphs_of_their_own() -> None:
    line = "a sentence without an end that goes on for longer than any line wrapped by hand " * 2
    assert sentences(f"{line}\n{line}") == [line.strip()] * 2


def test_the_line_over_an_underline_is_a_heading_and_the_paragraph_before_is_not() -> None:
    found = segments("Intro text here\nTitle\n=====\nBody text. More.")
    assert [segment.kind for segment in found] == ["prose", "heading", "prose", "prose"]


@pytest.mark.case(99)
def test_a_fence_that_fits_stays_together() -> None:
    fence = "```python\nprint('a. b? c!')\n\nprint('d')\n```"
    assert sentences(f"Run this.\n{fence}\nThen stop.") == ["Run this.", fence, "Then stop."]


@pytest.mark.case(99)
def test_a_fence_that_does_not_fit_is_split_at_blank_lines() -> None:
    blocks = ["\n".join(f'line_{i}_{j} = "a. b? c"' for j in range(10)) for i in range(6)]
    text = "```python\n" + "\n\n".join(blocks) + "\n```"
    found = sentences(text, max_chars=600)
    assert len(found) > 2
    assert all(piece.startswith(("```python", "line_")) for piece in found)
    assert visible("".join(found)) == visible(text)
    for piece in found[:-1]:
        assert text[text.index(piece) + len(piece) :].startswith("\n\n")


@pytest.mark.case(99)
def test_code_without_blank_lines_is_cut_at_line_ends() -> None:
    text = "```\n" + "\n".join(f"value_{i} = call({i})" for i in range(80)) + "\n```"
    assert all(piece.startswith(("```", "value_")) for piece in sentences(text, max_chars=200))


def test_the_lone_end_of_a_fence_does_not_swallow_what_follows() -> None:
    text = "x = 1\n```\nFirst sentence. Second sentence."
    assert sentences(text)[-1] == "Second sentence."


@pytest.mark.case(98)
def test_table_rows_are_their_own_and_the_dashes_belong_to_the_header() -> None:
    table = "| part | torque |\n|------|--------|\n| K7 | 9 Nm |\n| K8 | 10 Nm |"
    assert sentences(f"Torques:\n{table}\nEnd.") == [
        "Torques:",
        "| part | torque |\n|------|--------|",
        "| K7 | 9 Nm |",
        "| K8 | 10 Nm |",
        "End.",
    ]


def test_tables_without_outer_bars_are_tables() -> None:
    found = segments("part | torque\n---|---\nK7 | 9 Nm\nK8 | 10 Nm\n\na | b is prose")
    assert [segment.kind for segment in found] == ["head", "row", "row", "prose"]


def test_what_is_too_long_is_cut_after_sentences_in_quotes_then_clauses_then_words() -> None:
    quoted = '"' + "This is said. " * 20 + '"'
    assert all(piece.endswith("said.") for piece in sentences(quoted, max_chars=100)[:-1])
    clauses = "one more clause, " * 20
    assert all(piece.endswith(",") for piece in sentences(clauses, max_chars=100)[:-1])
    words = "word " * 60
    assert all(piece.endswith("word") for piece in sentences(words, max_chars=99))


def test_a_long_run_is_cut_between_user_perceived_characters() -> None:
    family = "👨\u200d👩\u200d👧"
    assert set(sentences(family * 100, max_chars=42)) <= {family * n for n in range(1, 9)}


@pytest.mark.case(100)
@pytest.mark.parametrize(
    "text",
    [
        "a" * 500_000,
        ". " * 100_000,
        "(" * 50_000,
        'var a=function(b){return b.c("x.y?z!")};' * 10_000,
        "该。" * 100_000,
        "该" * 200_000,
        '"a. ' * 100_000,
        "| a " * 100_000,
        "a|\n" + "-|" * 100_000 + "x",
        "```\n" * 20_001,
        "\n" * 200_000,
        " " * 500_000 + "a",
        "a" + "\u0301" * 200_000,
    ],
    ids=lambda text: repr(text[:8]),
)
def test_half_a_million_characters_of_anything_end_capped_and_complete(text: str) -> None:
    found = sentences(text)
    assert max(map(len, found), default=0) <= 600
    assert sum(len(visible(piece)) for piece in found) == len(visible(text))


def test_an_impossible_cap_is_refused() -> None:
    with pytest.raises(ValueError, match="max_chars must be at least 1"):
        sentence_spans("a", max_chars=0)


def test_nothing_visible_has_no_sentence() -> None:
    assert sentence_spans(" \n\t\u3000") == []
