import datetime
import logging
import traceback

import pytest
from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI

from crag_graph.budget import Budget
from crag_graph.models.asking import Asker, Backoff
from crag_graph.models.chat import load_chat_model
from crag_graph.models.endpoint import Endpoint
from crag_graph.models.failures import EndpointError
from crag_graph.models.meter import Meter
from crag_graph.models.plan import Pause, run
from tests.fakes.openai_server import OpenAIServer, Reply, error

PROMPT = [HumanMessage("Which valve?")]


KEY = "sk-TESTLEAK1234567890"


@pytest.fixture
def server():
    with OpenAIServer() as running:
        yield running


@pytest.fixture
def pauses(monkeypatch):
    """The waits that were asked for, none of them waited."""
    waits = []
    monkeypatch.setattr(Pause, "perform", lambda self: waits.append(self.seconds))
    return waits


def environ(server, **more):
    return {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": KEY, **more}


def ask(server, *, budget=None, backoff=None, **more):
    model = load_chat_model("openai:fake", role="chat", environ=environ(server, **more))
    meter = Meter(budget or Budget())
    return run(Asker(model, backoff=backoff).ask(PROMPT, meter=meter)), meter


@pytest.mark.case(24)
def test_a_rate_limit_is_waited_out_as_the_server_asks(server, pauses):
    limited = error(429, "slow down", headers={"retry-after": "3"})
    server.script([limited, limited, Reply(content="valve B")])
    message, meter = ask(server)
    assert message.content == "valve B"
    assert pauses == [3.0, 3.0]
    assert meter.usage["llm_calls"] == 3 == len(server.requests)


@pytest.mark.case(24)
def test_back_off_ends_and_the_error_says_quota(server, pauses):
    server.script(lambda _: error(429, "slow down"))
    with pytest.raises(EndpointError) as caught:
        ask(server)
    assert caught.value.reason == "quota"
    assert len(server.requests) == 3


@pytest.mark.case(24)
def test_a_wait_that_is_too_long_is_not_waited(server, pauses):
    server.script([error(429, "slow down", headers={"retry-after": "3600"})])
    with pytest.raises(EndpointError):
        ask(server)
    assert pauses == []


def test_a_used_up_quota_is_not_repeated(server, pauses):
    server.script([error(429, "You exceeded your current quota", code="insufficient_quota")])
    with pytest.raises(EndpointError) as caught:
        ask(server)
    assert caught.value.reason == "quota"
    assert not caught.value.transient


def test_a_retry_date_is_understood(server, pauses):
    soon = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=8)
    date = soon.strftime("%a, %d %b %Y %H:%M:%S GMT")
    server.script([error(429, "slow", headers={"retry-after": date}), Reply(content="a")])
    ask(server)
    assert 4 < pauses[0] <= 8


@pytest.mark.parametrize(
    ("reply", "reason", "repeated"),
    [
        (error(401, f"Incorrect API key provided: {KEY}"), "auth", False),
        (error(403, "not allowed"), "auth", False),
        (error(404, "The model `fake` does not exist"), "request", False),
        (error(400, "bad request"), "request", False),
        (error(413, "too large"), "request", False),
        (error(400, "blocked by the content management policy"), "filter", False),
        (error(500, "boom"), "transport", True),
        (error(503, "overloaded"), "transport", True),
        (error(529, "overloaded"), "transport", True),
        (Reply(drop=True), "transport", True),
        (Reply(content="valve", cut=30), "transport", True),
    ],
)
def test_each_failure_has_its_reason_and_only_passing_ones_are_repeated(
    server, pauses, reply, reason, repeated
):
    server.script(lambda _: reply)
    with pytest.raises(EndpointError) as caught:
        ask(server)
    assert caught.value.reason == reason
    assert len(server.requests) == (3 if repeated else 1)
    assert "127.0.0.1" in caught.value.message


def test_a_slow_answer_is_given_up_after_the_timeout(server):
    server.script([Reply(content="late", delay=5)])
    with pytest.raises(EndpointError, match="did not answer in time") as caught:
        ask(server, backoff=Backoff(attempts=1), CRAG_MODEL_TIMEOUT="0.2")
    assert caught.value.reason == "transport"


@pytest.mark.case(27)
@pytest.mark.parametrize(
    "body",
    [
        {"choices": []},
        {"choices": None},
        {},
        "<html>login</html>",
        {"error": {"message": "upstream is gone"}},
        "[]",
    ],
)
def test_an_answer_without_a_choice_names_the_host(server, body):
    server.script([Reply(body=body)])
    with pytest.raises(EndpointError, match=r"no answer that can be read.*") as caught:
        ask(server)
    assert caught.value.reason == "parse"
    assert "fake at 127.0.0.1:" in caught.value.message


def test_an_error_object_with_status_200_is_classified_by_its_code(server, pauses):
    body = {"error": {"message": "rate limited upstream", "code": 429}, "choices": None}
    server.script(lambda _: Reply(body=body))
    with pytest.raises(EndpointError) as caught:
        ask(server)
    assert caught.value.reason == "quota"
    assert len(server.requests) == 3


def test_a_client_that_repeats_by_itself_is_not_repeated_here(server, pauses):
    server.script(lambda _: error(500, "boom"))
    model = ChatOpenAI(model="fake", base_url=server.url, api_key=KEY, max_retries=1)
    with pytest.raises(EndpointError):
        run(Asker(model).ask(PROMPT, meter=Meter(Budget())))
    assert len(server.requests) == 2
    assert pauses == []


def test_the_budget_is_asked_before_each_attempt(server, pauses):
    server.script(lambda _: error(500, "boom"))
    budget = Budget(max_llm_calls=2)
    with pytest.raises(Exception, match="max_llm_calls"):
        ask(server, budget=budget)
    assert len(server.requests) == 2


def test_no_wait_goes_beyond_the_time_of_the_run(server, pauses):
    server.script(lambda _: error(429, "slow", headers={"retry-after": "9"}))
    with pytest.raises(EndpointError):
        ask(server, budget=Budget(max_seconds=5))
    assert pauses == []


@pytest.mark.case(122)
@pytest.mark.parametrize(
    "reply",
    [
        error(401, f"Incorrect API key provided: {KEY}"),
        error(500, f"boom, your header was Authorization: Bearer {KEY}"),
        error(400, f'bad: {{"api_key": "{KEY}"}}'),
        Reply(body=f"<html>{KEY}</html>"),
    ],
)
def test_no_key_is_in_errors_their_traces_or_the_logs(server, pauses, caplog, reply):
    caplog.set_level(logging.DEBUG)
    server.script(lambda _: reply)
    with pytest.raises(EndpointError) as caught:
        ask(server)
    shown = "".join(traceback.format_exception(caught.value))
    assert "TESTLEAK" not in shown + repr(caught.value) + str(caught.value.args)
    assert "TESTLEAK" not in repr(Endpoint.of(ChatOpenAI(base_url=server.url, api_key=KEY)))
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("crag")]
    assert "TESTLEAK" not in "".join(ours)
