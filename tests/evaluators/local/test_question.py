import pytest

from crag_graph.evaluators.local.echo import find_echoes
from crag_graph.evaluators.local.question import Question, fits_kind, rarity, read_question
from crag_graph.models.local.minilm import shared_minilm
from crag_graph.text.terms import content_words

ids = shared_minilm().token_ids


def read(question: str) -> Question:
    return read_question(question, ids)


def fits(question: str, strip: str) -> float:
    return fits_kind(read(question), strip, content_words(strip))


def echoed(question: str, strip: str) -> str:
    """Return `strip` with the echoes replaced by underscores."""
    for start, end in find_echoes(read(question), strip, content_words(strip)):
        strip = strip[:start] + "_" * (end - start) + strip[end:]
    return strip


def test_frequent_words_are_less_rare_than_rare_ones() -> None:
    assert rarity("people", ids) < rarity("valley", ids) < rarity("salinity", ids) <= 1.0
    assert rarity("京", ids) == 0.5  # no word of the vocabulary's list
    assert rarity("electroencephalography", ids) == 1.0


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("When did the war end?", "date"),
        ("what year was the dam built", "date"),
        ("How many pumps are there?", "number"),
        ("What is the population of Sweden?", "number"),
        ("who wrote it", "name"),
        ("Which team won?", "name"),
        ("Where is the valve?", "place"),
        ("Why does it leak?", "reason"),
        ("What is a strip?", "definition"),
        ("How does it work?", ""),
        ("Wann wurde er gebaut?", ""),
    ],
)
def test_the_kind_of_answer_that_is_asked_for(question: str, kind: str) -> None:
    assert read(question).kind == kind


@pytest.mark.parametrize(
    ("question", "strip", "expected"),
    [
        ("When was it built?", "It was built in 1931.", 1),
        ("When was it built?", "It was built in May.", 1),
        ("When was it built?", "It was built of 300 stones.", -1),
        ("When was the 1931 dam opened?", "The dam of 1931 was opened.", -1),
        ("How many pumps?", "There are seven pumps.", 1),
        ("How many pumps?", "There are pumps.", -1),
        ("Who wrote Dune?", "Dune was written by Frank Herbert.", 1),
        ("Who wrote Dune?", "Dune is a novel about a desert.", -1),
        ("Who wrote it?", "Herbert did.", 0),
        ("Where is Lund?", "Lund lies in Scania.", 1),
        ("Where is Lund?", "Lund is old.", -1),
        ("Why does it leak?", "It leaks because the seal is worn.", 1),
        ("What does HTTP stand for?", "HTTP stands for a protocol.", 1),
        ("Tell me about pumps", "There are 7 pumps.", 0),
    ],
)
def test_whether_a_strip_holds_the_kind_of_answer(
    question: str, strip: str, expected: float
) -> None:
    assert fits(question, strip) == expected


def test_names_and_numbers_of_a_question() -> None:
    assert read("Torque for K7 in 2019?").named == {"k7", "2019"}
    assert not read("Which valve closes first?").named


def test_weights_stand_at_content_words_only() -> None:
    question = read("Who is the mayor of Lund?")
    spans = [(0, 3), (4, 6), (7, 10), (11, 16), (17, 19), (20, 24), (24, 25)]

    weights = question.weigh(question.rarity, spans)

    assert [weight > 0 for weight in weights] == [False, False, False, True, False, True, False]


def test_a_question_of_function_words_weighs_them_alike() -> None:
    question = read("who are you")
    assert question.weigh(question.rarity, [(0, 3), (4, 7)]) == [1.0, 1.0]


@pytest.mark.parametrize(
    ("text", "latin"),
    [("When?", True), ("Когда?", False), ("いつですか", False), ("👍", True), ("Où est-ce?", True)],
)
def test_whether_the_encoder_can_read_it(text: str, latin: bool) -> None:
    assert read(text).latin is latin


QUESTION = "When was the Harwell dam built?"


