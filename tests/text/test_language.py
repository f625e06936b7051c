"""Telling languages apart, cheaply."""

import pytest

from crag_graph.text.language import STOP_WORDS, detect_language, fold


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("When was the dam built and who paid for it?", "en"),
        ("Wann wurde der Damm gebaut und wer hat ihn bezahlt?", "de"),
        ("Quand le barrage a-t-il été construit et par qui ?", "fr"),
        ("¿Cuándo se construyó la presa y quién la pagó?", "es"),
        ("Quando fu costruita la diga e chi la pagò?", "it"),
        ("Quando a barragem foi construída e quem pagou por ela?", "pt"),
        ("Wanneer werd de dam gebouwd en wie heeft het betaald?", "nl"),
        ("大坝是什么时候建成的？", "zh"),
        ("ダムはいつ建設されましたか。", "ja"),
        ("댐은 언제 지어졌나요?", "ko"),
        ("เขื่อนสร้างเมื่อไหร่", "th"),
        ("बांध कब बना था?", "hi"),
        ("Когда построили плотину?", "ru"),
        ("متى بني السد؟", "ar"),
        ("8443", "en"),
        ("", "en"),
        ("🙂", "en"),
    ],
)
def test_script_and_function_words_decide(text: str, language: str) -> None:
    assert detect_language(text) == language


def test_a_name_in_another_script_does_not_decide() -> None:
    assert detect_language("The city of 東京 is the capital of the country.") == "en"


def test_folding_takes_accents_from_latin_and_greek_only() -> None:
    assert fold("Brücke Ἀθῆναι Straße İ") == "brucke αθηναι strasse i"
    assert fold("किताब й") == "किताब й"


def test_function_words_are_folded() -> None:
    assert "fur" in STOP_WORDS["de"]
    assert all(word == fold(word) for words in STOP_WORDS.values() for word in words)
