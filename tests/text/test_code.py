"""Code in Markdown, as CommonMark reads it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crag_graph.text.code import code_spans, outside_code


def code(text: str) -> list[str]:
    return [text[start:end] for start, end in code_spans(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a `b` c ``d ` e`` f", ["`b`", "``d ` e``"]),
        ("`a\nb`", ["`a\nb`"]),
        ("`a\n\nb`", []),
        ("`a", []),
        (r"\`a`", []),
        (r"\\`a`", ["`a`"]),
        (r"\``a`", ["`a`"]),
        (r"`a\`b", [r"`a\`"]),
        ("x\n```py\ny\n```\nz", ["```py\ny\n```"]),
        ("```\na", ["```\na"]),
        ("```\na\n````\nb", ["```\na\n````"]),
        ("````\na\n```\nb", ["````\na\n```\nb"]),
        ("~~~\n```\n~~~\nb", ["~~~\n```\n~~~"]),
        ("```\na\n``` b\n```", ["```\na\n``` b\n```"]),
        ("``` a`b\nc", []),
    ],
)
def test_spans_of_code(text: str, expected: list[str]) -> None:
    assert code(text) == expected


def test_only_what_is_outside_is_changed() -> None:
    assert outside_code("a `a` a\n```\na\n```", lambda text: text.replace("a", "b")) == (
        "b `a` b\n```\na\n```"
    )


def test_private_use_characters_of_the_text_stay() -> None:
    text = "\ue000 `a` \ue0010\ue001"
    assert outside_code(text, lambda piece: piece) == text


@given(st.text(alphabet="`~\\a\n \ue000\ue0010", max_size=60))
def test_no_change_is_no_change(text: str) -> None:
    assert outside_code(text, lambda piece: piece) == text


@given(st.text(alphabet="`~\\a\n ", max_size=60))
def test_spans_ascend(text: str) -> None:
    position = 0
    for start, end in code_spans(text):
        assert position <= start < end <= len(text)
        position = end


def test_many_unmatched_runs_end() -> None:
    text = " ".join("`" * length for length in range(1, 700))
    assert code(text) == []


def test_a_text_of_every_private_use_character_is_changed_as_a_whole() -> None:
    text = "".join(map(chr, range(0xE000, 0xF900))) + "`a`"
    assert outside_code(text, lambda piece: piece.replace("a", "b")).endswith("`b`")
