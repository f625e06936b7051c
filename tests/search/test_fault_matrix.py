"""Provider × fault × branch over the whole graph: no crash, no invented answer, the right warning.

Every cell runs the real client against a server on loopback that speaks the provider's own errors.
The seed decides how each cell's run is entered and how its question is worded.
"""

import random
import re
from collections.abc import Iterator
from typing import Any

import pytest

from crag_graph.generation.base import GenerationRequest
from crag_graph.graph import build_graph
from crag_graph.text.terms import content_terms
from tests.fakes.collaborators import StubEvaluator, StubGenerator, StubRetriever, doc, services
from tests.fakes.web_servers import Reply, WebServer
from tests.fakes.web_servers_wire import WIRES, Page, Wire, impatient

SEED = 4
BRANCHES = {"correct": 0.9, "ambiguous": 0.5, "incorrect": 0.1}
QUESTIONS = (
    "When does the ferry leave Lund?",
    "ferry Lund departure time",
    "At what hour, please, does the {ferry} from Lund depart?",
)
# What the warning of a fault must speak of; all others are failures to answer.
SPEAKS_OF = {
    "auth": "access|key|client",
    "forbidden": "refuses access",
    "rate": "quota or rate limit|takes us for a robot",
    "quota": "quota or rate limit|ratelimited",
    "paygo": "quota or rate limit",
    "envelope": "refuses to search",
    "challenge": "takes us for a robot",
    "blocked": "takes us for a robot",
    "bad request": "refuses the request|cannot search",
    "unprocessable": "refuses the request",
    "not in plan": "OPTION_NOT_IN_PLAN",
    "json is off": "search.formats",
    "too long": "cirrussearch-query-too-long",
    "redirect": "redirects to elsewhere.example",
    "hangs": "gave no answer within|did not answer in time",
    "login page": "instead of a JSON object",
    "no engine": "none of the engines",
}
JUNK = {
    "nothing": (),
    "off topic": (Page(url="https://a.example/x", text="Bread wants flour, water and salt."),),
    "block page": (Page(url="https://a.example/x", text="Access denied\nYou are a robot."),),
    "cookies": (Page(url="https://a.example/x", text="We use cookies to improve our site."),),
    "no address": (Page(url="javascript:alert(1)", text="The ferry leaves Lund at nine."),),
}


def cells() -> Iterator[Any]:
    for wire in WIRES.values():
        for branch in BRANCHES:
            for fault in (*wire.faults, *JUNK):
                yield pytest.param(wire, fault, branch, id=f"{wire.name}-{fault}-{branch}")


def relevance(text: str) -> float:
    """How much of the question a text repeats: a gate that lets no junk through."""
    asked = set(content_terms(QUESTIONS[0]))
    return len(asked & set(content_terms(text))) / len(asked)


def echo(request: GenerationRequest) -> str:
    return " ".join(f"{item.text} [{item.number}]" for item in request.evidence)


def cell(wire: Wire, branch: str, server: WebServer) -> dict[str, Any]:
    return {
        "retriever": StubRetriever([doc("d1", "The ferry leaves Lund at eight.")]),
        "evaluator": StubEvaluator(lambda _: BRANCHES[branch]),
        "local_evaluator": StubEvaluator(lambda passage: relevance(passage.text), name="gate"),
        "generator": StubGenerator(echo),
        "web": impatient(wire, server.url),
    }


@pytest.mark.case(30)
@pytest.mark.case(38)
@pytest.mark.case(39)
@pytest.mark.case(42)
@pytest.mark.parametrize(("wire", "fault", "branch"), list(cells()))
async def test_no_crash_no_invented_answer_and_the_right_warning(
    wire: Wire, fault: str, branch: str
) -> None:
    chance = random.Random(f"{SEED} {wire.name} {fault} {branch}")
    question = chance.choice(QUESTIONS)
    script = wire.answer(lambda _: JUNK[fault]) if fault in JUNK else wire.faults[fault]
    with WebServer(script) as server:
        made = cell(wire, branch, server)
        graph = build_graph(services(**made))
        context: Any = {"web_seconds": 0.3 if fault == "hangs" else 20}
        if chance.random() < 0.5:
            out = graph.invoke({"question": question}, context=context)
        else:
            out = await graph.ainvoke({"question": question}, context=context)
        asked = bool(server.requests)
    assert out["action"] == branch
    assert asked is (branch != "correct")
    told = [warning for warning in out["warnings"] if warning.startswith("web search failed")]
    if branch == "correct" or fault in JUNK:
        assert told == []
    else:
        (warning,) = told
        assert made["web"].label in warning
        assert server.url.removeprefix("http://") in warning
        assert re.search(SPEAKS_OF.get(fault, "cannot|broke off|instead|sent"), warning), warning
        reason = warning.removeprefix("web search failed: ")
        assert out["decision"]["failures"] == [f"web search: {reason}"]
    if branch == "incorrect":
        assert out["status"] == "refused"
        assert made["generator"].requests == []
        assert out["citations"] == []
        why = "web search failed" if told else "web search found nothing|no part of .* holds up"
        assert re.search(why, out["answer"])
    else:
        assert out["status"] == "answered"
        assert out["answer"] == "The ferry leaves Lund at eight. [1]"
        assert {citation["origin"] for citation in out["citations"]} == {"internal"}
    assert out["usage"]["web_searches"] == (0 if branch == "correct" else 1)


@pytest.mark.parametrize("wire", WIRES.values(), ids=WIRES)
@pytest.mark.parametrize("branch", ["ambiguous", "incorrect"])
def test_with_a_good_answer_the_same_cells_use_the_web(wire: Wire, branch: str) -> None:
    """The control: what the matrix shows is the fault's doing, and not the set-up's."""
    good = Page(url="https://a.example/ferry", text="The ferry leaves Lund at nine.")
    with WebServer(wire.answer(lambda _: [good])) as server:
        made = cell(wire, branch, server)
        out = build_graph(services(**made)).invoke({"question": QUESTIONS[0]})
    assert out["status"] == "answered"
    assert "at nine" in out["answer"]
    assert good.url in {citation["source"] for citation in out["citations"]}
    assert out["warnings"] == []


def test_the_matrix_is_as_large_as_it_says() -> None:
    assert len(list(cells())) >= 150


def test_a_server_that_talks_forever_ends_with_the_time() -> None:
    with WebServer(Reply(body="[" * 5000, drip=0.05)) as server:
        made = cell(WIRES["tavily"], "incorrect", server)
        out = build_graph(services(**made)).invoke(
            {"question": QUESTIONS[0]}, context={"web_seconds": 0.3}
        )
    assert out["status"] == "refused"
    assert "web search failed" in out["answer"]
