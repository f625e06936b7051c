import pytest

from crag_graph.generation.base import Evidence
from crag_graph.generation.conflicts import conflicts


def source(number, *strips, origin="internal", document="", **fields):
    return Evidence(
        number=number,
        text=" ".join(strips),
        strip_ids=tuple(map(str, range(len(strips)))),
        strips=strips,
        scores=(None,) * len(strips),
        document_id=document or f"d{number}",
        origin=origin,
        source=f"docs/{number}.md",
        title=f"T{number}",
        **fields,
    )


def web(number, *strips, **fields):
    return source(number, *strips, origin="web", **fields)


@pytest.mark.case(107)
@pytest.mark.parametrize(
    ("corpus", "page", "said"),
    [
        (
            "Goods may be returned within 14 days.",
            "Goods can be returned within 30 days.",
            "14 day",
        ),
        ("The valve opens at 3.5 bar.", "The valve opens at 4 bar.", "3.5 bar"),
        ("The dam was built in 1962.", "The dam was built in 1971.", "1962"),
        ("The sale ends on 3 June.", "The sale ends on 4 June.", "3 june"),
        ("The limit is 1,000 litres a day.", "The limit is 1200 litres a day.", "1000 litre"),
        ("Dose: 400mg of X daily.", "Dose: 200 mg of X daily.", "400 mg"),
    ],
)
def test_different_numbers_about_the_same_are_named_with_both_sources(corpus, page, said):
    (sentence,) = conflicts([source(1, corpus), web(2, page)])
    assert f"T1 (the corpus) says {said}" in sentence
    assert "T2 (the web) says" in sentence


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Goods may be returned within 14 days.", "Goods may be returned within 14 days."),
        ("Goods may be returned within 14 days.", "Goods may be returned within two weeks."),
        ("The dam was built in 1962.", "The tower in Orsk was repaired in 1971."),
        ("The valve opens at 3 bar.", "The valve opens after 9 seconds."),
        ("Between 3 and 5 bar is normal for the valve.", "5 bar is normal for the valve."),
        ("No numbers are here.", "None are here."),
        ("", ""),
    ],
)
def test_what_agrees_or_is_about_something_else_is_no_conflict(one, other):
    assert conflicts([source(1, one), web(2, other)]) == []


def test_two_parts_of_one_document_do_not_conflict():
    parts = "Goods may be returned within 14 days.", "Goods may be returned within 30 days."
    assert conflicts([source(1, *parts)]) == []


def test_the_corpus_against_the_web_comes_first_and_three_are_enough():
    items = [
        source(1, "Goods may be returned within 14 days."),
        source(2, "Goods may be returned within 15 days."),
        web(3, "Goods may be returned within 16 days."),
        web(4, "Goods may be returned within 17 days."),
    ]
    found = conflicts(items)
    assert len(found) == 3
    assert all("the corpus" in sentence and "the web" in sentence for sentence in found)


def test_dates_of_publication_are_named():
    (sentence,) = conflicts(
        [
            source(1, "Goods may be returned within 14 days.", published="2021-03-01"),
            web(2, "Goods may be returned within 30 days."),
        ]
    )
    assert "T1 (the corpus, 2021-03-01) says 14 day" in sentence
