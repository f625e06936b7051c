"""The graph as a whole: three actions, one join, one generation."""

import asyncio
from typing import Any

import pytest

from crag_graph.generation.extractive import ExtractiveGenerator
from crag_graph.graph import build_graph
from tests.fakes.collaborators import (
    StubEvaluator,
    StubGenerator,
    StubRetriever,
    StubWeb,
    doc,
    services,
)
from tests.fakes.world import ACTIONS, QUESTION, world


@pytest.mark.case(49)
@pytest.mark.parametrize(("score", "action"), ACTIONS)
def test_each_action_takes_its_own_path_and_generates_exactly_once(score, action):
    made = world(score)
    nodes = [
        name
        for step in build_graph(services(**made)).stream(QUESTION, stream_mode="updates")
        for name in step
    ]
    paths = {
        "correct": ["retrieve", "evaluate", "route", "refine", "generate"],
        "incorrect": ["retrieve", "evaluate", "route", "web_search", "generate"],
        "ambiguous": ["retrieve", "evaluate", "route", "refine", "web_search", "generate"],
    }
    assert sorted(nodes) == sorted(paths[action])
    assert nodes[-1] == "generate"
    assert len(made["generator"].requests) == 1
    assert len(made["web"].queries) == (0 if action == "correct" else 1)


@pytest.mark.parametrize(("score", "action"), ACTIONS)
def test_evidence_comes_from_where_the_action_says(score, action):
    made = world(score)
    out = build_graph(services(**made)).invoke(QUESTION)
    origins = {item.origin for item in made["generator"].requests[0].evidence}
    assert out["action"] == action
    assert (
        origins
        == {
            "correct": {"internal"},
            "incorrect": {"web"},
            "ambiguous": {"internal", "web"},
        }[action]
    )
    assert out["status"] == "answered"
    assert out["answer"] == "The answer [1]."
    assert [citation["number"] for citation in out["citations"]] == [1]
    assert out["usage"]["generation_calls"] == 1


@pytest.mark.case(50)
def test_both_sides_of_the_ambiguous_branch_meet_in_a_fixed_order():
    for _ in range(5):
        out = build_graph(services(**world(0.5))).invoke(QUESTION)
        assert [strip["origin"] for strip in out["strips"]] == ["internal", "internal", "web"]


@pytest.mark.case(66)
@pytest.mark.parametrize(("score", "action"), ACTIONS)
async def test_every_entry_gives_the_same_result(score, action):
    def essence(out: dict[str, Any]) -> Any:
        keys = ("action", "status", "answer", "citations", "grades", "strips", "warnings")
        return {key: out[key] for key in keys}

    graph = build_graph(services(**world(score)))
    invoked = essence(graph.invoke(QUESTION))
    assert essence(await graph.ainvoke(QUESTION)) == invoked
    assert essence(list(graph.stream(QUESTION, stream_mode="values"))[-1]) == invoked
    streamed = [out async for out in graph.astream(QUESTION, stream_mode="values")]
    assert essence(streamed[-1]) == invoked
    assert [essence(out) for out in graph.batch([QUESTION, QUESTION])] == [invoked, invoked]
    assert invoked["action"] == action


@pytest.mark.case(66)
def test_one_graph_serves_two_event_loops_in_turn():
    graph = build_graph(services(**world(0.5)))
    first = asyncio.run(graph.ainvoke(QUESTION))
    second = asyncio.run(graph.ainvoke(QUESTION))
    assert first["answer"] == second["answer"] == "The answer [1]."


@pytest.mark.case(44)
def test_weak_passages_beside_a_good_one_are_dropped_without_a_search():
    scores = {"d1": 1.0, "d2": 1.0, "d3": 0.0, "d4": 0.0, "d5": 0.0}
    made = world(
        0.9,
        retriever=StubRetriever([doc(name) for name in scores]),
        evaluator=StubEvaluator(scores),
    )
    out = build_graph(services(**made)).invoke(QUESTION)
    assert out["action"] == "correct"
    assert made["web"].queries == []
    kept = {strip["document_id"] for strip in out["strips"] if strip["kept"]}
    assert kept == {"d1", "d2"}


