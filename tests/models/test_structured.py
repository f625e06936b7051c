import asyncio
import json

import pytest
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI

from crag_graph.budget import Budget
from crag_graph.errors import ModelError
from crag_graph.models.alignment import align_json, align_text
from crag_graph.models.asking import Asker
from crag_graph.models.forms import Form
from crag_graph.models.meter import Meter
from crag_graph.models.plan import Pause, arun, run
from crag_graph.models.structured import Ladder, structured
from tests.fakes.openai_server import OpenAIServer, Reply, as_json, error

PROMPT = [SystemMessage("Grade."), HumanMessage("Three passages.")]


GOOD = {"scores": [5, 4, 1]}


FORM = Form(
    name="grades",
    description="One score a passage.",
    properties={"scores": {"type": "array", "items": {"type": "integer"}}},
    example={"scores": [3, 1, 2]},
    read=lambda value: list(align_json(value, count=3, scale="five_point").scores.values()),
    read_text=lambda text: list(align_text(text, count=3, scale="five_point").scores.values()),
)


@pytest.fixture
def server():
    with OpenAIServer() as running:
        yield running


@pytest.fixture
def grade(server):
    """A function that fills the form through the real client, the ladder remembered."""
    model = ChatOpenAI(model="fake", base_url=server.url, api_key="sk-TESTLEAK", max_retries=0)
    asker, ladder = Asker(model), Ladder()

    def fill(budget=None):
        meter = Meter(budget or Budget())
        return run(structured(asker, PROMPT, FORM, meter=meter, ladder=ladder))

    return fill


def test_json_schema_is_asked_for_first_and_one_call_is_enough(server, grade):
    server.script([as_json(GOOD)])
    assert grade() == [5, 4, 1]
    assert server.methods == ["json_schema"]


@pytest.mark.case(9)
@pytest.mark.parametrize(
    "content",
    [
        '```json\n{"scores":[5,4,1]}\n```',
        '```\n{"scores":[5,4,1]}\n```',
        'Here you are:\n```json\n{"scores":[5,4,1]}\n```\nAnything else?',
        'Sure! {"scores": [5, 4, 1]}',
        '{"scores":[5,4,1,]}',
        '[{"id":"P1","score":5},{"id":"P2","score":4},{"id":"P3","score":1}]',
        'I first thought {"scores":[1,1,1]}, but it is {"scores":[5,4,1]}.',
    ],
)
def test_json_is_found_in_fences_and_in_prose_and_the_last_one_counts(server, grade, content):
    server.script([Reply(content=content)])
    assert grade() == [5, 4, 1]
    assert len(server.requests) == 1


@pytest.mark.case(10)
@pytest.mark.parametrize(
    "content",
    [
        '<think>maybe {"scores":[1,1,1]} no...</think>{"scores":[5,4,1]}',
        '\n<thinking>\n{"scores":[1,1,1]}</thinking>\n```json\n{"scores":[5,4,1]}\n```',
        'maybe {"scores":[1,1,1]} no...</think>{"scores":[5,4,1]}',
        '<think>a</think><think>{"scores":[1,1,1]}</think>{"scores":[5,4,1]}',
        '<|channel|>analysis<|message|>{"scores":[1,1,1]}<|end|><|start|>assistant'
        '<|channel|>final<|message|>{"scores":[5,4,1]}<|return|>',
    ],
)
def test_the_draft_in_a_reasoning_block_never_wins(server, grade, content):
    server.script([Reply(content=content)])
    assert grade() == [5, 4, 1]


@pytest.mark.case(10)
def test_a_reasoning_block_without_an_answer_is_no_answer(server, grade):
    server.script([Reply(content='<think>{"scores":[1,1,1]}')] * 2)
    with pytest.raises(ModelError, match="it said: nothing"):
        grade()


@pytest.mark.case(12)
def test_prose_is_asked_for_again_once_with_what_was_wrong(server, grade):
    server.script([Reply(content="All of them look fine."), as_json(GOOD)])
    assert grade() == [5, 4, 1]
    first, second = server.requests
    roles = [message["role"] for message in second.body["messages"]]
    assert roles == [*(message["role"] for message in first.body["messages"]), "assistant", "user"]
    assert "no passage" in second.last
    assert '{"scores": [3, 1, 2]}' in second.last


