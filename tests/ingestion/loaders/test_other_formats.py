import json
import subprocess
import sys
from email.message import EmailMessage
from pathlib import Path

import pytest

from crag_graph.errors import LoadError
from crag_graph.ingestion.loaders import parse

WIKI = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/" version="0.10">
<siteinfo><sitename>W</sitename><dbname>w</dbname><base>b</base><generator>g</generator>
<case>first-letter</case><namespaces><namespace key="0" case="first-letter"/></namespaces>
</siteinfo>{pages}</mediawiki>"""
PAGE = """<page><title>{title}</title><ns>{ns}</ns><id>1</id>{redirect}<revision><id>2</id>
<timestamp>2024-01-01T00:00:00Z</timestamp>
<contributor><username>A</username><id>1</id></contributor><model>wikitext</model>
<format>text/x-wiki</format><text xml:space="preserve">{text}</text>
<sha1>x</sha1></revision></page>"""


def wiki(*pages: str) -> bytes:
    return WIKI.format(pages="".join(pages)).encode()


def page(title: str, text: str, *, ns: int = 0, redirect: str = "") -> str:
    return PAGE.format(title=title, text=text, ns=ns, redirect=redirect)


def test_a_notebook_becomes_markdown() -> None:
    notebook = {
        "metadata": {"language_info": {"name": "python"}},
        "cells": [
            {"cell_type": "markdown", "source": ["# Pumps\n", "Two of them. ![x](data:1)"]},
            {
                "cell_type": "code",
                "source": "print(1)",
                "outputs": [
                    {"output_type": "stream", "text": ["1\n"]},
                    {"data": {"image/png": "x"}},
                ],
            },
            {"cell_type": "code", "source": [], "outputs": []},
        ],
    }
    (part,) = parse(Path("a.ipynb"), json.dumps(notebook).encode())
    assert part.kind == "markdown"
    assert part.text == "# Pumps\nTwo of them. x\n\n```python\nprint(1)\n```\n\n```\n1\n```"


def test_a_long_output_of_a_notebook_is_not_cut_within_a_colour() -> None:
    shown = "x" * 495 + "\x1b[38;5;160m" + "y" * 100
    cell = {"cell_type": "code", "source": "run()", "outputs": [{"text": shown}]}
    (part,) = parse(Path("a.ipynb"), json.dumps({"cells": [cell]}).encode())
    assert part.text.endswith("x" * 495 + "yyyyy\n```")


@pytest.mark.parametrize("data", [b"{}", b"[]", b"text", b'{"cells": [{"source": 3}]}'])
def test_what_is_no_notebook_is_reported(data: bytes) -> None:
    with pytest.raises(LoadError, match="not a Jupyter notebook"):
        parse(Path("a.ipynb"), data)


def test_a_message_says_who_when_and_what() -> None:
    message = EmailMessage()
    message["Subject"] = "Ferry – price"
    message["From"] = "Mara <mara@example.org>"
    message["Date"] = "Tue, 05 Mar 2024 10:00:00 +0100"
    message.set_content("It is 12 €.")
    message.add_alternative("<p>It is <b>12 €</b>.</p>", subtype="html")
    (part,) = parse(Path("a.eml"), message.as_bytes())
    assert part.metadata == {"title": "Ferry – price", "published": "2024-03-05"}
    assert part.text.startswith("From: Mara <mara@example.org>\nDate: Tue, 05 Mar 2024")
    assert part.text.strip().endswith("It is 12 €.")


def test_a_saved_page_is_read_as_the_page() -> None:
    message = EmailMessage()
    message["Subject"] = "Saved"
    message.set_content("<title>Pumps</title><nav>Menu</nav><h1>Pumps</h1><p>Two.</p>", "html")
    (part,) = parse(Path("a.mhtml"), message.as_bytes())
    assert part.text == "# Pumps\n\nTwo."
    assert part.metadata == {"title": "Pumps"}


def test_a_text_without_headers_is_no_message() -> None:
    with pytest.raises(LoadError, match="it has no headers"):
        parse(Path("a.eml"), b"\njust text")


def test_the_articles_of_a_wiki_export_are_parts() -> None:
    data = wiki(
        page("Pump house", "'''The pump house''' is at [[Lund]].\n\n== Valves ==\nTwo."),
        page("Talk:Pump house", "Chatter.", ns=1),
        page("Old", "#REDIRECT [[Pump house]]", redirect='<redirect title="Pump house"/>'),
        page("Café", "Open."),
    )
    first, second = parse(Path("a.xml"), data)
    assert first.metadata == {"title": "Pump house", "section": 1}
    assert first.text.startswith("The pump house is at Lund.")
    assert second.metadata["title"] == "Café"


def test_other_xml_is_source_code() -> None:
    (part,) = parse(Path("a.xml"), b"<config><valve>7</valve></config>")
    assert (part.kind, part.metadata["language"]) == ("code", "xml")


@pytest.mark.parametrize("package", ["langchain_community", "mwxml", "mwparserfromhell"])
def test_a_missing_package_is_named(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(LoadError, match="pip install langchain-community mwxml mwparserfromhell"):
        parse(Path("a.xml"), wiki(page("A", "B")))


def test_nothing_is_printed_or_warned_of(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    path.write_bytes(wiki(page("Pump", "Two.")))
    code = (
        "from pathlib import Path; from crag_graph.ingestion.loaders import load; "
        f"assert load(Path({str(path)!r}))[0].text == 'Two.'"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
