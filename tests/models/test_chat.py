import subprocess
import sys
from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI

from crag_graph.budget import Budget
from crag_graph.errors import ConfigurationError
from crag_graph.models.asking import Asker
from crag_graph.models.chat import ModelOptions, load_chat_model
from crag_graph.models.failures import EndpointError
from crag_graph.models.meter import Meter
from crag_graph.models.plan import run
from tests.fakes.openai_server import OpenAIServer, Reply, error

PROMPT = [HumanMessage("Which valve?")]


KEY = "sk-TESTLEAK1234567890"


@pytest.fixture
def server():
    with OpenAIServer() as running:
        yield running


def environ(server, **more):
    return {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": KEY, **more}


def ask(server, *, budget=None, backoff=None, **more):
    model = load_chat_model("openai:fake", role="chat", environ=environ(server, **more))
    meter = Meter(budget or Budget())
    return run(Asker(model, backoff=backoff).ask(PROMPT, meter=meter)), meter


@pytest.mark.case(19)
def test_no_temperature_is_sent_unless_one_is_configured(server):
    server.script([Reply(content="a"), Reply(content="b")])
    ask(server)
    ask(server, CRAG_TEMPERATURE="0.2")
    assert "temperature" not in server.requests[0].body
    assert server.requests[1].body["temperature"] == 0.2


@pytest.mark.case(20)
def test_the_output_limit_goes_into_the_field_that_the_server_knows(server):
    server.script([Reply(content="a")] * 3)
    ask(server)
    ask(server, CRAG_MAX_OUTPUT_TOKENS="300")
    ask(server, CRAG_MAX_OUTPUT_TOKENS="300", CRAG_MAX_OUTPUT_TOKENS_FIELD="max_tokens")
    plain, limited, renamed = (request.body for request in server.requests)
    assert "max_completion_tokens" not in plain
    assert limited["max_completion_tokens"] == 300
    assert renamed["max_tokens"] == 300
    assert "max_completion_tokens" not in renamed


@pytest.mark.case(20)
def test_a_refused_limit_is_an_error_that_says_what_the_server_said(server):
    server.script([error(400, "Unknown parameter: 'max_completion_tokens'")])
    with pytest.raises(EndpointError, match="max_completion_tokens") as caught:
        ask(server, CRAG_MAX_OUTPUT_TOKENS="300")
    assert caught.value.reason == "request"


def test_tokens_are_the_providers_else_estimated(server):
    server.script([Reply(content="valve B", usage=(40, 2)), Reply(content="b" * 40, usage=None)])
    budget = Budget()
    _, meter = ask(server, budget=budget)
    assert meter.usage == {"llm_calls": 1, "input_tokens": 40, "output_tokens": 2}
    assert budget.tokens == 42
    _, meter = ask(server)
    assert meter.usage["output_tokens"] == 10
    assert meter.usage["input_tokens"] > 0


SUCCESSIVE = """
import asyncio
from langchain_core.messages import HumanMessage
from crag_graph.budget import Budget
from crag_graph.models.asking import Asker
from crag_graph.models.chat import load_chat_model
from crag_graph.models.meter import Meter
from crag_graph.models.plan import arun
from tests.fakes.openai_server import OpenAIServer, Reply

with OpenAIServer(lambda _: Reply(content="valve B"), keep_alive=True) as server:
    environ = {"OPENAI_BASE_URL": server.url}
    model = load_chat_model("openai:fake", role="chat", environ=environ)
    twin = load_chat_model("openai:fake", role="evaluator", environ=environ)
    meter = Meter(Budget())

    async def several(asker):
        prompt = [HumanMessage("Which valve?")]
        plans = (arun(asker.ask(prompt, meter=meter)) for _ in range(5))
        return [message.content for message in await asyncio.gather(*plans)]

    for asker in (Asker(model), Asker(model), Asker(twin)):
        for _ in range(2):
            assert asyncio.run(several(asker)) == ["valve B"] * 5
    print(len(server.requests), meter.usage["llm_calls"])
"""


@pytest.mark.case(66)
def test_successive_event_loops_share_a_model_and_nothing_is_sent_twice():
    # In a process of its own: connections that are kept alive outlive the test.
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SUCCESSIVE],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    assert done.stdout.split() == ["30", "30"]


@pytest.mark.case(60)
def test_a_missing_key_is_one_sentence_that_names_the_variable():
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY is not set") as caught:
        load_chat_model("openai:gpt-4o-mini", role="evaluator", environ={"OPENAI_API_KEY": " "})
    assert "CRAG_EVALUATOR_MODEL" in caught.value.message
    assert "\n" not in caught.value.message


def test_a_server_of_ones_own_needs_no_key(server):
    server.script([Reply(content="hi")])
    model = load_chat_model("openai:fake", role="chat", environ={"OPENAI_BASE_URL": server.url})
    assert model.invoke("hi").content == "hi"


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("gpt-4o-mini", "write provider:model"),
        ("openai:", "write provider:model"),
        ("nosuch:model", "cannot be used"),
        ("fireworks:some-model", "pip install langchain-fireworks"),
    ],
)
def test_a_model_that_cannot_be_is_one_sentence(spec, words):
    with pytest.raises(ConfigurationError, match=words) as caught:
        load_chat_model(spec, role="chat", environ={})
    assert "CRAG_CHAT_MODEL" in caught.value.message
    assert "\n" not in caught.value.message


def test_a_model_object_is_taken_as_it_is():
    model = ChatOpenAI(model="fake", api_key=KEY)
    assert load_chat_model(model, role="chat", environ={}) is model


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("CRAG_TEMPERATURE", "warm"),
        ("CRAG_TEMPERATURE", "nan"),
        ("CRAG_MODEL_TIMEOUT", "-1"),
        ("CRAG_MAX_OUTPUT_TOKENS", "0"),
        ("CRAG_REQUESTS_PER_SECOND", "inf"),
    ],
)
def test_an_option_out_of_range_names_its_variable(variable, value):
    with pytest.raises(ConfigurationError, match=variable):
        ModelOptions.from_env({variable: value})


def test_both_roles_share_the_rate_limiter_of_an_endpoint(server):
    more = environ(server, CRAG_REQUESTS_PER_SECOND="50")
    first = load_chat_model("openai:a", role="chat", environ=more)
    second = load_chat_model("openai:b", role="evaluator", environ=more)
    assert first.rate_limiter is second.rate_limiter is not None
    assert load_chat_model("openai:a", role="chat", environ=environ(server)).rate_limiter is None
