from dataclasses import replace

import pytest
from typing_extensions import TypedDict

from crag_graph.budget import Budget
from crag_graph.models.structured import LADDER
from crag_graph.settings import Settings
from tests.fakes.grader import by_text, shown
from tests.fakes.grading import (
    QUESTION,
    SCORES,
    TEXTS,
    evaluate,
    evaluator,
    fused,
    passages,
    scores,
)
from tests.fakes.openai_server import OpenAIServer, as_json


@pytest.fixture
def server():
    LADDER.forget()
    with OpenAIServer(by_text(SCORES)) as running:
        yield running


@pytest.mark.case(25)
def test_a_very_long_passage_is_windowed_and_the_others_are_graded_as_ever(server):
    filler = "Nothing of note happened on that day in the town. "
    long = filler * 3000 + "The ferry to Lund leaves at nine. " + filler * 3000
    evaluation = evaluate(server, passages({"D1": long, "D3": TEXTS["D3"]}))
    (sent,) = server.requests
    assert len(sent.last) < 12_000
    assert "Nothing of note" in sent.last
    assert "leaves at nine" in sent.last
    assert scores(evaluation) == {"D1": 1.0, "D3": 0.0}
    held = [key for key, score in evaluation.strip_scores.items() if score == 1.0]
    assert [long[slice(*map(int, key.split(":")[1].split("-")))] for key in held] == [
        "The ferry to Lund leaves at nine."
    ]
    assert evaluation.notes == ("D1 is long and was graded by its beginning and best parts",)


@pytest.mark.case(57)
@pytest.mark.parametrize("mode", ["fused", "staged", "per_passage"])
async def test_no_token_of_the_evaluator_reaches_the_messages_stream(server, mode):
    from langgraph.graph import END, START, StateGraph

    class State(TypedDict):
        done: bool

    made, settings = evaluator(server), Settings(evaluation_mode=mode)

    async def node(state: State) -> State:
        options = {"settings": settings, "budget": Budget()}
        await made.aevaluate(QUESTION, passages(), **options)
        await made.arefine(QUESTION, passages(), **options)
        await made.arewrite(QUESTION, **options)
        return {"done": True}

    graph = StateGraph(State).add_node("node", node)
    compiled = graph.add_edge(START, "node").add_edge("node", END).compile()
    streamed = [part async for part in compiled.astream({"done": False}, stream_mode="messages")]
    assert streamed == []
    assert len(server.requests) > 2
    assert not any(request.streamed for request in server.requests)


def test_calls_are_capped_by_passages_and_by_tokens(server):
    many = passages({f"D{n}": f"Text {n} about bread." for n in range(7)})
    assert len(scores(evaluate(server, many, batch_passages=3))) == 7
    assert sorted(len(shown(request)) for request in server.requests) == [1, 3, 3]
    server.requests.clear()
    big = passages({f"D{n}": f"Bread {n}. " * 150 for n in range(4)})
    evaluate(server, big, batch_tokens=1000)
    assert len(server.requests) == 4


def test_the_calls_of_batches_run_side_by_side(server):
    server.script(lambda request: replace(by_text(SCORES)(request), delay=0.15))
    many = passages({f"D{n}": f"Text {n} about bread." for n in range(8)})
    evaluate(server, many, batch_passages=2)
    assert len(server.requests) == 4
    assert server.in_flight > 1


@pytest.mark.case(103)
def test_web_pages_never_share_a_call_with_the_corpus(server):
    both = passages() + passages({"W1": "A page about bread."}, origin="web")
    evaluate(server, both)
    assert len(server.requests) == 2
    assert sorted(len(shown(request)) for request in server.requests) == [1, 3]


def test_staged_grading_asks_for_grades_alone(server):
    evaluation = evaluate(server, evaluation_mode="staged")
    assert scores(evaluation) == {"D1": 1.0, "D2": 0.25, "D3": 0.0}
    assert evaluation.strip_scores == {}
    assert evaluation.search_query == ""
    schema = server.requests[0].body["response_format"]["json_schema"]["schema"]
    assert list(schema["properties"]) == ["passages"]


def test_refinement_grades_every_strip_by_id_and_keeps_at_three(server):
    evaluation = evaluator(server).refine(
        QUESTION, passages(), settings=Settings(evaluation_mode="staged"), budget=Budget()
    )
    assert len(server.requests) == 1
    assert list(evaluation.strip_scores.values()) == [1.0, 0.0, 0.25, 0.0, 0.0, 0.0]
    assert evaluation.grades == ()
    floor = Settings().strip_floor
    assert 0.25 < floor <= 0.5  # a strip graded 2 goes, one graded 3 stays


def test_passage_by_passage_is_one_call_each_on_nought_to_one(server):
    evaluation = evaluate(server, evaluation_mode="per_passage")
    assert len(server.requests) == 3
    assert scores(evaluation) == {"D1": 1.0, "D2": 0.25, "D3": 0.0}
    assert [grade["raw"] for grade in evaluation.grades] == [1.0, 0.25, 0.0]
    assert evaluation.strip_scores
    assert evaluation.search_query == ""


def test_the_prompt_of_the_run_is_the_one_that_is_sent_and_changes_the_fingerprint(server):
    own = Settings(prompt_evaluate="Be brief about $queries.")
    made = evaluator(server)
    made.evaluate(QUESTION, passages(), settings=own, budget=Budget())
    assert server.requests[0].system == "Be brief about one query."
    assert made.fingerprint(own) != made.fingerprint(Settings())
    assert made.fingerprint(Settings(evaluation_mode="staged")) != made.fingerprint(Settings())
    assert "TESTLEAK" not in made.fingerprint(own)


def test_sub_queries_come_one_a_line(server):
    value = fused(("P1", 5, [1])) | {"web_queries": ["ferry Lund departure", "ferry Lund price"]}
    server.script([as_json(value)])
    evaluation = evaluate(server, passages({"D1": TEXTS["D1"]}), sub_queries=3)
    assert evaluation.search_query == "ferry Lund departure\nferry Lund price"
    assert "up to three queries" in server.requests[0].system
