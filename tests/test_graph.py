"""The graph as a whole: three actions, one join, one generation, nothing carried over."""

import asyncio
import subprocess
import sys
from typing import Any

import pytest
from langchain_core.documents import Document
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from crag_graph.errors import (
    CollectionNotFoundError,
    ConfigurationError,
    EvaluationError,
    GenerationError,
    InputError,
    SearchUnavailableError,
    StoreUnavailableError,
)
from crag_graph.graph import build_graph
from crag_graph.nodes.route import Routed
from tests.fakes.collaborators import (
    StubEvaluator,
    StubGenerator,
    StubRetriever,
    StubWeb,
    doc,
    services,
)

QUESTION = {"question": "When does the ferry leave?"}
PAGE = Document(page_content="The ferry leaves at 9.", metadata={"source": "https://a.example/f"})


def world(score: float | None, **given: Any) -> dict[str, Any]:
    return {
        "retriever": StubRetriever([doc("d1"), doc("d2", "Another matter.")]),
        "evaluator": StubEvaluator({"d1": score, "d2": 0.1 if score is not None else None}),
        "generator": StubGenerator(),
        "web": StubWeb([PAGE]),
    } | given


ACTIONS = [(0.9, "correct"), (0.5, "ambiguous"), (0.2, "incorrect")]


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


@pytest.mark.case(38)
def test_without_evidence_it_refuses_in_code_and_asks_no_generator():
    made = world(0.1, web=StubWeb([]))
    out = build_graph(services(**made)).invoke(QUESTION)
    assert out["status"] == "refused"
    assert out["citations"] == []
    assert made["generator"].requests == []
    assert out["usage"]["generation_calls"] == 0
    assert "0.10" in out["answer"]
    assert "web search found nothing" in out["answer"]


def test_without_a_web_provider_it_says_so_once_and_still_works():
    out = build_graph(services(**world(0.5, web=None))).invoke(QUESTION)
    assert out["status"] == "answered"
    assert [warning for warning in out["warnings"] if "web search is off" in warning] == [
        "web search is off: set CRAG_WEB_SEARCH or TAVILY_API_KEY to search the web"
    ]


def test_web_results_below_the_floor_do_not_reach_the_generator():
    made = world(0.1, local_evaluator=StubEvaluator(lambda _: 0.18, name="gate"))
    out = build_graph(services(**made)).invoke(QUESTION)
    assert out["status"] == "refused"
    assert "0.18" in out["answer"]
    assert made["generator"].requests == []


@pytest.mark.case(129)
def test_an_empty_collection_differs_from_nothing_relevant():
    empty = StubRetriever([], empty=True)
    nothing = build_graph(services(**world(0.1, web=None, retriever=empty))).invoke(QUESTION)
    irrelevant = build_graph(services(**world(0.1, web=None))).invoke(QUESTION)
    assert nothing["decision"]["grading"] == "empty"
    assert irrelevant["decision"]["grading"] == "scored"
    assert "crag ingest" in nothing["answer"]
    assert "crag ingest" not in irrelevant["answer"]


@pytest.mark.case(128)
def test_a_store_that_is_down_leaves_the_web_and_is_named():
    down = StubRetriever(StoreUnavailableError("Qdrant at q.example cannot be reached"))
    out = build_graph(services(**world(0.9, retriever=down))).invoke(QUESTION)
    assert out["status"] == "answered"
    assert {citation["origin"] for citation in out["citations"]} == {"web"}
    assert any("local search is unavailable" in warning for warning in out["warnings"])
    assert out["decision"]["failures"] == ["retrieval: Qdrant at q.example cannot be reached"]


@pytest.mark.case(128)
def test_store_and_web_down_is_a_refusal_and_no_answer_from_general_knowledge():
    made = world(
        0.9,
        retriever=StubRetriever(StoreUnavailableError("Qdrant at q.example cannot be reached")),
        web=StubWeb(SearchUnavailableError("w.example cannot be reached")),
    )
    out = build_graph(services(**made)).invoke(QUESTION)
    assert out["status"] == "refused"
    assert made["generator"].requests == []
    assert "could not be searched" in out["answer"]
    assert len(out["decision"]["failures"]) == 2


