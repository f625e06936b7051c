import json

import pytest
from blockbuster import blockbuster_ctx
from langchain_core.documents import Document
from langchain_openai import ChatOpenAI

from crag_graph.evaluators.llm import LLMEvaluator
from crag_graph.generation.llm import LLMGenerator
from crag_graph.graph import build_graph
from crag_graph.models.structured import LADDER
from crag_graph.settings import Settings
from tests.fakes.collaborators import StubRetriever, StubWeb, doc, services
from tests.fakes.grader import by_text
from tests.fakes.openai_server import OpenAIServer, Reply, error

QUESTION = {"question": "When does the ferry to Lund leave?"}
TEXTS = {
    "correct": "The ferry to Lund leaves at nine.",
    "ambiguous": "The ferry to Lund leaves in the morning.",
    "incorrect": "The harbour of Lund is deep.",
}
SCORES = {"leaves at nine": 5, "leaves in the morning": 3}
PAGE = Document(
    page_content="The ferry to Lund leaves at ten.",
    metadata={"source": "https://port.example/times", "title": "Times"},
)


@pytest.fixture
def server():
    LADDER.forget()

    def script(request):
        if "<evidence-" in request.last:
            return Reply(content="It leaves at nine [1].")
        return by_text(SCORES, query="ferry Lund departure")(request)

    with OpenAIServer(script) as running:
        yield running


def graph(server, branch, web=None):
    model = ChatOpenAI(model="fake", base_url=server.url, api_key="sk-TESTLEAK1", max_retries=0)
    return build_graph(
        services(
            retriever=StubRetriever([doc("d1", TEXTS[branch]), doc("d2", "Bread is sold.")]),
            evaluator=LLMEvaluator(model),
            generator=LLMGenerator(model),
            web=web or StubWeb([PAGE]),
        )
    )


@pytest.mark.parametrize("branch", ["correct", "incorrect", "ambiguous"])
async def test_fused_takes_two_calls_on_every_branch(server, branch):
    web = StubWeb([PAGE])
    state = await graph(server, branch, web).ainvoke(QUESTION)
    assert state["action"] == branch
    assert len(server.requests) == 2 == state["usage"]["llm_calls"]
    assert state["usage"]["generation_calls"] == 1
    assert web.queries == ([] if branch == "correct" else ["ferry Lund departure"])


@pytest.mark.parametrize(("branch", "calls"), [("correct", 3), ("incorrect", 3), ("ambiguous", 4)])
def test_staged_takes_a_call_a_step(server, branch, calls):
    state = graph(server, branch).invoke(QUESTION, context=Settings(evaluation_mode="staged"))
    assert state["action"] == branch
    assert len(server.requests) == calls == state["usage"]["llm_calls"]


@pytest.mark.case(57)
async def test_only_the_answer_streams(server):
    shown = []
    async for part, _ in graph(server, "ambiguous").astream(QUESTION, stream_mode="messages"):
        shown.append(part.content)
    assert "".join(shown) == "It leaves at nine [1]."


@pytest.mark.case(121)
@pytest.mark.parametrize(
    ("policy", "action"), [("ambiguous", "ambiguous"), ("irrelevant", "incorrect")]
)
def test_an_outage_of_the_evaluator_is_decided_by_the_policy(server, policy, action):
    def script(request):
        if "<evidence-" in request.last:
            return Reply(content="It leaves at nine [1].")
        return error(401, "no")

    server.script(script)
    state = graph(server, "correct").invoke(QUESTION, context=Settings(outage_policy=policy))
    assert state["action"] == action
    assert {grade["status"] for grade in state["grades"]} == {"failed"}
    assert state["decision"]["grading"] == "failed"
    assert state["status"] == "answered"


@pytest.mark.case(122)
def test_no_key_is_in_the_state_when_everything_fails(server):
    server.script(lambda _: error(401, "Incorrect API key provided: sk-TESTLEAK1234567"))
    with pytest.raises(Exception, match="refuses the key") as caught:
        graph(server, "correct").invoke(QUESTION)
    assert "TESTLEAK" not in str(caught.value)
    states = []
    with pytest.raises(Exception, match="refuses the key"):
        states.extend(graph(server, "correct").stream(QUESTION, stream_mode="values"))
    assert "TESTLEAK" not in json.dumps(states, default=str)


def test_a_budget_of_calls_leaves_an_extractive_answer_and_says_so(server):
    state = graph(server, "correct").invoke(QUESTION, context=Settings(max_llm_calls=0))
    assert server.requests == []
    assert state["status"] == "answered"
    assert any("budget" in note for note in state["decision"]["fallbacks"])


@pytest.mark.case(59)
async def test_nothing_blocks_the_event_loop(server):
    made = graph(server, "ambiguous")
    with blockbuster_ctx():
        for mode in ("fused", "staged", "per_passage"):
            settings = Settings(evaluation_mode=mode, verify_quotes=True)
            state = await made.ainvoke(QUESTION, context=settings)
            assert state["status"] == "answered"
