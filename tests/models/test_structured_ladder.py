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
from crag_graph.models.plan import run
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
