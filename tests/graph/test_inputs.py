"""What a graph takes and says of itself before anything is spent."""

import subprocess
import sys

import pytest

from crag_graph.errors import (
    ConfigurationError,
    InputError,
)
from crag_graph.graph import build_graph
from crag_graph.nodes.route import Routed
from tests.fakes.collaborators import (
    StubRetriever,
    doc,
    services,
)
from tests.fakes.world import QUESTION, world


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