@pytest.mark.case(81)
def test_a_missing_collection_ends_the_run_instead_of_searching_the_web():
    made = world(0.9, retriever=StubRetriever(CollectionNotFoundError("no collection 'x'")))
    with pytest.raises(CollectionNotFoundError):
        build_graph(services(**made)).invoke(QUESTION)
    assert made["web"].queries == []


@pytest.mark.case(121)
@pytest.mark.parametrize(
    ("policy", "action", "kept"),
    [("ambiguous", "ambiguous", {"d1", "d2"}), ("irrelevant", "incorrect", set())],
)
def test_the_outage_policy_decides_when_grading_fails(policy, action, kept):
    failing = StubEvaluator(EvaluationError("the judge is down", reason="transport"))
    out = build_graph(services(**world(0.9, evaluator=failing))).invoke(
        QUESTION, context={"outage_policy": policy}
    )
    assert out["action"] == action
    assert out["decision"]["grading"] == "failed"
    assert {grade["status"] for grade in out["grades"]} == {"failed"}
    internal = {s["document_id"] for s in out["strips"] if s["kept"] and s["origin"] == "internal"}
    assert internal == kept
    assert "grading failed: the judge is down" in out["warnings"]


@pytest.mark.case(121)
def test_the_outage_policy_raise_raises_and_local_grades_locally():
    failing = StubEvaluator(EvaluationError("the judge is down", reason="transport"))
    graph = build_graph(services(**world(0.9, evaluator=failing)))
    with pytest.raises(EvaluationError, match="the judge is down"):
        graph.invoke(QUESTION, context={"outage_policy": "raise"})
    out = graph.invoke(QUESTION, context={"outage_policy": "local"})
    assert out["action"] == "correct"
    assert out["decision"]["evaluator"] == "stub-local"
    assert out["decision"]["failures"] == ["evaluator: the judge is down"]


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


