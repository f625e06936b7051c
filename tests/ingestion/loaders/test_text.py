from pathlib import Path

import pytest

from crag_graph.ingestion.loaders import LoadedPart, is_worth_loading, load


def loaded(tmp_path: Path, name: str, text: str) -> LoadedPart:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    (part,) = load(path)
    return part


def test_plain_text_is_prose(tmp_path: Path) -> None:
    part = loaded(tmp_path, "a.txt", "The valve closes.\r\nIt opens again.\r\n")
    assert part.text == "The valve closes.\nIt opens again.\n"
    assert part.kind == "prose"
    assert part.headings == ()


def test_underlined_titles_are_headings_without_their_lines(tmp_path: Path) -> None:
    text = (
        "=======\n Manual\n=======\n\nIntro.\n\nValves\n------\n\nText.\n\nCare\n~~~~\n\n"
        "Pumps\n-----\nMore.\n"
    )
    part = loaded(tmp_path, "a.rst", text)
    assert part.text == "Manual\n\nIntro.\n\nValves\n\nText.\n\nCare\n\nPumps\nMore.\n"
    assert [(heading.level, heading.title) for heading in part.headings] == [
        (1, "Manual"),
        (2, "Valves"),
        (3, "Care"),
        (2, "Pumps"),
    ]
    assert part.metadata["title"] == "Manual"
    for heading in part.headings:
        assert part.text[heading.start : heading.end] == heading.title


def test_asciidoc_titles_are_headings(tmp_path: Path) -> None:
    part = loaded(tmp_path, "a.adoc", "= Manual\n\n== Valves ==\n\nText, 1 == 1.\n")
    assert [(heading.level, heading.title) for heading in part.headings] == [
        (1, "Manual"),
        (2, "Valves"),
    ]


def test_rules_and_borders_are_short(tmp_path: Path) -> None:
    text = f"+{'-' * 30}+\n| a |\n+{'-' * 30}+\n\n{'*' * 70}\n\nText -- a --- b.\n"
    assert (
        loaded(tmp_path, "a.txt", text).text == "+---+\n| a |\n+---+\n\n***\n\nText -- a --- b.\n"
    )
    code = f"```\n{'-' * 30}\n```"
    assert loaded(tmp_path, "a.md", code).text == code


def test_a_ruled_line_is_no_heading(tmp_path: Path) -> None:
    part = loaded(tmp_path, "a.txt", "Name   Value\n----   -----\nx      1\n\n***\n\n...\n---\n")
    assert part.headings == ()


@pytest.mark.parametrize("name", ["README", "LICENSE", "CHANGELOG", "Makefile", "Dockerfile"])
def test_well_known_names_need_no_extension(tmp_path: Path, name: str) -> None:
    assert loaded(tmp_path, name, "all: build\n").text.startswith("all: build")


def test_code_knows_its_language_and_keeps_its_indentation(tmp_path: Path) -> None:
    part = loaded(tmp_path, "a.py", "def f():\n\tif x:\n\t\treturn 1\n")
    assert part.kind == "code"
    assert part.metadata == {"language": "python"}
    assert "\n\t\treturn 1" in part.text


def test_front_matter_gives_title_and_date(tmp_path: Path) -> None:
    part = loaded(
        tmp_path,
        "a.md",
        "---\ntitle: Pump\n  manual\ndate: 2024-03-05\ntags: [a]\n---\n\n# Other\n",
    )
    assert part.metadata == {"title": "Pump manual", "published": "2024-03-05"}
    assert part.text.strip() == "# Other"


@pytest.mark.parametrize("matter", ["--- \n{{{\n---\n", "---\n- a\n---\n", "---\na: 1\nno end"])
def test_front_matter_that_is_none_does_no_harm(tmp_path: Path, matter: str) -> None:
    assert "Body" in loaded(tmp_path, "a.md", f"{matter}\n\nBody").text


@pytest.mark.parametrize("text", ["intro\n\n# Pump `K7`\n\nx", "Pump `K7`\n=========\n\nx"])
def test_the_first_heading_is_the_title(tmp_path: Path, text: str) -> None:
    assert loaded(tmp_path, "a.md", text).metadata["title"] == "Pump `K7`"


def test_a_comment_in_code_is_no_title(tmp_path: Path) -> None:
    part = loaded(tmp_path, "a.md", "Run it:\n\n```sh\n# install first\nmake\n```\n")
    assert "title" not in part.metadata


def test_layout_goes_and_code_stays(tmp_path: Path) -> None:
    part = loaded(
        tmp_path,
        "a.md",
        '<p align="center"><img src="x.png"></p>\n<!-- a\ncomment -->\n'
        "![Build](https://ci.example/badge.svg) Use `<br>` here.\n\n"
        "```html\n<p>kept</p> ![kept](x.png) <!-- kept -->\n```\n",
    )
    assert "center" not in part.text
    assert "comment" not in part.text
    assert "badge.svg" not in part.text
    assert "Build Use `<br>` here." in part.text
    assert "<p>kept</p> ![kept](x.png) <!-- kept -->" in part.text


def test_long_addresses_go_and_short_ones_stay(tmp_path: Path) -> None:
    long = "https://play.example/?code=" + "A" * 300
    part = loaded(tmp_path, "a.md", f"Try [it]({long}) or [ask](https://ask.example).")
    assert part.text == "Try it or [ask](https://ask.example)."


@pytest.mark.parametrize(
    "text",
    [
        "<!--" * 30_000,
        "`" * 60_000,
        "![" * 40_000,
        "[a](" * 30_000,
        "<p " * 40_000,
        "=\n" * 60_000,
        "a\n" + "=" * 200_000,
        "# " * 50_000,
        "\n" * 200_000 + "x",
        "~~~\n" * 40_000,
    ],
)
def test_hostile_markup_is_read_in_linear_time(tmp_path: Path, text: str) -> None:
    # Quadratic work on any of these takes minutes, and the run's own limit ends it.
    assert loaded(tmp_path, "a.md", text + "\nend").text.endswith("end")
    assert loaded(tmp_path, "a.rst", text + "\nend").text.endswith("end")


@pytest.mark.case(98)
def test_tables_in_html_become_tables(tmp_path: Path) -> None:
    part = loaded(
        tmp_path,
        "a.md",
        "# Signals\n\n<table>\n  <tr>\n    <th>name</th>\n    <th>what</th>\n  </tr>\n  <tr>\n"
        "    <td><code>HUP</code></td>\n    <td>hang up</td>\n  </tr>\n</table>\n\nEnd.\n",
    )
    assert "\n| name | what |\n| --- | --- |\n| `HUP` | hang up |\n" in part.text
    assert part.text.endswith("End.\n")


@pytest.mark.parametrize(
    ("name", "text", "worth"),
    [
        ("__init__.py", "", True),
        ("app.js", "\n", True),
        ("vendor.js", "var a=1;" * 2000, False),
        ("site.css", "a{b:c}" * 2000 + "\n", False),
        ("app.js", "var a = 1;\n" * 2000, True),
        ("data.py", "X = " + "1" * 5000, True),
        ("feed.xml", "<a>" * 5000, True),
        ("empty.txt", "", True),
        ("empty.md", "", True),
    ],
)
def test_source_files_that_nobody_reads_are_told(name: str, text: str, worth: bool) -> None:
    assert is_worth_loading(Path(name), text.encode()) is worth
