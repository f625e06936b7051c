"""A small model copies the form that it is shown: seen with Qwen2.5-Coder-1.5B on llama.cpp."""

import pytest

from crag_graph.budget import Budget
from crag_graph.models.structured import LADDER
from crag_graph.settings import Settings
from tests.fakes.grader import by_text
from tests.fakes.grading import QUESTION, evaluate, evaluator, passages, statuses
from tests.fakes.openai_server import OpenAIServer, Reply


def copy(request):
    """The form at the end of the prompt, as it is shown there."""
    return Reply(content=request.last.strip().splitlines()[-1])


@pytest.fixture
def server():
    LADDER.forget()
    with OpenAIServer(copy) as running:
        yield running


@pytest.mark.parametrize("mode", ["fused", "staged", "per_passage"])
def test_a_copy_of_the_form_is_no_grade(server, mode):
    evaluation = evaluate(server, evaluation_mode=mode)
    assert set(statuses(evaluation).values()) == {"unknown"}


def test_a_copy_of_the_form_keeps_no_strip(server):
    given = {"settings": Settings(), "budget": Budget()}
    refined = evaluator(server).refine(QUESTION, passages(), **given)
    assert set(refined.strip_scores.values()) <= {None}


def test_a_copied_query_is_not_searched_for(server):
    assert evaluate(server).search_query == "ferry Lund leave"


@pytest.mark.parametrize("mode", ["fused", "staged"])
def test_every_passage_is_asked_for_by_its_name(server, mode):
    server.script(by_text({"leaves at nine": 5}))
    evaluate(server, evaluation_mode=mode)
    (request,) = server.requests
    assert "every passage from P1 to P3" in request.last
    assert '"id": "P2"' in request.last
