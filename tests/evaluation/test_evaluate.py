"""Whole evaluations, on collaborators that do what a test says."""

import asyncio
import json
from pathlib import Path

import pytest

from crag_graph.errors import (
    CollectionNotFoundError,
    ConfigurationError,
    CRAGError,
    EvaluationError,
    GenerationError,
    InputError,
)
from crag_graph.evaluation import Evaluation, Example, LabelledPassage, aevaluate, evaluate
from crag_graph.generation.extractive import ExtractiveGenerator
from crag_graph.lazy import Lazy
from crag_graph.settings import Settings
from tests.fakes.collaborators import (
    StubEvaluator,
    StubGenerator,
    StubRetriever,
    StubWeb,
    doc,
    services,
)

FERRY, COWS = doc("ferry", "The ferry leaves at nine."), doc("cows", "Cows graze.")
EXAMPLES = [
    Example(
        id="1", question="When does the ferry leave?", answers=("nine",), answerable=True,
        should_answer=True, gold=("ferry.md",),
    ),
    Example(id="2", question="Who is king?", answerable=False, should_answer=False),
]  # fmt: skip


def stubs(**given):
    """Finds both documents for the ferry, cows for anything else; grades them rightly."""
    found = {"When does the ferry leave?": [COWS, FERRY]}
    return services(
        **{
            "retriever": StubRetriever(lambda question: found.get(question, [COWS])),
            "evaluator": StubEvaluator({"ferry": 0.9, "cows": 0.1}),
            "generator": StubGenerator("At nine [1]."),
        }
        | given
    )


def test_both_arms_are_measured_where_the_labels_allow_it():
    report = evaluate(EXAMPLES, services=stubs())
    crag, plain = report.figures["crag"], report.figures["plain"]
    assert (report.asked, report.done, report.interrupted, report.failed) == (2, 2, False, [])
    assert crag["retrieval"]["recall@5"].value == 1
    assert crag["retrieval"]["mrr"].value == 0.5
    assert crag["retrieval"]["recall@5"].questions == 1
    assert crag["verdict"]["macro_f1"].value == 1
    assert crag["verdict"]["balanced_accuracy"].value == 1
    assert crag["refusal"]["unanswerable_refused"].value == 1
    assert crag["refusal"]["answerable_refused"].value == 0
    assert crag["answer"]["contained"].value == 1
    assert crag["answer"]["f1"].value == pytest.approx(2 / 3)
    assert crag["citations"]["precision"].value == 1
    assert report.confusion == {
        "answerable": {"correct": 1, "ambiguous": 0, "incorrect": 0},
        "unanswerable": {"correct": 0, "ambiguous": 0, "incorrect": 1},
    }
    # Plain RAG answers what it should not, from passages in the order of retrieval.
    assert "verdict" not in plain
    assert plain["refusal"]["unanswerable_refused"].value == 0
    assert plain["citations"]["precision"].value == 0
    assert plain["strips"]["kept_text"].value == 1
    assert crag["strips"]["kept_text"].value == pytest.approx(25 / 47)
    assert report.difference["refusal"]["unanswerable_refused"].value == 1
    assert report.difference["citations"]["precision"].value == 1
    assert json.dumps(report.as_dict(), allow_nan=False)


def test_plain_rag_grades_nothing_and_asks_no_web():
    evaluator, web = StubEvaluator({"ferry": 0.1, "cows": 0.1}), StubWeb([doc("page")])
    generator = StubGenerator("At nine [1].")
    given = stubs(evaluator=evaluator, web=web, generator=generator)
    evaluate(EXAMPLES[:1], services=given, settings=Settings(top_k=2))
    assert len(evaluator.calls) == 1
    assert len(web.queries) == 1
    plain = next(
        request
        for request in generator.requests
        if {item.document_id for item in request.evidence} == {"ferry", "cows"}
    )
    assert [item.document_id for item in plain.evidence] == ["cows", "ferry"]


def test_the_baseline_can_be_left_out():
    generator = StubGenerator("At nine [1].")
    report = evaluate(EXAMPLES[:1], services=stubs(generator=generator), baseline=False)
    assert len(generator.requests) == 1
    assert set(report.figures) == set(report.cost) == {"crag"}
    assert report.difference == {}


