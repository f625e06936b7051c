"""What makes two questions the same, and what another."""

import dataclasses
import datetime

import pytest

from crag_graph.evaluators.cached import cached
from crag_graph.evaluators.cached.grades import CachedEvaluator
from crag_graph.evaluators.local import LocalEvaluator
from crag_graph.prompting import Prompts
from crag_graph.settings import Settings
from tests.fakes.caching import GRADED, memory, run, scoring
from tests.fakes.grading import (
    QUESTION,
    TEXTS,
    chat,
    evaluator,
    fused,
    passages,
    scores,
)
from tests.fakes.openai_server import OpenAIServer, as_json


def test_ids_and_order_do_not_matter_but_texts_titles_and_strips_do():
    with OpenAIServer(lambda _: GRADED) as server:
        made = cached(evaluator(server), memory())
        run(made)
        renamed = {f"x{at}": text for at, text in enumerate(reversed(TEXTS.values()))}
        found = run(made, passages(renamed))
        assert scores(found) == {"x2": 1.0, "x1": 0.25, "x0": 0.0}
        assert all(key.startswith("x") for key in found.strip_scores)
        assert len(server.requests) == 1
        changed = [
            [dataclasses.replace(passages()[0], title="T"), *passages()[1:]],
            [dataclasses.replace(passages()[0], strips=()), *passages()[1:]],
            [dataclasses.replace(passages()[0], origin="web"), *passages()[1:]],
            passages(TEXTS | {"D1": TEXTS["D1"] + " No more."}),
        ]
        for given in changed:
            before = len(server.requests)
            run(made, given)
            assert len(server.requests) > before


def test_a_model_that_reads_passages_together_is_cached_by_their_set():
    with OpenAIServer(lambda _: GRADED) as server:
        made = cached(evaluator(server), memory())
        run(made)
        server.script(lambda _: as_json(fused(("P1", 3, [1]), ("P2", 3, []))))
        found = run(made, passages({"D1": TEXTS["D1"], "D2": TEXTS["D2"]}))
        assert scores(found) == {"D1": 0.5, "D2": 0.5}
        assert len(server.requests) == 2


CHANGES = [
    {"evaluation_mode": "staged"},
    {"evaluation_mode": "per_passage"},
    {"prompt_evaluate": "Grade.\n<!-- user -->\n$passages $question $fence"},
    {"passage_tokens": 200},
    {"batch_passages": 2},
    {"sub_queries": 2},
    {"withhold_instructions": False},
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: next(iter(change)))
def test_settings_that_change_what_a_model_sees_change_the_key(change):
    with OpenAIServer() as server:
        inner = evaluator(server)
        assert inner.cache_key(Settings(**change)) != inner.cache_key(Settings())


@pytest.mark.parametrize("change", [{"upper": 0.9}, {"strip_floor": 0.1}, {"top_k": 3}], ids=str)
def test_settings_that_do_not_change_a_grade_keep_the_entries(change):
    with OpenAIServer(lambda _: GRADED) as server:
        made = cached(evaluator(server), memory())
        run(made)
        run(made, **change)
        assert len(server.requests) == 1


def test_another_model_or_prompt_or_temperature_or_fallback_is_another_key(tmp_path):
    (tmp_path / "refine.md").write_text("$question $passages\n<!-- user -->\n$question $passages")
    with OpenAIServer() as server:
        from crag_graph.evaluators.llm import LLMEvaluator

        made = [
            LLMEvaluator(chat(server)),
            LLMEvaluator(chat(server, "other")),
            LLMEvaluator(chat(server, temperature=0.7)),
            LLMEvaluator(chat(server), fallback=chat(server, "other")),
        ]
        keys = {each.cache_key(Settings()) for each in made}
        assert len(keys) == 4
        assert "TESTLEAK" not in str(keys)
        staged = Settings(evaluation_mode="staged")
        own = LLMEvaluator(chat(server), prompts=Prompts(tmp_path))
        assert own.cache_key(staged) != made[0].cache_key(staged)


def test_another_model_of_a_scorer_is_another_key():
    store = memory()
    run(cached(scoring()[0], store))
    other, scorer = scoring(lambda text: 0.7, key="stub-2")
    assert set(scores(run(cached(other, store))).values()) == {0.7}
    assert len(scorer.calls) == 1


def test_a_question_for_what_is_current_is_cached_for_the_day():
    day = [datetime.date(2026, 11, 30)]
    inner, scorer = scoring()
    made = CachedEvaluator(inner, memory(), today=lambda: day[0])
    for question in ("Who is the current mayor?", QUESTION):
        run(made, question=question)
    day[0] += datetime.timedelta(days=1)
    before = len(scorer.calls)
    run(made, question=QUESTION)
    assert len(scorer.calls) == before
    run(made, question="Who is the current mayor?")
    assert len(scorer.calls) == before + 1


class Silent:
    """Grades as the local evaluator does, and says nothing of what its grades depend on."""

    name = "silent"

    def __init__(self) -> None:
        self.inner = LocalEvaluator()

    def evaluate(self, question, passages, *, settings, budget):
        return self.inner.evaluate(question, passages, settings=settings, budget=budget)

    async def aevaluate(self, question, passages, *, settings, budget):
        return await self.inner.aevaluate(question, passages, settings=settings, budget=budget)


def test_an_evaluator_that_says_nothing_of_itself_counts_as_joint():
    made = cached(Silent(), memory())
    first = run(made)
    assert run(made).grades == first.grades
    assert run(made).usage["cache_hits"] == 3
    subset = run(made, passages()[:2])
    assert "cache_hits" not in subset.usage
    assert "cache_hits" not in run(made, strip_floor=0.1).usage
    assert made.fingerprint(Settings()).startswith("silent:")


def test_grades_of_the_local_evaluator_are_found_whatever_the_settings_and_only_together():
    made = cached(LocalEvaluator(), memory())
    first = run(made)
    again = run(made, strip_floor=0.1)
    assert (again.grades, again.usage["cache_hits"]) == (first.grades, 3)
    assert "cache_hits" not in run(made, passages()[:2]).usage
    assert made.fingerprint(Settings()).startswith("local:")