@pytest.mark.case(1)
@pytest.mark.case(12)
def test_prose_twice_is_a_failure_with_its_reason_and_never_a_score(server, grade):
    server.script([Reply(content="All of them look fine to me.")] * 2)
    with pytest.raises(ModelError, match="All of them look fine to me") as caught:
        grade()
    assert caught.value.reason == "parse"
    assert len(server.requests) == 2


def test_the_repair_is_left_out_when_the_budget_forbids_it(server, grade):
    server.script([Reply(content="All of them look fine.")])
    with pytest.raises(ModelError) as caught:
        grade(Budget(max_llm_calls=1))
    assert caught.value.reason == "parse"
    assert len(server.requests) == 1


@pytest.mark.case(13)
@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(content='{"scores":[5', finish_reason="length"), "length"),
        (Reply(content="", finish_reason="length"), "length"),
        (Reply(content="", finish_reason="content_filter"), "filter"),
        (Reply(content=None, refusal="I can't help with that"), "refusal"),
        (Reply(body={"choices": []}), "parse"),
        (Reply(body="<html>login</html>"), "parse"),
        (Reply(content="prose"), "parse"),
        (Reply(drop=True), "transport"),
        (error(500, "boom"), "transport"),
        (error(401, "no"), "auth"),
        (error(429, "spent", code="insufficient_quota"), "quota"),
        (error(400, "This model's maximum context length is 8192 tokens"), "request"),
    ],
)
def test_whatever_goes_wrong_is_one_error_type_with_its_reason(
    server, grade, reply, reason, monkeypatch
):
    monkeypatch.setattr(Pause, "perform", lambda self: None)
    server.script(lambda _: reply)
    with pytest.raises(ModelError) as caught:
        grade()
    assert caught.value.reason == reason


@pytest.mark.case(14)
def test_a_refusal_is_not_asked_again(server, grade):
    server.script([Reply(content=None, refusal="I can't help with that")])
    with pytest.raises(ModelError, match="I can't help with that"):
        grade()
    assert len(server.requests) == 1


@pytest.mark.case(16)
def test_a_truncated_answer_names_the_setting_to_raise(server, grade):
    server.script([Reply(content="", finish_reason="length", usage=(30, 4000))])
    budget = Budget()
    with pytest.raises(ModelError, match="CRAG_MAX_OUTPUT_TOKENS"):
        grade(budget)
    assert budget.tokens == 4030  # paid for all the same
    assert len(server.requests) == 1


@pytest.mark.case(16)
def test_a_complete_answer_at_the_limit_is_taken(server, grade):
    server.script(
        [
            error(400, "response_format is unavailable"),
            Reply(tool_arguments=json.dumps(GOOD), finish_reason="length"),
        ]
    )
    assert grade() == [5, 4, 1]


@pytest.mark.case(22)
def test_text_blocks_are_joined_and_others_left_out(server, grade):
    blocks = [
        {"type": "thinking", "thinking": '{"scores":[1,1,1]}'},
        {"type": "text", "text": '{"scores":'},
        {"type": "text", "text": "[5,4,1]}"},
    ]
    server.script([Reply(content=blocks)])
    assert grade() == [5, 4, 1]


@pytest.mark.case(26)
@pytest.mark.parametrize("arguments", ["", "null", "{}", "[5,4]", "not json", '{"scores": "none"}'])
def test_odd_tool_arguments_are_a_failure_and_never_a_crash(server, grade, arguments):
    def script(request):
        if request.method == "tool":
            return Reply(content=None, tool_arguments=arguments)
        return error(400, f"{request.method} is not supported here: response_format")

    server.script(script)
    with pytest.raises(ModelError) as caught:
        grade()
    assert caught.value.reason in ("parse", "request")


def test_the_asynchronous_way_gives_the_same(server):
    server.script([Reply(content="no"), as_json(GOOD)])
    model = ChatOpenAI(model="fake", base_url=server.url, api_key="sk-TESTLEAK", max_retries=0)
    plan = structured(Asker(model), PROMPT, FORM, meter=Meter(Budget()), ladder=Ladder())
    assert asyncio.run(arun(plan)) == [5, 4, 1]
    assert len(server.requests) == 2