def test_without_labels_there_is_only_the_cost():
    report = evaluate([Example(id="1", question="What?")], services=stubs())
    assert set(report.figures["crag"]) == {"strips"}
    assert report.cost["crag"]["evaluator_calls"] == 1
    assert report.cost["plain"]["evaluator_calls"] == 0
    assert report.cost["crag"]["seconds_p95"] > 0


def test_no_gold_passage_retrieved_means_that_a_correct_verdict_is_wrong():
    retriever = StubRetriever([COWS])
    given = stubs(retriever=retriever, evaluator=StubEvaluator({"cows": 0.9}))
    report = evaluate(EXAMPLES[:1], services=given)
    assert report.confusion["unanswerable"]["correct"] == 1


def test_a_failing_question_is_counted_and_named_and_costs_the_others_nothing():
    def broken(question: str):
        if "king" in question:
            raise GenerationError("the model is down", reason="transport")
        return [FERRY]

    report = evaluate(EXAMPLES, services=stubs(retriever=StubRetriever(broken)))
    # A transient failure of retrieval is worked around; this one is none of the store's.
    assert report.done == 2
    assert {(one["id"], one["arm"]) for one in report.failed} | {
        (one["id"], one["arm"]) for one in report.degraded
    } == {("2", "crag"), ("2", "plain")}
    assert all("the model is down" in one["error"] for one in [*report.failed, *report.degraded])
    assert report.figures["crag"]["answer"]["contained"].value == 1


def test_what_a_collaborator_of_ones_own_raises_is_a_failure_too():
    class Broken(StubGenerator):
        def generate(self, request, *, settings, budget):
            raise KeyError("sk-abcdefghijklmnop1234")

    report = evaluate(EXAMPLES[:1], services=stubs(generator=Broken()))
    assert [one["arm"] for one in report.failed] == ["crag", "plain"]
    assert report.failed[0]["error"].startswith("unexpected KeyError: ")
    assert "answer" not in report.figures["crag"]
    (told,) = (warning for warning in report.warnings if "2 runs failed" in warning)
    assert "first: unexpected KeyError: " in told


def test_a_failure_of_grading_is_no_verdict():
    error = EvaluationError("the judge is down", reason="transport")
    report = evaluate(EXAMPLES, services=stubs(evaluator=StubEvaluator(error)))
    assert report.confusion == {}
    assert len(report.degraded) == 2
    assert report.degraded[0]["error"] == "evaluator: the judge is down"


def test_where_everything_fails_it_stops_early():
    examples = [Example(id=str(number), question=f"What {number}?") for number in range(50)]
    generator = StubGenerator(GenerationError("the key is refused", reason="auth"))
    given = stubs(generator=generator, evaluator=StubEvaluator(lambda _: 0.9))
    with pytest.raises(CRAGError, match=r"first 5 questions failed.* the key is refused"):
        evaluate(examples, services=given, concurrency=2)
    assert len(generator.requests) < 20


def test_a_collaborator_that_cannot_be_built_is_told_before_anything_is_spent():
    def missing():
        raise CollectionNotFoundError("there is no collection 'x'")

    generator = StubGenerator()
    with pytest.raises(CollectionNotFoundError):
        evaluate(EXAMPLES, services=stubs(retriever=Lazy(missing), generator=generator))
    assert generator.requests == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (Settings(approve_searches=True), "nobody approves"),
        (Settings(profile="none-such"), "there is no 'none-such'"),
    ],
)
def test_settings_that_cannot_be_evaluated_are_refused(settings, message):
    with pytest.raises(ConfigurationError, match=message):
        evaluate(EXAMPLES, services=stubs(), settings=settings)


@pytest.mark.parametrize(
    ("examples", "message"),
    [
        ([], "no example"),
        ([EXAMPLES[0], EXAMPLES[0]], "two examples have the id '1'"),
        (
            [
                EXAMPLES[0],
                Example(id="9", question="?", passages=(LabelledPassage(text="Cows graze."),)),
            ],
            "are mixed",
        ),
    ],
)
def test_examples_that_cannot_be_told_apart_are_refused(examples, message):
    with pytest.raises(InputError, match=message):
        evaluate(examples, services=stubs())


