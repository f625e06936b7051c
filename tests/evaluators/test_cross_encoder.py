import asyncio
import math
import threading

import pytest
from langchain_core.documents import Document

from crag_graph.budget import Budget
from crag_graph.errors import BudgetExceededError, EvaluationError, ModelError
from crag_graph.evaluators.base import RetrievalEvaluator, asks_model
from crag_graph.evaluators.cross_encoder import ScoringEvaluator
from crag_graph.evaluators.grading import as_passages
from crag_graph.models.scorers.base import ScoreScale
from crag_graph.models.scorers.hosted import HostedScorer
from crag_graph.models.scorers.onnx import OnnxScorer
from crag_graph.settings import Settings
from tests.fakes.grading import QUESTION, passages, scores, statuses
from tests.fakes.onnx_models import onnx_folder
from tests.fakes.scorers import StubScorer
from tests.fakes.web_servers import Reply, WebServer


def by_word(word, high=0.9, low=0.1):
    return lambda text: high if word in text else low


def evaluate(evaluator, given=None, *, question=QUESTION, budget=None):
    """Both entries, which must agree."""
    given = passages() if given is None else given

    async def both():
        return await evaluator.aevaluate(
            question, given, settings=Settings(), budget=budget or Budget()
        )

    found = evaluator.evaluate(question, given, settings=Settings(), budget=budget or Budget())
    assert asyncio.run(both()) == found
    return found


def strip_texts(given, evaluation):
    texts = {strip["id"]: strip["text"] for passage in given for strip in passage.strips}
    return {texts[key]: score for key, score in evaluation.strip_scores.items()}


def test_passages_and_strips_have_their_own_scores():
    made = ScoringEvaluator(StubScorer(by_word("nine")))
    assert isinstance(made, RetrievalEvaluator)
    assert not asks_model(made)
    assert made.name == "stub-scorer"
    given = passages()
    found = evaluate(made, given)
    assert scores(found) == {"D1": 0.9, "D2": 0.1, "D3": 0.1}
    assert found.grades[0]["raw"] == 0.9
    assert found.grades[0]["evaluator"] == "stub-scorer"
    assert "0.9" in found.grades[0]["reason"]
    strips = strip_texts(given, found)
    assert strips["The ferry to Lund leaves at nine."] == 0.9
    assert strips["Bicycles travel free of charge on every boat."] == 0.1
    assert found.usage.get("llm_calls", 0) == 0


def test_all_texts_go_out_in_one_batch_longest_first_and_none_twice():
    scorer = StubScorer(lambda text: 0.5)
    twice = passages({"a": "Only one sentence here.", "b": "Only one sentence here."})
    ScoringEvaluator(scorer).evaluate(QUESTION, twice, settings=Settings(), budget=Budget())
    assert scorer.calls == [["Only one sentence here."]]
    scorer.calls.clear()
    ScoringEvaluator(scorer).evaluate(QUESTION, passages(), settings=Settings(), budget=Budget())
    (call,) = scorer.calls
    assert [len(text) for text in call] == sorted((len(text) for text in call), reverse=True)
    assert len(call) == 9


def test_raw_scores_are_kept_beside_their_place_on_the_scale():
    scorer = StubScorer(by_word("nine", 0.5, -0.5), scale=ScoreScale(name="signed"))
    found = evaluate(ScoringEvaluator(scorer))
    assert [grade["raw"] for grade in found.grades] == [0.5, -0.5, -0.5]
    assert [grade["score"] for grade in found.grades] == [0.75, 0.25, 0.25]


def test_a_title_stands_before_each_text_unless_the_scorer_saw_none():
    document = Document(id="d", page_content="It leaves at nine.", metadata={"title": "The ferry"})
    given = as_passages([document], origin="internal")
    scorer = StubScorer(by_word("ferry"))
    assert evaluate(ScoringEvaluator(scorer), given).grades[0]["score"] == 0.9
    assert scorer.calls[0] == ["The ferry. It leaves at nine."]
    bare = ScoringEvaluator(StubScorer(by_word("ferry")), titles=False)
    assert evaluate(bare, given).grades[0]["score"] == 0.1


@pytest.mark.parametrize("where", [0, 57, 119])
def test_of_a_long_passage_nothing_is_left_out(where):
    sentences = [f"Filler number {at} says nothing of use." for at in range(120)]
    sentences[where] = "The ferry leaves at nine."
    given = passages({"long": " ".join(sentences)})
    scorer = StubScorer(by_word("nine"), max_tokens=64)
    found = evaluate(ScoringEvaluator(scorer), given)
    assert scores(found) == {"long": 0.9}
    assert "best of" in found.grades[0]["reason"]
    assert any("windows" in note for note in found.notes)
    room = 64 - len(QUESTION.split())
    assert all(len(text.split()) <= room for call in scorer.calls for text in call)
    assert len(found.strip_scores) == len(given[0].strips)


def test_a_sentence_that_is_too_long_by_itself_is_windowed_as_well():
    given = passages({"long": "word " * 300 + "nine"})
    scorer = StubScorer(by_word("nine"), max_tokens=40)
    found = evaluate(ScoringEvaluator(scorer), given)
    assert scores(found) == {"long": 0.9}
    assert max(found.strip_scores.values()) == 0.9


