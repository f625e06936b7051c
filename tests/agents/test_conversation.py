"""The rules that tell small talk, questions about the conversation and follow-ups apart."""

import pytest

from crag_graph.agents.conversation import (
    Turn,
    about_the_conversation,
    is_follow_up,
    needs_the_whole,
    small_talk,
    standalone_by_rule,
)


def said(*turns: str) -> list[Turn]:
    """Turns, the user's first and the assistant's second, and so on."""
    return [
        {"role": "user" if number % 2 == 0 else "assistant", "content": text}
        for number, text in enumerate(turns)
    ]


@pytest.mark.case(109)
@pytest.mark.parametrize(
    "message",
    [
        "hi",
        "Hello there!",
        "thanks!",
        "ok",
        "👍",
        "Good morning",
        "ok, thanks a lot",
        "bye",
        "…",
        "vielen Dank",
        "Merci beaucoup !",
        "¡Gracias!",
        "Grazie mille",
        "Obrigado",
        "see you later",
    ],
)
def test_small_talk_gets_a_short_reply(message):
    reply = small_talk(message)
    assert reply is not None
    assert len(reply.text) < 80


@pytest.mark.case(109)
@pytest.mark.parametrize(
    "message",
    [
        "Hi, when does the ferry leave?",
        "Which is good?",
        "7?",
        "?",
        "K7",
        "See section 4",
        "What is a good morning?",
        "right to work",
        "Is there night service?",
        "yes, the return one",
        "京都",
        "good and bad valves",
    ],
)
def test_whatever_asks_something_is_not_small_talk(message):
    assert small_talk(message) is None


@pytest.mark.case(108)
def test_follow_ups_are_put_behind_the_question_that_they_follow():
    first = said("Ferry price to Lund?", "It costs 10 [1].")
    assert standalone_by_rule("and with a bike?", first) == "Ferry price to Lund? and with a bike?"
    second = [*first, *said("and with a bike?", "Then 12 [1].")]
    whole = "Ferry price to Lund? and with a bike? yes, the return one"
    assert standalone_by_rule("yes, the return one", second) == whole


@pytest.mark.case(108)
def test_small_talk_between_does_not_cut_the_thread():
    history = said("Ferry price to Lund?", "It costs 10 [1].", "thanks!", "You are welcome.")
    assert standalone_by_rule("and back?", history) == "Ferry price to Lund? and back?"


@pytest.mark.parametrize(
    "message",
    [
        "Does it go to Lund?",
        "When was she born?",
        "Which valve closes first at that station?",
        "Price?",
        "What about dogs?",
        "Und am Sonntag?",
        "And the other ones?",
    ],
)
def test_what_points_back_is_a_follow_up(message):
    assert is_follow_up(message)


@pytest.mark.parametrize(
    "message",
    [
        "Who is the mayor of Lund?",
        "Is it true that the dam was built in 1931?",
        "When did Ada Lovelace publish her notes?",
        "Is there a ferry on Sundays?",
        "Which rule says that the drain valve closes?",
        "Wann wurde das Schloss gebaut?",
        "How much does it cost to take a dog aboard the ferry?",
    ],
)
def test_what_stands_by_itself_is_left_as_it_is(message):
    assert standalone_by_rule(message, said("Ferry price to Lund?", "10 [1].")) == message


@pytest.mark.case(108)
def test_a_bare_fragment_that_follows_nothing_needs_the_whole_question():
    assert needs_the_whole("and with a bike?")
    assert not needs_the_whole("What about dogs on the ferry?")
    assert not needs_the_whole("So, which valve closes first?")


@pytest.mark.case(108)
@pytest.mark.parametrize(
    ("message", "wanted"),
    [
        ("What did I ask first?", "Your first question was: “Ferry price to Lund?”"),
        ("what was my last question", "Your last question was: “And back?”"),
        ("What did you just say?", "My last answer was: “Twice that [1].”"),
        ("Please repeat that.", "My last answer was: “Twice that [1].”"),
    ],
)
def test_questions_about_the_conversation_are_answered_from_it(message, wanted):
    history = said("Ferry price to Lund?", "It costs 10 [1].", "And back?", "Twice that [1].")
    reply = about_the_conversation(message, history)
    assert reply is not None
    assert reply.text == wanted


def test_questions_about_what_others_said_are_looked_up():
    history = said("Ferry price to Lund?", "It costs 10 [1].")
    for message in ("What did I say about valves?", "What did the mayor say first?"):
        assert about_the_conversation(message, history) is None
    assert about_the_conversation("What did I ask first?", []).text.startswith("There is no")
