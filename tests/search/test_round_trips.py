"""Round trips counted at the wire: one evaluation, one search, one generation, in this order."""

import pytest
from langchain_openai import ChatOpenAI

from crag_graph.evaluators.llm import LLMEvaluator
from crag_graph.generation.llm import LLMGenerator
from crag_graph.graph import build_graph
from crag_graph.models.structured import LADDER
from tests.fakes.collaborators import StubRetriever, doc, services
from tests.fakes.grader import by_text
from tests.fakes.openai_server import OpenAIServer, Reply
from tests.fakes.web_servers import WebServer
from tests.fakes.web_servers_wire import PAGE, TAVILY

TEXTS = {
    "ambiguous": "The ferry to Lund leaves in the morning.",
    "incorrect": "The harbour of Lund is deep.",
}


@pytest.mark.parametrize("branch", TEXTS)
@pytest.mark.parametrize("entry", ["invoke", "ainvoke"])
async def test_a_search_costs_three_round_trips_one_after_the_other(
    branch: str, entry: str
) -> None:
    def model(request):
        if "<evidence-" in request.last:
            return Reply(content="It leaves at nine [1].")
        return by_text({"in the morning": 3}, query="ferry Lund departure")(request)

    LADDER.forget()
    with OpenAIServer(model) as llm, WebServer(TAVILY.answer(lambda _: [PAGE])) as web:
        chat = ChatOpenAI(model="fake", base_url=llm.url, api_key="sk-1", max_retries=0)  # type: ignore[arg-type]
        graph = build_graph(
            services(
                retriever=StubRetriever([doc("d1", TEXTS[branch])]),
                evaluator=LLMEvaluator(chat),
                generator=LLMGenerator(chat),
                web=TAVILY.build(web.url),
            )
        )
        question = {"question": "When does the ferry to Lund leave?"}
        out = graph.invoke(question) if entry == "invoke" else await graph.ainvoke(question)
    assert out["action"] == branch
    assert len(llm.requests) == 2
    assert len(web.requests) == 1
    assert web.requests[0].body["query"] == "ferry Lund departure"
    assert llm.requests[0].at < web.requests[0].at < llm.requests[1].at
    assert PAGE.text in llm.requests[1].prompt
    usage = out["usage"]
    assert (usage["llm_calls"], usage["web_searches"], usage["generation_calls"]) == (2, 1, 1)
