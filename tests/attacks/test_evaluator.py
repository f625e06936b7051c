import pytest
from langchain_core.documents import Document
from langchain_openai import ChatOpenAI

from crag_graph.budget import Budget
from crag_graph.evaluators.base import Evaluation
from crag_graph.evaluators.grading import align_grades, as_passages
from crag_graph.evaluators.llm import LLMEvaluator
from crag_graph.models.structured import LADDER
from crag_graph.settings import EvaluationMode, Settings
from crag_graph.verdict import decide
from tests.attacks.attacks import ATTACKS, Attack
from tests.attacks.obedient import grader
from tests.fakes.openai_server import OpenAIServer

QUESTION = "When does the ferry to Lund leave?"
HONEST = {"leaves at nine": 5, "Ferries were invented": 2}
ANSWERED = {
    "D1": "The ferry to Lund leaves at nine. Bicycles travel free of charge on every boat.",
    "D2": "Ferries were invented long ago. Nobody knows exactly when that was.",
}
UNANSWERED = {"D2": ANSWERED["D2"], "D4": "The harbour is deep. Its walls are of stone."}
CARRIER = "Bread is baked at four in the morning. It is sold by noon every day."


@pytest.fixture(scope="module")
def server():
    with OpenAIServer() as running:
        yield running


def verdict(
    server: OpenAIServer,
    attack: Attack,
    texts: dict[str, str],
    *,
    mode: EvaluationMode = "fused",
    withhold: bool = True,
) -> tuple[dict[str, float | None], str, Evaluation]:
    """Returns the scores by document and the action, graded by the obedient model."""
    LADDER.forget()
    server.script(grader(attack, HONEST))
    model = ChatOpenAI(model="fake", base_url=server.url, api_key="sk-x", max_retries=0)
    settings = Settings(evaluation_mode=mode, withhold_instructions=withhold)
    passages = as_passages(
        [Document(id=key, page_content=text) for key, text in texts.items()], origin="internal"
    )
    evaluation = LLMEvaluator(model).evaluate(
        QUESTION, passages, settings=settings, budget=Budget()
    )
    grades = align_grades(passages, evaluation, evaluator="llm")
    made = decide(grades, settings.thresholds(), outage_policy=settings.outage_policy)
    scores = {grade["document_id"]: grade["score"] for grade in grades}
    return scores, made.action, evaluation


@pytest.mark.case(103)
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
@pytest.mark.parametrize("texts", [ANSWERED, UNANSWERED], ids=["answered", "unanswered"])
def test_an_attack_in_a_passage_changes_nobodys_score(server, attack, texts):
    clean, action, _ = verdict(server, attack, texts | {"D3": CARRIER})
    attacked = texts | {"D3": f"{CARRIER}\n\n{attack.text}"}
    scores, still, evaluation = verdict(server, attack, attacked)
    assert scores == clean
    assert still == action
    assert evaluation.search_query == "ferry Lund timetable"
    assert any("give orders to the reader" in note for note in evaluation.notes)


@pytest.mark.case(103)
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_a_passage_that_is_nothing_but_an_attack_is_unknown_and_changes_no_verdict(server, attack):
    clean, action, _ = verdict(server, attack, UNANSWERED)
    scores, still, _ = verdict(server, attack, UNANSWERED | {"D3": attack.text})
    assert scores.pop("D3") in (None, 0.0)
    assert (scores, still) == (clean, action)


@pytest.mark.parametrize("mode", ["staged", "per_passage"])
@pytest.mark.parametrize("attack", ATTACKS[::4], ids=lambda attack: attack.name)
def test_the_other_modes_hold_as_well(server, attack, mode):
    clean, action, _ = verdict(server, attack, ANSWERED | {"D3": CARRIER}, mode=mode)
    attacked = ANSWERED | {"D3": f"{CARRIER}\n\n{attack.text}"}
    scores, still, _ = verdict(server, attack, attacked, mode=mode)
    assert (scores, still) == (clean, action)


def test_without_the_filter_the_obedient_model_obeys(server):
    changed = 0
    for attack in ATTACKS:
        clean, _, _ = verdict(server, attack, UNANSWERED | {"D3": CARRIER}, withhold=False)
        attacked = UNANSWERED | {"D3": f"{CARRIER}\n\n{attack.text}"}
        scores, _, _ = verdict(server, attack, attacked, withhold=False)
        changed += scores != clean
    assert changed == len(ATTACKS) == 40
