"""Selecting strips: floor and top k, repetitions, budgets."""

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from crag_graph.state import Strip
from crag_graph.text.strips import deduplicate, deduplicate_documents, fit, select


def strip(
    text: str,
    score: float | None = None,
    *,
    document: str = "d",
    start: int = 0,
    kept: bool = False,
) -> Strip:
    return Strip(
        id=f"{document}:{start}-{start + len(text)}",
        text=text,
        document_id=document,
        start=start,
        end=start + len(text),
        score=score,
        kept=kept,
        origin="internal",
        source="",
    )


def kept(strips: Sequence[Strip]) -> list[str]:
    return [item["text"] for item in strips if item["kept"]]


def scored(*scores: float | None, document: str = "d") -> list[Strip]:
    return [
        strip(f"{document}{index}", score, document=document, start=10 * index)
        for index, score in enumerate(scores)
    ]


SCORED = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "c"]),
        st.one_of(st.none(), st.floats(0, 1), st.just(math.nan)),
    ),
    max_size=20,
).map(
    lambda items: [
        strip(f"t{index}", score, document=document, start=10 * index)
        for index, (document, score) in enumerate(items)
    ]
)


def test_the_floor_is_inclusive_and_the_order_is_that_of_the_document() -> None:
    strips = scored(0.2, 0.3, 0.9, 0.29)
    chosen = select(strips, floor=0.3, top_k=10)
    assert [item["id"] for item in chosen] == [item["id"] for item in strips]
    assert kept(chosen) == ["d1", "d2"]


def test_the_best_are_kept_and_of_equals_the_earlier() -> None:
    assert kept(select(scored(0.5, 0.9, 0.5, 0.7), floor=0.0, top_k=3)) == ["d0", "d1", "d3"]


def test_what_was_kept_before_does_not_matter() -> None:
    strips = [strip("a", 0.1, kept=True), strip("b", 0.9)]
    assert kept(select(strips, floor=0.3, top_k=5)) == ["b"]


def test_a_strip_that_was_not_judged_follows_its_document() -> None:
    strips = [*scored(None, 0.8, document="a"), *scored(None, 0.8, document="b")]
    assert kept(select(strips, floor=0.3, top_k=5)) == ["a1", "b1"]
    assert kept(select(strips, floor=0.3, top_k=5, keep_documents={"b"})) == ["a1", "b0", "b1"]


def test_a_passage_graded_high_of_which_nothing_clears_the_floor_is_kept_whole() -> None:
    strips = [*scored(0.1, 0.2, document="a"), *scored(0.1, document="b")]
    assert kept(select(strips, floor=0.3, top_k=5, keep_documents=["a"])) == ["a0", "a1"]


def test_a_score_that_is_no_number_is_no_score() -> None:
    strips = scored(math.nan, math.inf, 0.5)
    assert kept(select(strips, floor=0.0, top_k=5)) == ["d2"]


@pytest.mark.case(115)
def test_repetitions_take_no_place_among_the_best_when_asked() -> None:
    strips = [
        strip("The valve closes first.", 0.9, document="a"),
        strip("the  valve closes first", 0.9, document="b"),
        strip("The pump stops last.", 0.5, document="b", start=50),
    ]
    assert len(kept(select(strips, floor=0.3, top_k=2))) == 2
    chosen = kept(select(strips, floor=0.3, top_k=2, distinct=True))
    assert chosen == ["The valve closes first.", "The pump stops last."]


def test_a_document_whose_good_strips_are_repetitions_is_not_kept_whole() -> None:
    strips = [
        strip("The valve closes first.", 0.9, document="a"),
        strip("The valve closes first.", 0.8, document="b"),
        strip("Boilerplate.", 0.1, document="b", start=50),
    ]
    chosen = select(strips, floor=0.3, top_k=5, keep_documents={"b"}, distinct=True)
    assert kept(chosen) == ["The valve closes first."]


