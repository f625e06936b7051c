from pathlib import Path

import pytest

from crag_graph.ingestion.loaders import LoadedPart, load
from crag_graph.ingestion.loaders.html import html_to_markdown

PAGE = """<!DOCTYPE html><html><head><title> Pump
manual </title><meta property="article:published_time" content="2024-02-03T10:00:00Z">
<style>p {color: red}</style><script>var hidden = "secret";</script></head><body>
<header><a href="/">Site name</a></header>
<nav><ul><li><a href="/a">Home page</a></li></ul></nav>
<div class="sidebar"><h3>Elsewhere</h3><a href="x">Side story</a></div>
<main><h1>Pump manual<a class="headerlink" href="#x">¶</a></h1>
<p>The pump was built in <a href="https://example.org/1911">1911</a> &amp; works.</p>
<h2>Torques</h2>
<table><tr><th>part</th><th>torque</th></tr><tr><td>K7</td><td>9 Nm</td></tr></table>
<pre><code>valve  close
    --now</code></pre>
<ul><li>one</li><li>two</li></ul></main>
<footer>Copyright notice</footer></body></html>"""


def loaded(tmp_path: Path, data: bytes) -> LoadedPart:
    path = tmp_path / "page.html"
    path.write_bytes(data)
    (part,) = load(path)
    return part


def test_the_main_content_keeps_its_form(tmp_path: Path) -> None:
    part = loaded(tmp_path, PAGE.encode())
    assert part.kind == "markdown"
    assert part.metadata == {"title": "Pump manual", "published": "2024-02-03"}
    assert "# Pump manual\n\nThe pump was built in 1911 & works.\n\n## Torques" in part.text
    assert "| part | torque |\n| --- | --- |\n| K7 | 9 Nm |" in part.text
    assert "```\nvalve  close\n    --now\n```" in part.text
    assert "- one" in part.text


@pytest.mark.parametrize(
    "noise",
    ["Site name", "Home page", "Side story", "Copyright", "secret", "color", "¶", "example.org"],
)
def test_what_is_around_the_content_is_left_out(tmp_path: Path, noise: str) -> None:
    assert noise not in loaded(tmp_path, PAGE.encode()).text


def test_a_page_without_a_main_element_keeps_its_body() -> None:
    text, _ = html_to_markdown("<body><div class='content'><p>All of it.</p></div></body>")
    assert text == "All of it."


def test_sections_named_like_navigation_are_content() -> None:
    text, _ = html_to_markdown(
        "<body><section id='pagination'><h2>Pagination</h2><p>Pass a cursor.</p></section>"
        "<div class='section' id='menu'><h2>Menu</h2><p>Press F1.</p></div>"
        "<h2 class='toc'>Heading</h2><p>Text.</p></body>"
    )
    assert "Pass a cursor." in text
    assert "Press F1." in text
    assert "## Heading" in text


def test_most_of_a_page_is_never_dropped_for_its_class() -> None:
    text, _ = html_to_markdown(
        "<body><div class='banner'><p>All that there is to read on this page.</p></div></body>"
    )
    assert text == "All that there is to read on this page."


@pytest.mark.case(93)
def test_the_declared_encoding_is_used(tmp_path: Path) -> None:
    page = '<html><head><meta charset="windows-1251"></head><body><p>Клапан 7</p></body></html>'
    part = loaded(tmp_path, page.encode("cp1251"))
    assert part.text == "Клапан 7"
    assert part.metadata == {"encoding": "cp1251"}


@pytest.mark.case(90)
def test_a_nul_does_not_end_the_page(tmp_path: Path) -> None:
    part = loaded(tmp_path, b"<html><body><p>pump\x00 house</p><p>valve</p></body></html>")
    assert part.text == "pump house\n\nvalve"


def test_broken_markup_is_forgiven() -> None:
    text, _ = html_to_markdown("<p>one<p>two<b>three<table><tr><td>four")
    assert all(word in text for word in ("one", "two", "three", "four"))


def test_deep_nesting_is_survived() -> None:
    text, _ = html_to_markdown("<div>" * 20_000 + "deep" + "</div>" * 20_000)
    assert isinstance(text, str)


DOCSTRINGS = """<h1>shutil</h1><table><tr><td colspan=3><strong>Classes</strong></td></tr>
<tr><td>&nbsp;</td><td><dl><dt>SameFileError</dt></dl>
<table><tr><td>class <b>SameFileError</b></td></tr>
<tr><td><dl><dt>copy(src)</dt><dd>Copies &lt;one&gt; file.</dd></dl></td></tr></table></td>
</tr></table>
"""


def test_a_layout_table_is_no_row() -> None:
    markdown, _ = html_to_markdown(DOCSTRINGS)
    assert "|" not in markdown
    lines = [line for line in markdown.splitlines() if line.strip()]
    assert lines[:2] == ["# shutil", "**Classes**"]
    assert "class **SameFileError**" in lines
    assert "Copies <one> file." in markdown.replace("\\", "").replace("&lt;", "<").replace(
        "&gt;", ">"
    )


def test_code_beside_its_line_numbers_is_code() -> None:
    markdown, _ = html_to_markdown(
        "<table><tr><td><pre>1\n2</pre></td><td><pre>x = 1\ny = 2</pre></td></tr></table>"
    )
    assert "x = 1\ny = 2" in markdown
    assert "|" not in markdown


def test_a_table_of_data_stays_one_although_it_stands_in_a_layout_table() -> None:
    data = "<table><tr><th>part</th><th>torque</th></tr><tr><td>bolt</td><td>9 Nm</td></tr></table>"
    markdown, _ = html_to_markdown(f"<table><tr><td>Left</td><td>{data}</td></tr></table>")
    assert markdown.count("| bolt | 9 Nm |") == 1
    assert "| part | torque |" in markdown
    assert "| Left" not in markdown
