import pytest

from crag_graph.search.excerpt import excerpt

FILLER = "This sentence has nothing to say about the matter at hand. " * 12


def page(*inside: str) -> str:
    return "\n\n".join(["The handbook of the pump house.", *[FILLER] * 60, *inside, *[FILLER] * 60])


def test_a_text_that_fits_stays_as_it_is():
    assert excerpt("Short.", "anything", limit=100) == "Short."


@pytest.mark.case(40)
def test_of_a_long_text_the_beginning_and_what_matches_stay_in_order():
    text = page("Valve K7 takes 9 Nm of torque.", "Tighten it crosswise.", "Valve K9 takes 11 Nm.")
    cut = excerpt(text, "torque of valve K7", limit=4000)
    assert len(cut) <= 4000
    assert cut.startswith("The handbook")
    assert cut.index("K7 takes 9 Nm") < cut.index("Tighten it") < cut.index("K9")


def test_what_matches_is_found_without_accents_and_in_scripts_without_spaces():
    assert "Göteborg" in excerpt(page("Färjan till Göteborg går nu."), "Goteborg", limit=3000)
    assert "阀门扭矩" in excerpt(page("阀门扭矩为九牛米。"), "阀门扭矩", limit=3000)


def test_where_nothing_matches_the_beginning_stays():
    text = "\n\n".join(f"Paragraph {n} says little. " + "word " * 100 for n in range(50))
    cut = excerpt(text, "zebra", limit=3000)
    assert cut.startswith("Paragraph 0")
    assert "Paragraph 1 " in cut
    assert "Paragraph 49" not in cut


@pytest.mark.parametrize("text", ["x" * 500_000, "ü" * 90_000, "\n\n".join("ab" * 90_000)])
def test_a_text_without_breaks_is_cut_all_the_same(text):
    assert 0 < len(excerpt(text, "ab", limit=5000)) <= 5000
