import datetime

import pytest
from langchain_core.documents import Document

from crag_graph.search.base import SearchResult
from crag_graph.search.rank import merge, order
from crag_graph.search.results import MAX_TOTAL_CHARACTERS
from crag_graph.text.timely import is_time_sensitive

TODAY = datetime.date(2026, 11, 30)


def page(url: str, text: str = "x", published: str = "") -> Document:
    metadata = {"source": url} | ({"published": published} if published else {})
    return Document(page_content=text, metadata=metadata)


def sources(documents: list[Document]) -> list[str]:
    return [document.metadata["source"] for document in documents]


@pytest.mark.case(41)
def test_a_page_that_several_searches_found_is_one_and_comes_first():
    one = SearchResult(documents=[page("https://a.example"), page("https://b.example/x")])
    two = SearchResult(documents=[page("https://c.example"), page("http://b.example/x/#top")])
    merged = merge([one, two])
    assert sources(merged) == ["https://b.example/x", "https://a.example", "https://c.example"]


def test_of_a_page_found_twice_all_parts_are_kept_once():
    one = SearchResult(documents=[page("https://a.example", "Head.\n\nThe year is 1905.")])
    two = SearchResult(documents=[page("https://a.example", "Head.\n\nThe city paid.")])
    (merged,) = merge([one, two])
    assert merged.page_content == "Head.\n\nThe year is 1905.\n\nThe city paid."


def test_passages_of_one_file_in_a_second_corpus_stay_apart():
    found = [page("a.md", "one"), page("a.md", "two"), page("a.md", "one")]
    assert [d.page_content for d in merge([SearchResult(documents=found)])] == ["one", "two"]


def test_wikipedia_comes_first_when_it_is_preferred():
    found = [
        page("https://notwikipedia.org/x"),
        page("https://sv.wikipedia.org/wiki/Lund"),
        page("https://a.example"),
        page("https://en.m.wikipedia.org/wiki/Lund"),
    ]
    assert order(found, today=TODAY, wikipedia=False, recent=False) == found
    preferred = order(found, today=TODAY, wikipedia=True, recent=False)
    assert [found.index(document) for document in preferred] == [1, 3, 0, 2]


@pytest.mark.case(107)
def test_recent_pages_come_before_older_and_undated_ones_when_it_matters():
    found = [
        page("https://a.example"),
        page("https://b.example", published="2021-01-01"),
        page("https://c.example", published="2026-10-01"),
        page("https://d.example", published="2026-11-28"),
        page("https://e.example", published="no date"),
        page("https://f.example", published="2026-11-27"),
    ]
    recent = order(found, today=TODAY, wikipedia=False, recent=True)
    assert [found.index(document) for document in recent] == [3, 5, 2, 0, 1, 4]


@pytest.mark.case(40)
def test_what_exceeds_the_cap_of_all_goes_from_the_end():
    found = [page(f"https://{n}.example", "x" * 12_000) for n in range(9)]
    kept = order(found, today=TODAY, wikipedia=False, recent=False)
    assert kept == found[:4]
    huge = [page("https://a.example", "x" * (MAX_TOTAL_CHARACTERS + 1))]
    assert order(huge, today=TODAY, wikipedia=False, recent=False) == huge


@pytest.mark.parametrize(
    ("question", "sensitive"),
    [
        ("latest ferry timetable for Orsk harbour", True),
        ("What is the current fare?", True),
        ("Who won the cup in 2026?", True),
        ("Wer ist heute Bürgermeister?", True),
        ("Quels sont les horaires actuels ?", True),
        ("Who built the dam in 1905?", False),
        ("How does a current flow through copper wire bundles?", True),  # no harm: dates decide
        ("What is the torque of valve K7?", False),
    ],
)
def test_questions_for_what_is_current_are_known(question, sensitive):
    assert is_time_sensitive(question, today=TODAY) is sensitive