@pytest.mark.parametrize(
    ("strip", "left"),
    [
        (QUESTION, "_" * len(QUESTION)),
        ("when was the harwell dam built", "_" * 30),
        ("Harwell dam built", "_" * 17),
        (f"{QUESTION} In 1931.", "_" * len(QUESTION) + " In 1931."),
        ("Was the Harwell dam ever built? Ask Tom.", "_" * 31 + " Ask Tom."),
        (
            "Engineers wonder when was the Harwell dam built and why.",
            "Engineers wonder " + "_" * 30 + " and why.",
        ),
        ("The Harwell dam was built in 1931.", "The Harwell dam was built in 1931."),
        ("Is the Harwell dam a tourist site?", "Is the Harwell dam a tourist site?"),
    ],
)
def test_what_repeats_the_question_is_found(strip: str, left: str) -> None:
    assert echoed(QUESTION, strip) == left


def test_keywords_in_a_sentence_are_no_echo() -> None:
    strip = "The Eiffel Tower height is 330 metres."
    assert echoed("Eiffel Tower height", strip) == strip


def test_a_statement_in_the_words_of_a_question_for_yes_or_no_is_no_echo() -> None:
    strip = "The valve is closed during start-up."
    assert echoed("Is the valve closed during start-up?", strip) == strip
    asked = "Is the valve closed during start-up?"
    assert echoed(asked, asked) == "_" * len(asked)


@pytest.mark.parametrize(
    "strip",
    [
        "Nobody knows who the captain is.",
        "It was never recorded who the captain of the Orsk was.",
        "There is no information on the captain.",
        "No captain of the Orsk is named.",
        "Everything on the captain is found elsewhere.",
        "It remains unclear who the captain was.",
        "The captain of the Orsk isn't named.",
        "This page is about the captain of the Orsk.",
        "In this section we look at the captain.",
        "Many people wonder who the captain is.",
        "Learn more about the captain.",
    ],
)
def test_what_only_says_that_the_answer_is_not_known_is_an_echo(strip: str) -> None:
    assert echoed("Who is the captain of the Orsk?", strip) == "_" * len(strip)


def test_that_nobody_knows_what_a_code_means_is_no_meaning() -> None:
    strip = "Nobody knows what E17 means."
    assert echoed("What does E17 mean?", strip) == "_" * len(strip)


@pytest.mark.parametrize(
    "strip", ["There is no information on allergies.", "No source mentions allergies."]
)
def test_that_nothing_is_told_is_another_thing_than_that_there_is_none(strip: str) -> None:
    assert echoed("What allergies does the patient have?", strip) == "_" * len(strip)


@pytest.mark.parametrize(
    ("question", "strip"),
    [
        ("Who is the captain of the Orsk?", "Nobody but Ada Holm knows the captain."),
        ("Who is the captain of the Orsk?", "Not everyone knows that Ada is the captain."),
        ("Who is the captain of the Orsk?", "The captain is asked to sign here: Holm."),
        ("Who owns the moon?", "Nobody owns the moon."),
        ("Who may ask questions?", "Anyone may ask."),
        ("Where are errors recorded?", "Errors are never recorded in the journal."),
        ("What does the index hold?", "The index holds nothing."),
        ("How do I reach the next page?", "Read the next page with the arrow."),
        ("Is the captain known?", "Nobody knows the captain."),
        ("What does error 404 mean?", "404 Not Found"),
        ("What does error E17 mean?", "E17: document not found."),
        ("What does unknown mean for a grade?", "A grade is unknown when it was not read."),
        ("What does error E18 mean?", "E18: the source is unknown."),
        ("What happens to missing values?", "Missing values are not reported."),
        ("When does the bot refuse?", "The bot refuses when no document answers the question."),
        ("What did Ada say about the report?", "Ada said that the report is unclear."),
        ("What is the state of the case?", "The case is undecided."),
        ("What is chapter 3 about?", "This chapter is about sources."),
        ("What are the known issues?", "There are no known issues."),
        ("What allergies does the patient have?", "The patient has no known allergies."),
        ("Which side effects are known?", "No side effects are known."),
        ("How many complaints were there in May?", "No complaints were recorded in May."),
    ],
)
def test_what_may_answer_is_no_echo_though_it_denies(question: str, strip: str) -> None:
    assert echoed(question, strip) == strip
