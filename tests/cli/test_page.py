"""The page of a run: self-contained, escaped, with the kept strips marked where they are."""

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from crag_graph.cli.output import output_of
from crag_graph.cli.page import check_writable, render_page, write_page
from crag_graph.errors import InputError

ATTACK = "<script>alert('x')</script><img src=x onerror=alert(1)>\"'&"


class Elements(HTMLParser):
    """Collects the tags of a page with their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.marked: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] == "mark":
            self.marked.append(data)


def run(**given: Any) -> dict[str, Any]:
    text = "First. Second <b>."
    strip = {
        "document_id": "d1",
        "score": 0.9,
        "origin": "internal",
        "source": "a.md",
        "text": "Second <b>.",
    }
    state = {
        "question": "What?",
        "status": "answered",
        "action": "ambiguous",
        "answer": "It is [1], not [2].",
        "documents": [],
        "grades": [
            {
                "document_id": "d1",
                "score": 0.5,
                "raw": 2,
                "status": "scored",
                "reason": "so",
                "evaluator": "e",
            }
        ],
        "strips": [
            {**strip, "id": "s2", "start": 7, "end": 18, "kept": True},
            {**strip, "id": "s1", "start": 0, "end": 6, "kept": False, "score": None},
        ],
        "citations": [
            {
                "number": 1,
                "document_id": "d1",
                "origin": "web",
                "kind": "url",
                "source": "https://a.example/?q=1&r=2",
                "title": "A",
                "locator": "page 3",
                "strip_ids": ["s2"],
                "quote": "Second",
            }
        ],
        "decision": {
            "score": 0.5,
            "lower": 0.3,
            "upper": 0.7,
            "margin": 0.2,
            "profile": "general",
            "provenance": "by hand",
            "reason": "between",
            "stages": {"route": {"decided": "ambiguous", "why": "between"}},
            "fallbacks": ["took the other way"],
            "failures": ["web search: refused"],
        },
        "usage": {"llm_calls": 2, "seconds": 1.5},
        "warnings": ["mind the gap"],
    }
    output = output_of(state | given)
    output["documents"] = [{"id": "d1", "page_content": text, "metadata": {"source": "a.md"}}]
    return output


def elements(page: str) -> Elements:
    parser = Elements()
    parser.feed(page)
    return parser


def test_kept_strips_are_marked_by_their_offsets_whatever_their_order():
    assert elements(render_page(run())).marked[0] == "Second <b>."


def test_it_shows_what_the_run_was_about():
    page = render_page(run())
    for said in (
        "ambiguous",
        "lower 0.30, upper 0.70 · margin 0.20 · profile general (by hand)",
        "2 LLM calls",
        "took the other way",
        "web search: refused",
        "mind the gap",
        "page 3",
    ):
        assert said in page


def test_only_markers_of_real_citations_become_links():
    page = elements(render_page(run()))
    anchors = [attributes["href"] for tag, attributes in page.tags if tag == "a"]
    assert anchors == ["#source-1", "https://a.example/?q=1&r=2"]


@pytest.mark.case(105)
def test_nothing_of_a_run_becomes_markup():
    citation = {**run()["citations"][0], "source": "javascript:alert(1)", "title": ATTACK}
    decision = {
        "reason": ATTACK,
        "profile": ATTACK,
        "stages": {ATTACK: {"decided": ATTACK, "why": ATTACK}},
        "fallbacks": [ATTACK],
        "failures": [ATTACK],
        "score": 0.5,
        "lower": 0.1,
        "upper": 0.9,
    }
    output = run(
        question=ATTACK,
        answer=ATTACK,
        action=ATTACK,
        decision=decision,
        citations=[citation],
        warnings=[ATTACK],
    )
    output["documents"][0] |= {"page_content": ATTACK, "metadata": {"source": ATTACK}}
    page = elements(render_page(output))
    names = {tag for tag, _ in page.tags}
    assert not names & {"script", "img", "iframe", "link"}
    for _, attributes in page.tags:
        assert not any(name.startswith("on") for name in attributes)
        assert not str(attributes.get("href", "")).lower().startswith("javascript")


def test_nothing_is_loaded_from_elsewhere():
    page = elements(render_page(run()))
    assert not any("src" in attributes for _, attributes in page.tags)
    policies = [a["content"] for t, a in page.tags if a.get("http-equiv")]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'"]


def test_a_refusal_without_anything_is_a_page_too():
    page = render_page(output_of({"question": "Q", "status": "refused", "action": "incorrect"}))
    assert "refused" in page
    assert "Passages" not in page


@pytest.mark.case(56)
def test_the_file_is_utf8_whatever_is_in_the_run(tmp_path: Path):
    path = tmp_path / "run.html"
    write_page(run(answer="caf\udce9 → 京 🙂"), path)
    assert "caf\ufffd → 京 🙂" in path.read_text(encoding="utf-8")


def test_a_file_that_cannot_be_written_is_refused_beforehand(tmp_path: Path):
    with pytest.raises(InputError, match="that is a folder"):
        check_writable(tmp_path)
    with pytest.raises(InputError, match="there is no folder"):
        check_writable(tmp_path / "nowhere" / "run.html")
    check_writable(tmp_path / "run.html")
    with pytest.raises(InputError, match="cannot be written"):
        write_page(run(), tmp_path)