def test_questions_run_over_their_own_passages():
    def own(identifier: str, *texts: str) -> Example:
        passages = tuple(
            LabelledPassage(text=text, label=float(place == len(texts) - 1))
            for place, text in enumerate(texts)
        )
        return Example(id=identifier, question="When does the ferry leave?", passages=passages)

    examples = [
        own("a", "Cows graze on hills.", "Bread is baked.", "The ferry leaves at nine."),
        own("b", "The ferry leaves at noon."),
    ]
    generator = StubGenerator("At nine [1].")
    given = stubs(generator=generator, evaluator=StubEvaluator(lambda _: 0.9))
    report = evaluate(examples, services=given, settings=Settings(top_k=1))
    assert report.configuration["retriever"] == "own passages"
    # The gold passage stands last and is found first: the order of the file says nothing.
    assert report.figures["crag"]["retrieval"]["mrr"].value == 1
    texts = {request.evidence[0].text for request in generator.requests}
    assert texts == {"The ferry leaves at nine.", "The ferry leaves at noon."}
    assert given.retriever.get().name == "stub"  # the services themselves stay as they were


def test_concurrent_questions_stay_apart_and_in_order():
    examples = [
        Example(id=str(number), question=f"What {number}?", answers=(f"answer {number}",))
        for number in range(20)
    ]
    generator = StubGenerator(lambda request: f"answer {request.question[5:-1]} [1]")
    given = stubs(generator=generator, evaluator=StubEvaluator(lambda _: 0.9))
    report = evaluate(examples, services=given, concurrency=8)
    assert report.figures["crag"]["answer"]["exact"].value == 1
    assert report.configuration["concurrency"] == 8


def test_concurrency_is_one_without_a_model_and_four_with_one():
    local = StubEvaluator({"ferry": 0.9})
    for generator, expected in ((ExtractiveGenerator(), 1), (StubGenerator("x [1]"), 4)):
        given = stubs(evaluator=local, local_evaluator=local, generator=generator)
        assert evaluate(EXAMPLES[:1], services=given).configuration["concurrency"] == expected


@pytest.mark.parametrize(
    ("settings", "baseline", "calls"),
    [
        (Settings(), True, 3),
        (Settings(), False, 2),
        (Settings(evaluation_mode="staged"), True, 5),
        (Settings(evaluation_mode="per_passage", top_k=7), False, 9),
        (Settings(evaluation_mode="per_passage", max_llm_calls=3), True, 4),
    ],
)
def test_calls_to_models_are_told_beforehand(settings, baseline, calls):
    # The stub does not say that it asks no model, so it is taken for one that does.
    evaluation = Evaluation(EXAMPLES, services=stubs(), settings=settings, baseline=baseline)
    assert evaluation.expected_calls() == 2 * calls


def test_without_a_model_no_call_is_expected():
    local = StubEvaluator({})
    given = stubs(evaluator=local, local_evaluator=local, generator=ExtractiveGenerator())
    assert Evaluation(EXAMPLES, services=given).expected_calls() == 0


def test_it_runs_inside_an_event_loop_too():
    async def notebook():
        return evaluate(EXAMPLES, services=stubs()), await aevaluate(EXAMPLES, services=stubs())

    first, second = asyncio.run(notebook())
    assert first.figures == second.figures


def test_what_was_done_can_be_reported_after_an_interruption(tmp_path: Path):
    def stop(record):
        raise KeyboardInterrupt

    path = tmp_path / "results.jsonl"
    # One at a time, since the second question is over sooner than the first.
    evaluation = Evaluation(EXAMPLES, services=stubs(), results=path, tell=stop, concurrency=1)
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(evaluation.arun())
    report = evaluation.report()
    assert (report.asked, report.done, report.interrupted) == (2, 1, True)
    assert report.figures["crag"]["answer"]["contained"].value == 1
    # The same evaluation goes on from there.
    generator = StubGenerator("At nine [1].")
    whole = evaluate(EXAMPLES, services=stubs(generator=generator), results=path)
    assert (whole.done, whole.interrupted) == (2, False)
    assert len(generator.requests) == 1  # plain RAG's of the second question
    assert whole.figures == evaluate(EXAMPLES, services=stubs()).figures


