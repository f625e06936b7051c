"""Terms, names and numbers in a form in which two texts can be compared."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crag_graph.text.keywords import content_terms, names_and_numbers


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("When was the dam built and who paid?", ["dam", "built", "paid"]),
        ("Pumps, companies, buses and glass", ["pump", "company", "buse", "glass"]),
        ("Mara's café; don't stop", ["mara", "cafe", "stop"]),
        ("d'eau qu'il l'usine", ["eau", "usine"]),
        (
            "1,200 mg, 3.5 bar, v2.0.1, 12,5 and 1,00,000",
            ["1200", "mg", "3.5", "bar", "v2.0.1", "12.5", "100000"],
        ),
        ("400mg 2kg 1980s K7 COVID-19", ["400", "mg", "2", "kg", "1980", "k7", "covid", "19"]),
        ("in the U.S. or the US, says WHO; tell us who", ["us", "us", "say", "who"]),
        ("Ｋ７ ①", ["k7", "1"]),
        ("٢٠٢٤", ["2024"]),
        ("北京的首都", ["北京", "京的", "的首", "首都"]),
        ("山", ["山"]),
        ("iPhone手机", ["iphone", "手机"]),
        ("서울은 어디에", ["서울", "울은", "어디", "디에"]),
        ("किताब कहाँ", ["किताब", "कहाँ"]),
        ("who are we", []),
        ("🙂 … —", []),
        ("", []),
    ],
)
def test_content_terms(text: str, terms: list[str]) -> None:
    assert content_terms(text) == terms


def test_versions_are_not_rounded() -> None:
    assert content_terms("Python 3.10") != content_terms("Python 3.1")


def test_names_are_capitals_and_numbers_are_digits() -> None:
    text = "Does Dr. Osei, of Harlow Engineering, give 400mg of iPlex to K7?"
    assert names_and_numbers(text) == {
        "dr", "osei", "harlow", "engineering", "400", "mg", "iplex", "k7",
    }  # fmt: skip


def test_the_first_word_of_a_sentence_is_a_name_only_where_that_is_asked_for() -> None:
    assert names_and_numbers("Torque for K7? Paris is big.") == {"torque", "k7", "paris"}
    assert names_and_numbers("Torque for K7? Paris is big.", opening=False) == {"k7"}
    assert names_and_numbers("Marie Curie won.", opening=False) == {"marie", "curie"}
    assert names_and_numbers("She met Dr. Osei there.", opening=False) == {"dr", "osei"}


def test_in_a_text_all_in_capitals_capitals_say_nothing() -> None:
    assert names_and_numbers("WHAT IS THE TORQUE OF K7?") == {"k7"}
    assert content_terms("WHAT IS THE TORQUE OF K7?") == ["torque", "k7"]


def test_a_text_whose_names_agree_agrees_whatever_the_writing() -> None:
    question = names_and_numbers("What did Müller pay in 1,998?", opening=False)
    assert question <= set(content_terms("In 1998 MULLER paid, said the clerk."))


@given(st.text(max_size=120))
def test_names_are_content_terms_and_terms_are_normal(text: str) -> None:
    terms = content_terms(text)
    assert names_and_numbers(text) <= set(terms)
    assert names_and_numbers(text, opening=False) <= names_and_numbers(text)
    assert all(term and term == term.strip() for term in terms)
    assert content_terms(text) == terms