def test_of_a_long_question_both_ends_are_read():
    scorer = StubScorer(lambda text: 0.5, max_tokens=40)
    question = "Background first. " + "More and more of it. " * 50 + "When does the ferry leave?"
    evaluate(ScoringEvaluator(scorer), question=question)
    (asked, _) = scorer.questions
    assert asked.startswith("Backgr")
    assert asked.endswith("ferry leave?")
    assert len(asked.split()) <= 20


def test_blank_passages_are_unknown_and_not_sent():
    scorer = StubScorer(lambda text: 0.5)
    found = evaluate(ScoringEvaluator(scorer), passages({"a": " \n ", "b": "Something."}))
    assert statuses(found) == {"a": "unknown", "b": "scored"}
    assert all(text.strip() for call in scorer.calls for text in call)
    assert evaluate(ScoringEvaluator(scorer), []).grades == []
    assert statuses(evaluate(ScoringEvaluator(scorer), passages({"a": ""}))) == {"a": "unknown"}


@pytest.mark.parametrize("score", [None, math.nan, math.inf, 1.5])
def test_what_is_no_score_is_unknown(score):
    found = evaluate(ScoringEvaluator(StubScorer(lambda text: score if "nine" in text else 0.2)))
    assert statuses(found) == {"D1": "unknown", "D2": "scored", "D3": "scored"}
    assert scores(found)["D1"] is None


def failing(word):
    def score(text):
        if word in text:
            raise ModelError("the server is gone", reason="transport")
        return 0.5

    return score


def test_what_a_part_of_the_requests_failed_for_is_failed_and_the_rest_is_graded():
    scorer = StubScorer(failing("Bread is"), most_texts=1)
    found = evaluate(ScoringEvaluator(scorer))
    assert statuses(found) == {"D1": "scored", "D2": "scored", "D3": "failed"}
    assert found.grades[2]["reason"] == "the server is gone"
    assert found.grades[2]["score"] is None
    assert any("could not be scored: the server is gone" in note for note in found.notes)


def test_a_passage_of_which_a_window_failed_is_failed():
    text = " ".join(f"Filler number {at} says nothing of use." for at in range(40)) + " Bread."
    scorer = StubScorer(failing("Bread"), most_texts=1, max_tokens=64)
    assert statuses(evaluate(ScoringEvaluator(scorer), passages({"a": text, "b": "Good."}))) == {
        "a": "failed",
        "b": "scored",
    }


def test_when_nothing_could_be_graded_that_is_an_error():
    made = ScoringEvaluator(StubScorer(failing("")))
    with pytest.raises(EvaluationError, match="the server is gone") as caught:
        made.evaluate(QUESTION, passages(), settings=Settings(), budget=Budget())
    assert caught.value.reason == "transport"


def test_the_time_of_the_run_is_kept():
    made = ScoringEvaluator(StubScorer(lambda text: 0.5))
    with pytest.raises(BudgetExceededError):
        made.evaluate(QUESTION, passages(), settings=Settings(), budget=Budget(max_seconds=0.0))
    made.evaluate(QUESTION, passages(), settings=Settings(), budget=Budget(max_seconds=60))
    made.evaluate(QUESTION, passages(), settings=Settings(), budget=Budget())
    first, second = made.scorer.seconds
    assert 0 < first <= 60
    assert second is None


async def test_tokens_are_counted_off_the_event_loop():
    scorer = StubScorer(lambda text: 0.5)
    await ScoringEvaluator(scorer).aevaluate(
        QUESTION, passages(), settings=Settings(), budget=Budget()
    )
    assert threading.get_ident() not in scorer.threads


def test_the_fingerprint_follows_scorer_and_titles():
    def of(key, **more):
        scorer = StubScorer(lambda text: 0.5, key=key)
        return ScoringEvaluator(scorer, **more).fingerprint(Settings())

    assert of("a") == of("a")
    assert len({of("a"), of("b"), of("a", titles=False)}) == 3
    assert of("a").startswith("stub-scorer:")


def test_a_model_in_a_folder_grades(tmp_path):
    weights = {"nine": 3.0, "ferry": 0.5, "Ferries": -2.0, "Bread": -2.0, "When": 9.0}
    made = ScoringEvaluator(OnnxScorer(onnx_folder(tmp_path, weights), threads=1))
    found = evaluate(made)
    first, second, third = (grade["score"] for grade in found.grades)
    assert first == pytest.approx(1 / (1 + math.exp(-3.5)), abs=1e-5)
    assert second == third == pytest.approx(1 / (1 + math.exp(2)), abs=1e-5)


def test_a_hosted_reranker_grades_and_its_outage_is_told():
    def script(request):
        ranked = [
            {"index": at, "relevance_score": 0.8 if "nine" in text else 0.1}
            for at, text in enumerate(request.body["documents"])
        ]
        return Reply(body={"results": ranked[::-1]})

    with WebServer(script) as server:
        made = ScoringEvaluator(HostedScorer("m", base_url=server.url))
        assert scores(evaluate(made)) == {"D1": 0.8, "D2": 0.1, "D3": 0.1}
        server.script(Reply(status=401, body={"message": "no"}))
        with pytest.raises(EvaluationError, match="refuses the key") as caught:
            made.evaluate(QUESTION, passages(), settings=Settings(), budget=Budget())
        assert caught.value.reason == "auth"
