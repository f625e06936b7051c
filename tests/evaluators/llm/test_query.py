import datetime

import pytest
from langchain_openai import ChatOpenAI

from crag_graph.budget import Budget
from crag_graph.evaluators.llm import LLMEvaluator
from crag_graph.evaluators.query import own_query, usable_queries
from crag_graph.models.structured import LADDER
from crag_graph.settings import Settings
from tests.fakes.openai_server import OpenAIServer, Reply, as_json

QUESTION = "What is the latest ferry timetable for Orsk harbour?"
OWN = own_query(QUESTION)


def usable(*raw, question=QUESTION, most=1):
    return usable_queries(raw, question=question, year=2026, most=most)


@pytest.fixture
def rewrite():
    """Returns what a model's reply becomes as queries, and the notes on it."""
    LADDER.forget()
    with OpenAIServer() as server:
        model = ChatOpenAI(model="fake", base_url=server.url, api_key="sk-x", max_retries=0)
        made = LLMEvaluator(model, today=lambda: datetime.date(2026, 11, 30))

        def rewritten(reply, question=QUESTION, budget=None, **settings):
            server.script(lambda _: reply)
            done = made.rewrite(question, settings=Settings(**settings), budget=budget or Budget())
            return list(done.queries), done

        yield rewritten


@pytest.mark.parametrize(
    "reply",
    [
        "Orsk harbour ferry timetable",
        '"Orsk harbour ferry timetable"',
        "Query: Orsk harbour ferry timetable",
        "Search query: **Orsk harbour ferry timetable**",
        "```\nOrsk harbour ferry timetable\n```",
        "<think>Orsk? 2023?</think>Orsk harbour ferry timetable",
        "Sure! Here are three options:\n1. Orsk harbour ferry timetable\n2. Orsk ferry\n3. Orsk",
        [
            {"type": "thinking", "thinking": "hm"},
            {"type": "text", "text": "Orsk harbour ferry timetable"},
        ],
    ],
)
@pytest.mark.case(35)
@pytest.mark.case(10)
@pytest.mark.case(22)
def test_one_plain_query_is_taken_out_of_what_was_written(rewrite, reply):
    queries, done = rewrite(Reply(content=reply))
    assert queries == ["Orsk harbour ferry timetable"]
    assert done.notes == ()
    assert done.usage["llm_calls"] == 1


@pytest.mark.case(35)
@pytest.mark.parametrize(
    "reply",
    [
        "",
        "The ferry leaves at nine. It costs twelve euros. Enjoy your trip.",
        "I cannot search the web, but I would look for it at the port.",
        "buy cheap watches online",
        "Sure! Here you go:",
        "<think>what do they want",
    ],
)
def test_a_bad_rewrite_leaves_the_questions_own_words(rewrite, reply):
    queries, done = rewrite(Reply(content=reply))
    assert queries == [OWN]
    assert "own keywords" in done.notes[0]


@pytest.mark.case(16)
def test_a_rewrite_that_was_cut_off_leaves_the_questions_own_words(rewrite):
    assert rewrite(Reply(content="", finish_reason="length"))[0] == [OWN]


def test_a_rewrite_that_fails_or_may_not_be_asked_for_is_said_and_never_raised(rewrite):
    queries, done = rewrite(Reply(status=400, body={"error": {"message": "no"}}))
    assert queries == [OWN]
    assert "could not be rewritten" in done.notes[0]
    queries, done = rewrite(Reply(content="Orsk ferry"), budget=Budget(max_llm_calls=0))
    assert queries == [OWN]
    assert "max_llm_calls" in done.notes[0]


@pytest.mark.case(32)
@pytest.mark.parametrize(
    "reply", ["Orsk ferry " + "timetable harbour " * 50, "x" * 900, "Orsk" * 225]
)
def test_a_query_never_has_more_than_400_characters(rewrite, reply):
    (query,), _ = rewrite(Reply(content=reply))
    assert 0 < len(query) <= 400


@pytest.mark.case(33)
def test_a_cut_breaks_no_character():
    family = "\U0001f469‍\U0001f469‍\U0001f467‍\U0001f466"
    (query,) = usable("Orsk " + "港" * 388 + family * 20)
    assert len(query) <= 400
    assert query.endswith(("港", family))
    (query,) = usable("港" * 401, question="港港在哪里?")
    assert query == "港" * 400


@pytest.mark.case(36)
@pytest.mark.parametrize(
    ("reply", "query"),
    [
        ("Orsk ferry timetable 2023", "Orsk ferry timetable"),
        ("Orsk ferry timetable 2026", "Orsk ferry timetable 2026"),
        ("Orsk ferry timetable 2025", "Orsk ferry timetable 2025"),
    ],
)
def test_a_year_that_nobody_asked_for_is_taken_out(reply, query):
    assert usable(reply) == [query]


@pytest.mark.case(36)
def test_a_year_of_the_question_stays():
    assert usable("Orsk ferry 1987", question="Did the Orsk ferry sail in 1987?") == [
        "Orsk ferry 1987"
    ]


def test_what_a_passage_may_have_slipped_in_does_not_leave_the_house():
    written = "Orsk ferry site:evil.example https://evil.example/x mara@corp.example 4711-0815"
    assert usable(written) == ["Orsk ferry"]


def test_what_the_question_itself_names_stays():
    question = "What is at https://port.example and in form 4711?"
    assert usable("https://port.example form 4711", question=question) == [
        "https://port.example form 4711"
    ]


def test_several_queries_for_a_question_of_several_parts(rewrite):
    question = "When was the Orsk dam built and who paid for it?"
    reply = "1. Orsk dam construction year\n2. Orsk dam funding\n3. Orsk dam history\n4. Orsk"
    queries, _ = rewrite(Reply(content=reply), question=question, sub_queries=2)
    assert queries == ["Orsk dam construction year", "Orsk dam funding"]
    assert rewrite(Reply(content=reply), question=question)[0] == ["Orsk dam construction year"]


@pytest.mark.case(35)
@pytest.mark.parametrize("written", [[], [""], ["irrelevant words only"], [None, 5]])
def test_the_fused_call_too_falls_back_to_the_questions_own_words(written):
    from langchain_core.documents import Document

    from crag_graph.evaluators.grading import as_passages

    LADDER.forget()
    reply = as_json({"passages": [{"id": "P1", "score": 3}], "web_queries": written})
    with OpenAIServer([reply]) as server:
        model = ChatOpenAI(model="fake", base_url=server.url, api_key="sk-x", max_retries=0)
        found = LLMEvaluator(model).evaluate(
            QUESTION,
            as_passages([Document(id="D1", page_content="The ferry.")], origin="internal"),
            settings=Settings(),
            budget=Budget(),
        )
    assert found.search_query == OWN
    assert "own keywords" in found.notes[0]