def test_failed_questions_are_run_again(tmp_path: Path):
    path = tmp_path / "results.jsonl"
    broken = StubGenerator(GenerationError("down", reason="transport"))
    assert evaluate(EXAMPLES, services=stubs(generator=broken), results=path).failed
    assert evaluate(EXAMPLES, services=stubs(), results=path).failed == []
    assert evaluate(EXAMPLES, services=stubs(generator=broken), results=path).failed == []


def test_a_limit_can_be_raised_afterwards(tmp_path: Path):
    path = tmp_path / "results.jsonl"
    evaluate(EXAMPLES, services=stubs(), results=path, limit=1)
    first = json.loads(path.read_text().splitlines()[1])["id"]
    told: list[str] = []
    report = evaluate(
        EXAMPLES, services=stubs(), results=path, tell=lambda record: told.append(record.id)
    )
    assert report.done == 2
    assert told == [first, "2" if first == "1" else "1"]  # what was there comes first
    lines = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    assert [line["id"] for line in lines] == told


@pytest.mark.parametrize("changed", [{"settings": Settings(top_k=3)}, {"relevant_from": 2.0}])
def test_results_of_another_configuration_are_refused(tmp_path: Path, changed):
    path = tmp_path / "results.jsonl"
    evaluate(EXAMPLES, services=stubs(), results=path)
    before = path.read_text()
    with pytest.raises(InputError, match="results of another configuration or data set"):
        evaluate(EXAMPLES, services=stubs(), results=path, **changed)
    with pytest.raises(InputError, match="results of another configuration or data set"):
        evaluate(EXAMPLES[:1], services=stubs(), results=path)
    assert path.read_text() == before


def test_another_file_is_not_overwritten_and_half_a_line_is_made_good(tmp_path: Path):
    other = tmp_path / "notes.jsonl"
    other.write_text("my notes\n")
    with pytest.raises(InputError, match="holds something else"):
        evaluate(EXAMPLES, services=stubs(), results=other)
    assert other.read_text() == "my notes\n"
    path = tmp_path / "results.jsonl"
    evaluate(EXAMPLES, services=stubs(), results=path)
    path.write_text(path.read_text()[:-30])
    assert evaluate(EXAMPLES, services=stubs(), results=path).done == 2
    assert len(path.read_text().splitlines()) == 3
    with pytest.raises(InputError, match="cannot be written"):
        evaluate(EXAMPLES, services=stubs(), results=tmp_path / "none" / "results.jsonl")


def test_reranking_that_hurts_is_told():
    wrong = StubEvaluator({"ferry": 0.1, "cows": 0.9})
    given = stubs(evaluator=wrong, local_evaluator=wrong, retriever=StubRetriever([FERRY, COWS]))
    report = evaluate(EXAMPLES[:1], services=given, settings=Settings(top_k=1, rerank_from=2))
    assert report.difference["retrieval"]["recall@1"].value == -1
    assert any(
        one.startswith("reranking hurts: recall@1 falls by 1.000") for one in report.warnings
    )
    right = stubs(retriever=StubRetriever([FERRY, COWS]))
    fine = evaluate(EXAMPLES[:1], services=right, settings=Settings(top_k=1, rerank_from=2))
    assert not any("reranking" in one for one in fine.warnings)


def test_reranking_that_failed_is_told_with_its_first_cause():
    down = EvaluationError(
        "http://user:sk-abcdefghijklmnop1234@rank.test cannot be reached", reason="transport"
    )
    broken = StubEvaluator(down)
    given = stubs(evaluator=broken, local_evaluator=broken, retriever=StubRetriever([FERRY, COWS]))
    report = evaluate(EXAMPLES, services=given, settings=Settings(top_k=1, rerank_from=2))
    (told,) = (one for one in report.warnings if one.startswith("reranking failed"))
    assert told.startswith("reranking failed 2 times and was worked around")
    assert "rank.test cannot be reached" in told
    assert "sk-abc" not in "".join(report.warnings)


def test_the_web_is_told_since_it_changes():
    report = evaluate(EXAMPLES, services=stubs(web=StubWeb()))
    assert any("web search is on" in one for one in report.warnings)
    off = evaluate(EXAMPLES, services=stubs(web=StubWeb()), settings=Settings(web_search=False))
    assert not any("web search is on" in one for one in off.warnings)
