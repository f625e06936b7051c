"""Tokens of chat templates reach no model as such, wherever in a run they stand."""

import pytest
from langchain_core.documents import Document

from crag_graph.agents.standalone import ModelRewriter
from crag_graph.budget import Budget
from crag_graph.evaluators.grading import as_passages
from crag_graph.evaluators.llm import LLMEvaluator
from crag_graph.models.fencing import inert, without_tokens
from crag_graph.models.structured import LADDER
from crag_graph.settings import Settings
from tests.attacks.attacks import ATTACKS
from tests.attacks.obedient import grader
from tests.attacks.orders import ORDERS, UNTOLD
from tests.fakes.answering import ANSWER, ask, chat, generate, source
from tests.fakes.openai_server import OpenAIServer, Reply

TOKENS = (
    *("<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|system|>", "<|eot_id|>"),
    *("<|start_header_id|>", "<|channel|>", "<|reserved_special_token_0|>"),
    *("<\uff5cUser\uff5c>", "<\uff5cbegin\u2581of\u2581sentence\uff5c>"),
    *("[INST]", "[/INST]", "<<SYS>>", "<</SYS>>", "[SYSTEM_PROMPT]", "[TOOL_CALLS]", "[gMASK]"),
    *("<s>", "</s>", "<bos>", "<eos>", "<pad>", "<start_of_turn>", "<end_of_turn>"),
    *("<think>", "</think>", "<tool_call>", "<fim_prefix>", "<unused12>", "<extra_id_0>"),
)
SENTENCE = f"The ferry leaves at nine. {' '.join(TOKENS)} Bread is sold."


@pytest.fixture(scope="module")
def server():
    with OpenAIServer() as running:
        yield running


def whole(prompt: str) -> list[str]:
    return [token for token in TOKENS if token.casefold() in prompt.casefold()]


@pytest.mark.case(103)
@pytest.mark.parametrize("token", TOKENS)
def test_a_token_is_written_with_look_alikes_of_the_same_length(token):
    for shown in (inert(token), without_tokens(token), inert(f"a {token.upper()} b")[2:-2]):
        assert len(shown) == len(token)
        assert whole(shown) == []
        assert shown.casefold().strip("‹›⟦⟧¦/") == token.casefold().strip("<>[]|\uff5c/")


@pytest.mark.parametrize("hidden", ["<|im_\u200bstart|>", "<\u2060|im_start|>", "<s\u200b>"])
def test_a_token_is_found_when_it_is_broken_by_what_is_not_seen(hidden):
    assert whole(inert(hidden)) == []
    assert inert(hidden)[0] == "‹"


@pytest.mark.parametrize(
    "code",
    [
        "rows |> filter(x) |> head()",
        "f <| g x |> h",
        "<system.web><user-agent/></system.web>",
        "list[INSTANCE] = a[0]",
        "<span>x</span> <strong>y</strong>",
        "vector<int> a; if (b << 2 >> 1) {}",
    ],
)
def test_code_that_looks_near_stays_as_it_is(code):
    assert inert(code) == code


@pytest.mark.case(103)
@pytest.mark.parametrize("mode", ["fused", "staged", "per_passage"])
def test_no_token_of_a_passage_its_title_or_the_question_reaches_the_grader(server, mode):
    LADDER.forget()
    server.script(grader(ATTACKS[0], {"leaves at nine": 5}))
    before = len(server.requests)
    document = Document(id="d", page_content=SENTENCE, metadata={"title": SENTENCE})
    LLMEvaluator(chat(server)).evaluate(
        f"When? {SENTENCE}",
        as_passages([document], origin="internal"),
        settings=Settings(evaluation_mode=mode, withhold_instructions=False),
        budget=Budget(),
    )
    (request,) = server.requests[before:]
    assert request.prompt.count("The ferry leaves at nine.") >= 3
    assert whole(request.prompt) == []


def test_no_token_of_the_question_reaches_the_model_that_writes_queries(server):
    server.script(lambda _: Reply(content="ferry Lund"))
    LLMEvaluator(chat(server)).rewrite(f"When? {SENTENCE}", settings=Settings(), budget=Budget())
    assert "The ferry leaves at nine." in server.requests[-1].prompt
    assert whole(server.requests[-1].prompt) == []


@pytest.mark.case(103)
def test_no_token_of_a_source_a_title_the_question_or_an_earlier_turn_reaches_the_answering_model(
    server,
):
    server.script(lambda _: Reply(content=ANSWER))
    turns = ({"role": "user", "content": SENTENCE}, {"role": "assistant", "content": SENTENCE})
    request = ask(source(1, SENTENCE, "Bread.", title=SENTENCE), question=SENTENCE, history=turns)
    assert generate(server, request, withhold_instructions=False).answer == ANSWER
    assert server.requests[-1].prompt.count("The ferry leaves at nine.") >= 4
    assert whole(server.requests[-1].prompt) == []


@pytest.mark.case(103)
def test_no_token_of_an_earlier_turn_reaches_the_rewriting_model(server):
    server.script(lambda _: Reply(content="When does the ferry leave?"))
    before = len(server.requests)
    history = [{"role": "user", "content": "Ferry?"}, {"role": "assistant", "content": SENTENCE}]
    made = ModelRewriter(chat(server)).rewrite(f"And it? {TOKENS[0]}", history, budget=Budget())
    assert made.question == "When does the ferry leave?"
    assert len(server.requests) == before + 1
    assert whole(server.requests[-1].prompt) == []


@pytest.mark.parametrize("order", [*ORDERS, *UNTOLD])
def test_an_order_that_is_shown_stands_quoted_and_opens_no_turn(order):
    shown = inert(f"The pump is blue.\n\n{order}")
    assert whole(shown) == []
    assert all(line.startswith("    ") for line in shown.split("\n")[1:])
