from pathlib import Path
from typing import Any

import pytest

from crag_graph.cli.facts import calls, cited, label_of, meaning, threshold_note


def state(action: str | None, *, grading: str = "scored", web: str = "kept 2") -> dict[str, Any]:
    stages = {"web_search": {"decided": web}} if web else {}
    return {"action": action, "decision": {"grading": grading, "stages": stages}}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (state("correct", web=""), "The corpus holds up: the answer comes from it alone."),
        (state("ambiguous"), "The corpus holds up in part: the web is asked beside it."),
        (state("ambiguous", web="off"), "but web search is off."),
        (state("incorrect"), "The corpus does not hold the answer: the web is asked instead."),
        (state("incorrect", web="off"), "but web search is off."),
        (state("ambiguous", grading="failed"), "No passage could be graded"),
        (state("incorrect", grading="empty"), "There is no passage to answer from"),
    ],
)
def test_what_an_action_means_depends_on_what_could_be_done(given, said):
    assert said in meaning(given)


def test_no_action_means_nothing():
    assert meaning(state(None)) == ""
    assert meaning({}) == ""


def test_unknown_thresholds_are_not_made_up():
    assert threshold_note({}) == "lower ?, upper ? · profile ?"


def test_calls_are_counted_in_words():
    assert calls({}).startswith("0 LLM calls · 0 evaluator passes · 0 generations · 0 web searches")
    spent = {
        "llm_calls": 1,
        "evaluator_calls": 1,
        "generation_calls": 1,
        "web_searches": 1,
        "input_tokens": 1234,
        "output_tokens": 5,
        "cache_hits": 2,
        "seconds": 0.125,
    }
    assert calls(spent) == (
        "1 LLM call · 1 evaluator pass · 1 generation · 1 web search · 1,234 tokens in, 5 out · "
        "2 cache hits · 0.12 s in the nodes"
    )


def test_a_document_is_called_by_title_and_headings_else_by_source():
    def called(**metadata: Any) -> str:
        return label_of({"id": "x", "metadata": metadata})

    assert called(title="Pumps", heading="Valves > Order") == "Pumps > Valves > Order"
    assert called(title="Pumps", heading=["Valves", "Order"]) == "Pumps > Valves > Order"
    assert called(title="Pumps", heading="Pumps") == "Pumps"
    assert called(title="Pumps", heading="Pumps > Valves") == "Pumps > Valves"
    assert called(source="a/b.md") == "a/b.md"
    assert called() == "x"
    assert label_of({}) == "untitled"


def test_a_cited_path_is_told_from_where_the_reader_is():
    citation = {"kind": "path", "source": "/notes/a/b.md", "title": "B", "locator": "page 3"}
    assert cited(citation) == ("B", "/notes/a/b.md, page 3, corpus")
    assert cited(citation, base=Path("/notes")) == ("B", "a/b.md, page 3, corpus")
    assert cited(citation, base=Path("/other")) == ("B", "/notes/a/b.md, page 3, corpus")
    url = {"kind": "url", "source": "https://a.example/", "title": "", "origin": "web"}
    assert cited(url, base=Path("/")) == ("https://a.example/", "web")