@pytest.mark.case(51)
def test_nothing_of_an_earlier_question_answers_the_next_on_a_thread():
    found = {"When does the ferry leave?": [doc("ferry")], "Who is the mayor?": []}
    made = world(0.9, retriever=StubRetriever(found.__getitem__), web=None)
    made["evaluator"] = StubEvaluator(lambda _: 0.9)
    graph = build_graph(services(**made), checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    first = graph.invoke(QUESTION | {"filter": {"kind": "boat"}}, config)
    second = graph.invoke({"question": "Who is the mayor?"}, config)
    assert first["status"] == "answered"
    assert second["status"] == "refused"
    for key in ("documents", "grades", "strips", "citations", "web_documents"):
        assert second[key] == [], key
    assert "ferry" not in str(second["decision"])
    assert made["retriever"].calls[1] == ("Who is the mayor?", None)
    assert second["usage"]["run_id"] != first["usage"]["run_id"]


@pytest.mark.case(52)
def test_five_questions_on_a_thread_do_not_grow_the_state():
    graph = build_graph(services(**world(0.5)), checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    sizes = []
    for _ in range(5):
        graph.invoke(QUESTION, config)
        values = graph.get_state(config).values
        sizes.append({key: len(value) for key, value in values.items() if isinstance(value, list)})
    assert all(size == sizes[0] for size in sizes)


class Parent(TypedDict, total=False):
    question: str
    documents: list[Document]
    answer: str
    warnings: list[str]


@pytest.mark.case(52)
def test_inside_a_parent_that_shares_keys_nothing_doubles():
    parent = StateGraph(Parent)
    parent.add_node("crag", build_graph(services(**world(0.5))))
    parent.add_edge(START, "crag")
    parent.add_edge("crag", END)
    out = parent.compile(checkpointer=InMemorySaver()).invoke(
        {**QUESTION, "documents": [doc("theirs")], "warnings": ["theirs"]},
        {"configurable": {"thread_id": "t"}},
    )
    assert [document.id for document in out["documents"]] == ["d1", "d2"]
    assert out["answer"] == "The answer [1]."


@pytest.mark.case(64)
async def test_three_sub_questions_at_once_in_one_node_of_a_parent():
    made = world(0.9, retriever=StubRetriever(lambda question: [doc(question)]))
    made["evaluator"] = StubEvaluator(lambda _: 0.9)
    made["generator"] = StubGenerator(lambda request: f"{request.evidence[0].document_id} [1]")
    graph = build_graph(services(**made))

    class Many(TypedDict, total=False):
        answers: list[str]

    async def ask(state: Many) -> Many:
        outs = await asyncio.gather(*(graph.ainvoke({"question": q}) for q in ("a?", "b?", "c?")))
        return {"answers": [out["answer"] for out in outs]}

    parent = StateGraph(Many)
    parent.add_node("ask", ask)
    parent.add_edge(START, "ask")
    app = parent.compile(checkpointer=InMemorySaver())
    out = await app.ainvoke({}, {"configurable": {"thread_id": "t"}})
    assert out["answers"] == ["a? [1]", "b? [1]", "c? [1]"]


@pytest.mark.case(54)
@pytest.mark.case(55)
@pytest.mark.parametrize("score", [0.9, 0.5, 0.1])
def test_the_whole_state_survives_strict_msgpack(score, monkeypatch):
    import numpy as np

    odd = doc("d1", score=np.float32(0.25), tags={"a"}, when=np.datetime64("2026-11-30"))
    made = world(score, retriever=StubRetriever([odd]))
    saver = InMemorySaver(serde=JsonPlusSerializer(allowed_msgpack_modules=None))
    graph = build_graph(services(**made), checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "t"}}
    out = graph.invoke(QUESTION, config)
    values = graph.get_state(config).values
    assert values["documents"] == out["documents"]
    assert values["documents"][0].metadata["score"] == 0.25
    assert values["decision"] == out["decision"]
    plain_types = (str, int, float, bool, type(None))

    def check(value: Any) -> None:
        if isinstance(value, Document):
            check(value.metadata)
        elif isinstance(value, dict):
            assert type(value) is dict
            for item in value.values():
                check(item)
        elif isinstance(value, list):
            for item in value:
                check(item)
        else:
            assert type(value) in plain_types

    check(values)


def test_a_fork_with_posted_json_documents_goes_on_from_there():
    graph = build_graph(services(**world(0.9)), checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    graph.invoke(QUESTION, config)
    before = next(s for s in graph.get_state_history(config) if s.next == ("evaluate",))
    posted = [{"page_content": "Edited by hand.", "metadata": {"source": "e.md"}, "id": "d1"}]
    forked = graph.update_state(before.config, {"documents": posted}, as_node="retrieve")
    out = graph.invoke(None, forked)
    assert [document.page_content for document in out["documents"]] == ["Edited by hand."]
    assert [strip["text"] for strip in out["strips"]] == ["Edited by hand."]


def test_replaying_from_route_with_other_thresholds_pays_for_nothing_again():
    made = world(0.6)
    graph = build_graph(services(**made), checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    assert graph.invoke(QUESTION, config)["action"] == "ambiguous"
    before = next(s for s in graph.get_state_history(config) if s.next == ("route",))
    out = graph.invoke(None, before.config, context={"upper": 0.55})
    assert out["action"] == "correct"
    assert len(made["retriever"].calls) == 1
    assert len(made["evaluator"].calls) == 1


@pytest.mark.case(117)
@pytest.mark.parametrize(
    ("context", "field"),
    [
        ({"upper": 4}, "upper"),
        ({"lower": 0.9}, "lower"),
        ({"profile": "nobody"}, "profile"),
        ({"top_k": 0}, "top_k"),
        ({"top_k": "many"}, "top_k"),
        ({"colour": 1}, "colour"),
    ],
)
@pytest.mark.case(63)
def test_impossible_settings_are_refused_before_anything_is_spent(context, field):
    made = world(0.9)
    with pytest.raises(ConfigurationError, match=field):
        build_graph(services(**made)).invoke(QUESTION, context=context)
    assert made["retriever"].calls == []


@pytest.mark.case(110)
@pytest.mark.parametrize("question", ["", " ", "\n\t", "\u200b", None, 5])
def test_a_question_that_asks_nothing_is_refused_before_any_call(question):
    made = world(0.9)
    with pytest.raises(InputError):
        build_graph(services(**made)).invoke({"question": question})
    assert made["retriever"].calls == []


@pytest.mark.case(110)
def test_a_missing_question_is_one_clear_error():
    with pytest.raises(InputError):
        build_graph(services()).invoke({"history": []})


@pytest.mark.case(56)
def test_lone_surrogates_are_replaced_in_question_and_documents():
    made = world(0.9, retriever=StubRetriever([doc("d1", "open at \ud83d nine 🙂")]))
    out = build_graph(services(**made)).invoke({"question": "caf\udce9 opening hours"})
    assert out["question"] == "caf\ufffd opening hours"
    assert out["documents"][0].page_content == "open at \ufffd nine 🙂"
    assert made["generator"].requests[0].question == "caf\ufffd opening hours"


def test_a_generator_that_fails_raises_with_the_evidence_in_hand():
    failing = StubGenerator(GenerationError("no answer", reason="length", evidence=["a"]))
    with pytest.raises(GenerationError, match="no answer") as caught:
        build_graph(services(**world(0.9, generator=failing))).invoke(QUESTION)
    assert caught.value.evidence == ("a",)


def test_a_generator_that_declines_is_a_refusal_without_citations():
    declining = StubGenerator("I cannot help with that.", refused=True)
    out = build_graph(services(**world(0.9, generator=declining))).invoke(QUESTION)
    assert (out["status"], out["answer"], out["citations"]) == (
        "refused",
        "I cannot help with that.",
        [],
    )


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


@pytest.mark.case(68)
async def test_cancelling_a_run_ends_it_and_nothing_is_called_afterwards():
    started = asyncio.Event()

    class Slow(StubEvaluator):
        async def aevaluate(self, question, passages, *, settings, budget):
            started.set()
            await asyncio.sleep(30)
            return self.evaluate(question, passages, settings=settings, budget=budget)

    made = world(0.5, evaluator=Slow(lambda _: 0.5))
    task = asyncio.create_task(build_graph(services(**made)).ainvoke(QUESTION))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert made["web"].queries == []
    assert made["generator"].requests == []


def test_schemas_for_studio_and_the_server():
    graph = build_graph(services())
    assert set(graph.get_input_jsonschema()["properties"]) == {"question", "history", "filter"}
    assert graph.get_input_jsonschema()["required"] == ["question"]
    knobs = graph.get_context_jsonschema()["properties"]
    assert knobs["upper"]["langgraph_nodes"] == ["route"]
    assert all(knob["title"] and knob["description"] for knob in knobs.values())
    assert {"answer", "decision", "grades", "usage"} <= set(
        graph.get_output_jsonschema()["properties"]
    )


@pytest.mark.case(60)
def test_the_edge_behind_route_reads_the_action_alone():
    edge = build_graph(services()).builder.branches["route"]["next_nodes"]
    assert edge.input_schema is Routed


def test_importing_loading_and_drawing_need_no_key_and_no_collection():
    code = (
        "from crag_graph.graph import graph; print(graph.get_graph().draw_mermaid());"
        "import sys; heavy = {'onnxruntime', 'tokenizers', 'openai', 'qdrant_client', 'tavily'};"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={"PATH": "", "HOME": "/nonexistent"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for edge in ("route -.-> refine", "route -.-> web_search", "refine --> generate"):
        assert edge in done.stdout
