"""The promises of the runs can be broken, and a scripted model shows which are."""

import dataclasses
import re
from collections.abc import Iterator

import pytest

from benchmarks.real_model_cases import CASES
from benchmarks.real_model_mistakes import judge
from benchmarks.real_model_promises import PROMISES, broken
from benchmarks.real_model_runs import Run, stage
from crag_graph.models.structured import LADDER
from crag_graph.settings import EvaluationMode
from tests.fakes.grader import by_text
from tests.fakes.openai_server import OpenAIServer, Reply, Request

NAMES = dict(
    zip(
        ("ended", "acted", "few calls", "counted", "cited", "generated", "streamed"),
        PROMISES,
        strict=True,
    )
)
ASKED: dict[str, EvaluationMode] = {
    "ferry": "fused",
    "lamp": "staged",
    "chess": "fused",
    "violin": "fused",
    "nothing": "staged",
}
# What a question is about → what grades a passage of it, and what is answered.
SCRIPTS = {
    "ferry to Orsk": (by_text({"9:15": 5}), "At 9:15 [1]."),
    "lighthouse": (by_text({"31 metres": 3}, query="lighthouse of Orsk lamp"), "31 metres [1]."),
    "Kolvik": (by_text({}, query="Kolvik Open 2024"), "Sandell [1]."),
    "violin": (by_text({}), ""),
}


def script(request: Request) -> Reply:
    (asked,) = re.findall(r"^Question: (.*)$", request.last, re.M)
    grade, answer = next(said for key, said in SCRIPTS.items() if key in asked)
    return Reply(content=answer) if "<evidence-" in request.last else grade(request)


class Scripted:
    def __init__(self, server: OpenAIServer) -> None:
        self._server = server
        self.url = server.url

    def requests(self) -> int:
        return len(self._server.requests)


@pytest.fixture(scope="module")
def runs() -> Iterator[dict[str, Run]]:
    LADDER.forget()
    with OpenAIServer(script) as server, stage(Scripted(server)) as made:
        cases = {case.name: case for case in CASES}
        yield {name: made.ask(cases[name], mode) for name, mode in ASKED.items()}


def test_a_scripted_model_breaks_no_promise(runs: dict[str, Run]):
    assert {name: broken(run) for name, run in runs.items()} == {name: [] for name in ASKED}


def test_its_actions_are_the_three(runs: dict[str, Run]):
    assert {name: run.state["action"] for name, run in runs.items() if name != "nothing"} == {
        "ferry": "correct",
        "lamp": "ambiguous",
        "chess": "incorrect",
        "violin": "incorrect",
    }
    assert {name for name, run in runs.items() if run.state["status"] == "refused"} == {
        "violin",
        "nothing",
    }


def test_what_is_wrong_is_told_as_a_mistake_and_breaks_no_promise(runs: dict[str, Run]):
    assert judge(runs["ferry"]).mistakes == ()
    lamp = judge(runs["lamp"])  # the answer leaves out when the lamp was made electric
    assert (lamp.action, lamp.answer, lamp.mistakes) == (True, "partly", ("the answer is partly",))
    grades = [grade | {"score": 1.0, "raw": 5.0} for grade in runs["ferry"].state["grades"]]
    judged = judge(changed(runs["ferry"], grades=grades, action="ambiguous"))
    assert (judged.grades_right, judged.grades, judged.action) == (1, 3, False)
    assert judged.mistakes[0] == "the action was ambiguous, not correct"


def changed(run: Run, **state: object) -> Run:
    return dataclasses.replace(run, state={**run.state, **state})


@pytest.mark.parametrize(
    ("change", "promise"),
    [
        ({"status": None}, "ended"),
        ({"action": "maybe"}, "acted"),
        ({"grades": [{"status": "odd"}]}, "acted"),
        ({"answer": "At 9:15 [2]."}, "cited"),
        ({"citations": []}, "cited"),
        ({"documents": []}, "cited"),
        ({"strips": []}, "generated"),
        ({"answer": "At ten [1]."}, "streamed"),
    ],
)
def test_a_state_that_breaks_a_promise_is_seen(
    runs: dict[str, Run], change: dict[str, object], promise: str
):
    assert NAMES[promise] in broken(changed(runs["ferry"], **change))


@pytest.mark.parametrize(
    ("change", "promise"),
    [
        ({"calls": 3}, "few calls"),
        ({"calls": 1}, "counted"),
        ({"shown": (("generate", "At 9:15 [1]."),)}, "streamed"),
        ({"shown": (("evaluate", "At 9:15 "), ("generate", "[1]."))}, "streamed"),
        ({"error": "ModelError: it failed"}, "ended"),
    ],
)
def test_a_run_that_breaks_a_promise_is_seen(
    runs: dict[str, Run], change: dict[str, object], promise: str
):
    found = broken(dataclasses.replace(runs["ferry"], **change))
    assert any(said.startswith(NAMES[promise]) for said in found)


def test_a_reply_that_was_asked_for_again_may_cost_a_call_more(runs: dict[str, Run]):
    note = "asked again about 1 passage without a usable score"
    usage = {**runs["ferry"].usage, "llm_calls": 3}
    again = changed(runs["ferry"], decision={"fallbacks": [note]}, usage=usage)
    assert broken(dataclasses.replace(again, calls=3)) == []
