import asyncio
import json

import pytest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
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


@pytest.mark.case(21)
def test_the_schema_that_is_sent_is_closed_strict_and_holds_no_bounds(server, grade):
    server.script([as_json(GOOD)])
    grade()
    sent = server.requests[0].body["response_format"]["json_schema"]
    assert sent["strict"] is True
    assert sent["schema"]["additionalProperties"] is False
    assert sent["schema"]["required"] == ["scores"]
    text = json.dumps(sent)
    assert not any(
        word in text
        for word in ("minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength")
    )


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


@pytest.mark.case(17)
@pytest.mark.parametrize(
    "refusal",
    [
        error(400, "This response_format type is unavailable now"),
        error(422, "Extra inputs are not permitted: response_format"),
        error(500, "response_format: only text and json_object are supported"),
        error(400, "Bad Request"),
    ],
)
def test_a_refused_method_is_left_for_good(server, grade, refusal):
    def script(request):
        return (
            refusal
            if request.method == "json_schema"
            else Reply(tool_arguments='{"scores":[5,4,1]}')
        )

    server.script(script)
    assert grade() == [5, 4, 1]
    assert grade() == [5, 4, 1]
    assert server.methods == ["json_schema", "tool", "tool"]


@pytest.mark.case(17)
@pytest.mark.case(18)
def test_the_ladder_goes_down_to_plain_text(server, grade):
    def script(request):
        if request.method == "text":
            assert '{"scores": [3, 1, 2]}' in request.last
            return Reply(content="P1: 5\nP2: 4\nP3: 1")
        if request.method == "tool":
            return error(400, "Thinking mode does not support this tool_choice")
        return error(400, f"response_format {request.method} is not supported")

    server.script(script)
    assert grade() == [5, 4, 1]
    assert server.methods == ["json_schema", "tool", "json_object", "text"]
    assert grade() == [5, 4, 1]
    assert server.methods[4:] == ["text"]


@pytest.mark.case(17)
def test_a_request_that_is_refused_whatever_its_form_says_the_first_reason(server, grade):
    server.script(lambda request: error(400, f"no {request.method} today"))
    with pytest.raises(ModelError, match="no json_schema today"):
        grade()
    server.script([as_json(GOOD)])
    assert grade() == [5, 4, 1]  # nothing was remembered


@pytest.mark.parametrize(
    "reply",
    [
        error(
            400,
            "This model's maximum context length is 8192 tokens",
            code="context_length_exceeded",
        ),
        error(404, "The model `fake` does not exist"),
        error(400, "Unsupported value: 'temperature' does not support 0.2"),
        error(401, "Incorrect API key"),
    ],
)
def test_what_has_nothing_to_do_with_the_method_is_asked_once(server, grade, reply):
    server.script(lambda _: reply)
    with pytest.raises(ModelError):
        grade()
    assert len(server.requests) == 1


@pytest.mark.case(18)
def test_an_answer_in_the_content_is_taken_where_a_tool_call_was_asked_for(server, grade):
    server.script([error(400, "response_format is unavailable"), as_json(GOOD)])
    assert grade() == [5, 4, 1]
    assert server.methods == ["json_schema", "tool"]


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


@pytest.mark.case(26)
def test_arguments_that_the_client_cannot_hold_lead_to_the_next_method(server, grade):
    def script(request):
        if request.method == "json_schema":
            return error(400, "response_format is unavailable")
        if request.method == "tool":
            return Reply(content=None, tool_arguments="[5,4,1]")
        return as_json(GOOD)

    server.script(script)
    assert grade() == [5, 4, 1]
    assert server.methods == ["json_schema", "tool", "json_object"]


def test_the_asynchronous_way_gives_the_same(server):
    server.script([Reply(content="no"), as_json(GOOD)])
    model = ChatOpenAI(model="fake", base_url=server.url, api_key="sk-TESTLEAK", max_retries=0)
    plan = structured(Asker(model), PROMPT, FORM, meter=Meter(Budget()), ladder=Ladder())
    assert asyncio.run(arun(plan)) == [5, 4, 1]
    assert len(server.requests) == 2


def test_a_model_that_knows_no_structured_output_is_asked_in_words():
    model = GenericFakeChatModel(messages=iter([AIMessage('{"scores":[5,4,1]}')]))
    meter = Meter(Budget())
    assert run(structured(Asker(model), PROMPT, FORM, meter=meter, ladder=Ladder())) == [5, 4, 1]
    assert meter.usage["llm_calls"] == 1


@pytest.mark.parametrize("name", ["gpt-4", "gpt-4-turbo", "gpt-3.5-turbo"])
def test_models_known_to_lack_json_schema_are_not_asked_for_it(server, name):
    server.script([Reply(tool_arguments=json.dumps(GOOD))])
    model = ChatOpenAI(model=name, base_url=server.url, api_key="sk-TESTLEAK", max_retries=0)
    plan = structured(Asker(model), PROMPT, FORM, meter=Meter(Budget()), ladder=Ladder())
    assert run(plan) == [5, 4, 1]
    assert server.methods == ["tool"]


@pytest.mark.parametrize("status", [400, 500])
def test_a_server_without_a_system_role_gets_its_text_before_the_users(server, grade, status):
    def script(request):
        if request.system:
            return error(status, "System role not supported")
        return as_json(GOOD)

    server.script(script)
    assert grade() == [5, 4, 1]
    assert server.requests[1].last.startswith("Grade.\n\nThree passages.")
    assert grade() == [5, 4, 1]
    assert len(server.requests) == 3  # remembered