@given(SCORED, st.floats(0, 1), st.integers(1, 5), st.sets(st.sampled_from(["a", "b", "z"])))
def test_selection_returns_every_strip_and_serves_every_document_graded_high(
    strips: list[Strip], floor: float, top_k: int, high: set[str]
) -> None:
    chosen = select(strips, floor=floor, top_k=top_k, keep_documents=high)
    assert [{**item, "kept": False} for item in chosen] == [
        {**item, "kept": False} for item in strips
    ] or any(item["score"] is not None and math.isnan(item["score"]) for item in strips)
    assert high & {item["document_id"] for item in strips} <= {
        item["document_id"] for item in chosen if item["kept"]
    }
    outside = [item for item in chosen if item["kept"] and item["document_id"] not in high]
    assert len(outside) <= top_k
    assert all(item["score"] is not None and item["score"] >= floor for item in outside)


@pytest.mark.case(115)
def test_the_later_of_two_kept_repetitions_goes() -> None:
    strips = [
        strip("The valve closes first.", kept=True),
        strip("Another thing.", kept=True),
        strip("THE VALVE CLOSES FIRST!", document="e", kept=True),
    ]
    assert kept(deduplicate(strips)) == ["The valve closes first.", "Another thing."]


def test_a_dropped_strip_does_not_take_a_kept_one_with_it() -> None:
    strips = [strip("The valve closes first."), strip("The valve closes first.", kept=True)]
    assert [item["kept"] for item in deduplicate(strips)] == [False, True]


@given(st.lists(st.tuples(st.sampled_from(["a b", "A b.", "c", ""]), st.booleans()), max_size=12))
def test_deduplicating_twice_changes_nothing_more(items: list[tuple[str, bool]]) -> None:
    once = deduplicate([strip(text, kept=flag) for text, flag in items])
    assert deduplicate(once) == once


@pytest.mark.case(115)
def test_nearly_identical_passages_are_found_once() -> None:
    body = " ".join(f"word{index} and so it goes" for index in range(40))
    documents = [
        Document(id="a", page_content=f"Notice. {body}"),
        Document(id="b", page_content=f"NOTICE:  {body}."),
        Document(id="c", page_content=f"Notice. {body}. Thank you."),
        Document(id="d", page_content="The answer is on the other page."),
    ]
    assert [document.id for document in deduplicate_documents(documents)] == ["a", "d"]


@pytest.mark.case(107)
def test_a_passage_that_replaces_a_number_is_not_a_repetition() -> None:
    body = "Goods may be returned by the customer within {} days of receipt, unused. " * 3
    documents = [
        Document(id="2021", page_content=body.format(14, 14, 14)),
        Document(id="2025", page_content=body.format(30, 30, 30)),
    ]
    assert deduplicate_documents(documents) == documents


def count_words(text: str) -> int:
    return len(text.split())


def test_the_lowest_scored_go_until_the_rest_fits() -> None:
    strips = [
        strip("one two three", 0.5, kept=True),
        strip("four five", 0.9, kept=True),
        strip("six", 0.2, kept=True),
        strip("seven eight", None, kept=True),
        strip("not kept at all", 1.0),
    ]
    assert kept(fit(strips, tokens=6, count=count_words)) == ["one two three", "four five", "six"]
    assert kept(fit(strips, tokens=5, count=count_words)) == ["one two three", "four five"]
    assert kept(fit(strips, tokens=100, count=count_words)) == kept(strips)


def test_of_equals_the_later_goes_first() -> None:
    strips = [strip(text, 0.5, kept=True) for text in ("a", "b", "c")]
    assert kept(fit(strips, tokens=2, count=count_words)) == ["a", "b"]


def test_the_best_strip_stays_even_when_it_is_too_much() -> None:
    strips = [strip("a b c", 0.4, kept=True), strip("d e f", 0.6, kept=True)]
    assert kept(fit(strips, tokens=1, count=count_words)) == ["d e f"]


def test_nothing_kept_fits() -> None:
    assert fit([], tokens=1, count=count_words) == []
    assert kept(fit([strip("a")], tokens=1, count=count_words)) == []


@given(SCORED, st.integers(0, 10))
def test_what_fits_is_within_the_budget_or_alone(strips: list[Strip], tokens: int) -> None:
    strips = [{**item, "kept": True} for item in strips]
    fitted = kept(fit(strips, tokens=tokens, count=count_words))
    assert sum(map(count_words, fitted)) <= tokens or len(fitted) <= 1
    assert bool(fitted) == bool(strips)
