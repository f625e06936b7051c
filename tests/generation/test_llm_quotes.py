import pytest

from crag_graph.generation.base import Evidence
from crag_graph.generation.quotes import verify_quotes


def source(number, *strips):
    return Evidence(
        number=number,
        text=" ".join(strips),
        strip_ids=tuple(map(str, range(len(strips)))),
        strips=strips,
        scores=(None,) * len(strips),
        document_id=f"d{number}",
        origin="internal",
        source=f"docs/{number}.md",
    )


EVIDENCE = [
    source(1, "The ferry to Lund leaves at 9 from pier 4."),
    source(2, "Bicycles travel free of charge on every boat."),
]


@pytest.mark.parametrize(
    ("answer", "checked", "weak"),
    [
        ("The ferry to Lund leaves at 9 [1].", 1, 0),
        ("The ferry to Lund leaves at 9. [1]", 1, 0),
        ("The ferry leaves at 9 [1]. Bicycles travel free [2].", 2, 0),
        ("The ferry leaves at 9 and bicycles travel free [1, 2].", 1, 0),
        ("The ferry leaves at 10 [1].", 1, 1),
        ("The ferry leaves at 9 [2].", 1, 1),
        ("Penguins live in the south [1].", 1, 1),
        ("Penguins live in the south.", 0, 0),
        ("Penguins [7].", 0, 0),
        ("- The ferry to Lund leaves at 9 [1]\n- Bicycles travel free [2]", 2, 0),
        ("", 0, 0),
    ],
)
def test_a_cited_sentence_must_overlap_what_it_cites(answer, checked, weak):
    found = verify_quotes(answer, EVIDENCE)
    assert (found.checked, len(found.weak)) == (checked, weak)


def test_the_share_is_a_sentence_that_shows_what_does_not_hold():
    found = verify_quotes("The ferry leaves at 9 [1]. It costs 40 crowns [1].", EVIDENCE)
    assert found.sentence.startswith("1 of 2 cited sentences overlap what they cite; not: It costs")
    assert verify_quotes("None.", EVIDENCE).sentence.startswith("no sentence")