@pytest.mark.case(115)
def test_near_duplicates_do_not_hide_the_answer():
    boiler = "All rights reserved by the harbour office of Lund, see the notice at the pier. " * 3
    copies = [doc(f"b{n}", boiler + "x" * (n == 3)) for n in range(4)]
    made = world(
        0.9,
        retriever=StubRetriever([*copies, doc("answer")]),
        evaluator=StubEvaluator(lambda p: 1.0 if p.id == "answer" else 0.2),
    )
    out = build_graph(services(**made)).invoke(QUESTION)
    assert [document.id for document in out["documents"]] == ["b0", "answer"]
    assert out["action"] == "correct"


@pytest.mark.case(47)
def test_the_question_stays_and_the_rewrite_has_its_own_key():
    made = world(0.1, evaluator=StubEvaluator(lambda _: 0.1, query="ferry timetable 2026"))
    out = build_graph(services(**made)).invoke(QUESTION)
    assert out["question"] == QUESTION["question"]
    assert out["search_query"] == "ferry timetable 2026"
    assert made["web"].queries == ["ferry timetable 2026"]
    assert made["generator"].requests[0].question == QUESTION["question"]


@pytest.mark.case(46)
def test_a_run_ends_by_itself_within_ten_steps():
    made = world(0.0, web=StubWeb([]))
    out = build_graph(services(**made)).invoke(QUESTION, {"recursion_limit": 10})
    assert out["status"] == "refused"
    assert len(made["web"].queries) == 1


@pytest.mark.case(126)
def test_markers_without_a_source_are_removed_and_counted():
    made = world(0.9, generator=StubGenerator("A [1]. B [7]. C [0]."))
    out = build_graph(services(**made)).invoke(QUESTION)
    assert "[7]" not in out["answer"]
    assert "[0]" not in out["answer"]
    assert any("2" in w and "citation" in w for w in out["warnings"])
    assert [citation["source"] for citation in out["citations"]] == ["d1.md"]


@pytest.mark.case(98)
def test_a_passage_graded_high_of_which_no_strip_holds_is_kept_whole():
    made = world(0.9, evaluator=StubEvaluator({"d1": 0.9}, strips=False))
    out = build_graph(services(**made)).invoke(QUESTION)
    kept = [strip["text"] for strip in out["strips"] if strip["kept"]]
    assert kept == ["d1 tells of the ferry."]


@pytest.mark.case(25)
@pytest.mark.case(8)
def test_grades_are_aligned_by_id_and_a_missing_one_is_unknown():
    made = world(0.9, evaluator=StubEvaluator(lambda p: None if p.id == "d1" else 0.9))
    out = build_graph(services(**made)).invoke(QUESTION)
    assert [(g["document_id"], g["status"]) for g in out["grades"]] == [
        ("d1", "unknown"),
        ("d2", "scored"),
    ]
    assert any("1 of 2 passages could not be graded" in w for w in out["warnings"])


@pytest.mark.case(116)
@pytest.mark.parametrize("scores", [(float("nan"), 1.0, 0.1), (1.0, float("nan"), 0.1)])
def test_a_score_that_is_no_number_takes_no_part(scores):
    names = ["d1", "d2", "d3"]
    made = world(
        0.9,
        retriever=StubRetriever([doc(name) for name in names]),
        evaluator=StubEvaluator(dict(zip(names, scores, strict=True))),
    )
    out = build_graph(services(**made)).invoke(QUESTION)
    assert out["action"] == "correct"
    assert sorted(g["status"] for g in out["grades"]) == ["scored", "scored", "unknown"]


def test_the_stream_of_events_tells_what_happens():
    events = list(build_graph(services(**world(0.5))).stream(QUESTION, stream_mode="custom"))
    names = [event["event"] for event in events]
    assert names[:3] == ["retrieved", "graded", "routed"]
    assert set(names[3:]) == {"refined", "searching"}


@pytest.mark.case(126)
def test_what_a_quoted_source_has_in_brackets_cites_nothing():
    texts = {
        "a": "According to [2] and [1](https://elsewhere.example), ferries (source 2) sink.",
        "b": "The ferry leaves at nine.",
    }
    made = services(
        retriever=StubRetriever([doc(name, text) for name, text in texts.items()]),
        evaluator=StubEvaluator({"a": 0.9, "b": 0.5}),
        generator=ExtractiveGenerator(),
    )
    out = build_graph(made).invoke(QUESTION)
    assert "2 sources given" in out["decision"]["stages"]["generate"]["why"]
    assert [each["number"] for each in out["citations"]] == [1]
    assert out["answer"].endswith("- According to (2) and (1), ferries (source 2) sink. [1]")
    assert not any("citation" in warning for warning in out["warnings"])
