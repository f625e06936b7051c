"""The reducers of the state: plain, idempotent, and the same after JSON or a checkpoint."""

import copy
import datetime
import decimal
import enum
import json
import math
import pathlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.load import dumpd
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from crag_graph.state import (
    NODES,
    Strip,
    as_documents,
    merge_decision,
    merge_strips,
    merge_usage,
    plain,
)


class Level(enum.IntEnum):
    HIGH = 3


class Word(str):
    """A string of a class of its own."""


def strict() -> JsonPlusSerializer:
    """Return a serializer that knows no class of ours and falls back on nothing."""
    return JsonPlusSerializer(pickle_fallback=False, allowed_msgpack_modules=None)


def round_trip(value: Any) -> Any:
    serializer = strict()
    return serializer.loads_typed(serializer.dumps_typed(value))


ODD = {
    "score": np.float32(0.5),
    "count": np.int64(3),
    "flag": np.bool_(True),
    "vector": np.array([1.0, math.nan]),
    "tags": {"b", "a"},
    "price": decimal.Decimal("1.5"),
    "when": datetime.datetime(2026, 11, 30, tzinfo=datetime.UTC),
    "path": pathlib.PurePosixPath("a/b"),
    "raw": b"caf\xc3\xa9\xff",
    "level": Level.HIGH,
    "word": Word("w"),
    "nan": math.nan,
    "inf": math.inf,
    "big": 2**70,
    "nested": {"pair": (1, np.float64(2.5)), 7: None},
    "nul": "Scan\x00",
    "half": "\ud83d",
}


@pytest.mark.case(54)
def test_metadata_of_any_kind_becomes_plain() -> None:
    (document,) = as_documents(None, [Document(page_content="a", metadata=ODD)])
    assert document.metadata == {
        "score": 0.5,
        "count": 3,
        "flag": True,
        "vector": [1.0, None],
        "tags": ["a", "b"],
        "price": "1.5",
        "when": "2026-11-30 00:00:00+00:00",
        "path": "a/b",
        "raw": "café\ufffd",
        "level": 3,
        "word": "w",
        "nan": None,
        "inf": None,
        "big": str(2**70),
        "nested": {"pair": [1, 2.5], "7": None},
        "nul": "Scan",
        "half": "\ufffd",
    }
    json.dumps(document.metadata, allow_nan=False)
    assert round_trip(document.metadata) == document.metadata


PLAIN = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(st.one_of(st.text(max_size=5), st.integers()), inner, max_size=3),
    ),
    max_leaves=12,
)


@pytest.mark.case(54)
@given(PLAIN)
def test_what_is_plain_survives_json_and_checkpoints_and_stays_as_it_is(value: Any) -> None:
    made = plain(value)
    assert plain(made) == made
    assert json.loads(json.dumps(made, allow_nan=False)) == made
    assert round_trip(made) == made


@pytest.mark.parametrize("value", [np.float64(0.5), Level.HIGH, Word("w"), np.str_("w")])
def test_subclasses_become_the_class_itself(value: Any) -> None:
    assert type(plain(value)) in (float, int, str)


@pytest.mark.case(56)
def test_lone_surrogates_and_nul_leave_the_text_and_emoji_stay() -> None:
    (document,) = as_documents(None, [Document(id="a\ud83d", page_content="x\ud83d\x00 🙂")])
    assert document.page_content == "x\ufffd 🙂"
    assert document.id == "a\ufffd"


def test_studio_posts_dicts_and_documents_come_back() -> None:
    original = Document(id="d1", page_content="text", metadata={"source": "a.md"})
    forms = [original, original.model_dump(), dumpd(original), {"page_content": "text", "id": "d1"}]
    assert [as_documents(None, [form])[0].id for form in forms] == ["d1"] * 4
    assert as_documents(None, [json.loads(json.dumps(forms[2]))]) == [original]
    assert as_documents(None, [{"page_content": "text", "metadata": None}])[0].metadata == {}


@pytest.mark.parametrize("item", ["text", 5, None, {}, {"page_content": 5}, {"content": "text"}])
def test_what_is_no_document_is_refused(item: object) -> None:
    with pytest.raises(ValueError, match="page_content"):
        as_documents(None, [item])


def test_an_id_follows_from_source_and_text() -> None:
    one = as_documents(None, [Document(page_content="a", metadata={"source": "x"})])
    again = as_documents(None, [{"page_content": "a", "metadata": {"source": "x", "page": 2}}])
    other = as_documents(None, [Document(page_content="a", metadata={"source": "y"})])
    assert one[0].id == again[0].id != other[0].id


def test_documents_with_the_same_id_are_told_apart() -> None:
    documents = [Document(id=name, page_content=name) for name in ("a", "a", "a#2", "a", "b")]
    ids = [document.id for document in as_documents(None, documents)]
    assert ids == ["a", "a#2", "a#2#2", "a#3", "b"]


DOCUMENTS = st.lists(
    st.builds(
        Document,
        id=st.one_of(st.none(), st.sampled_from(["a", "b", "a#2", ""])),
        page_content=st.text(max_size=5),
        metadata=st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
    ),
    max_size=6,
)


@pytest.mark.case(52)
@given(DOCUMENTS, DOCUMENTS)
def test_documents_never_accumulate_and_reducing_twice_changes_nothing(
    old: list[Document], new: list[Document]
) -> None:
    once = as_documents(old, new)
    assert as_documents(once, once) == once
    assert as_documents(None, new) == once
    assert len({document.id for document in once}) == len(once) == len(new)


def test_nothing_new_means_no_documents() -> None:
    assert as_documents([Document(page_content="a")], None) == []
    assert as_documents([Document(page_content="a")], []) == []


def strip(identifier: str, origin: Any) -> Strip:
    return Strip(
        id=identifier,
        text=identifier,
        document_id="d",
        start=0,
        end=1,
        score=0.5,
        kept=True,
        origin=origin,
        source="",
    )


@pytest.mark.case(50)
def test_both_origins_may_be_written_in_one_step_in_any_order() -> None:
    internal, web = [strip("i", "internal")], [strip("w", "web")]
    expected = [*internal, *web]
    assert merge_strips(merge_strips([], internal), web) == expected
    assert merge_strips(merge_strips([], web), internal) == expected


@pytest.mark.case(52)
def test_strips_replace_those_of_their_origin_and_an_empty_list_clears() -> None:
    old = [strip("i", "internal"), strip("w", "web")]
    new = [strip("j", "internal"), strip("k", "internal")]
    assert [item["id"] for item in merge_strips(old, new)] == ["j", "k", "w"]
    assert merge_strips(old, []) == []
    assert merge_strips(old, None) == []
    assert merge_strips(None, new) == new


STRIPS = st.lists(
    st.builds(strip, st.text(max_size=2), st.sampled_from(["internal", "web"])), max_size=5
)


@pytest.mark.case(52)
@given(STRIPS, STRIPS)
def test_merging_the_same_strips_again_changes_nothing(old: list[Strip], new: list[Strip]) -> None:
    once = merge_strips(old, new)
    assert merge_strips(once, new) == once
    assert merge_strips(once, once) == once


def test_usage_adds_up_its_nodes() -> None:
    usage = merge_usage(
        None, {"run_id": "r", "nodes": {"evaluate": {"llm_calls": 1, "seconds": 0.5}}}
    )
    usage = merge_usage(usage, {"nodes": {"generate": {"llm_calls": 1, "generation_calls": 1}}})
    assert (usage["llm_calls"], usage["generation_calls"], usage["seconds"]) == (2, 1, 0.5)
    assert usage["web_searches"] == 0
    assert usage["run_id"] == "r"


@pytest.mark.case(52)
def test_a_node_that_reports_again_counts_once() -> None:
    update: Any = {"run_id": "r", "nodes": {"evaluate": {"llm_calls": 1}}}
    once = merge_usage(None, update)
    assert merge_usage(once, update) == once
    assert merge_usage(once, once) == once
    assert merge_usage(once, None) == once


@pytest.mark.case(51)
def test_another_run_starts_its_usage_and_decision_anew() -> None:
    usage = merge_usage({"run_id": "r1", "nodes": {"evaluate": {"llm_calls": 5}}}, {"run_id": "r2"})
    assert (usage["run_id"], usage["llm_calls"], usage["nodes"]) == ("r2", 0, {})
    decision = merge_decision(
        {"run_id": "r1", "action": "correct", "stages": {"route": {"failures": ["x"]}}},
        {"run_id": "r2"},
    )
    assert decision == {"run_id": "r2", "stages": {}, "fallbacks": [], "failures": []}


def test_a_decision_gathers_notes_in_the_order_of_the_graph() -> None:
    decision = merge_decision(
        {"run_id": "r", "stages": {"generate": {"failures": ["late"]}}},
        {
            "stages": {
                "retrieve": {"failures": ["early"], "fallbacks": ["web"]},
                "own": {"why": "w"},
            }
        },
    )
    assert list(decision["stages"]) == ["retrieve", "generate", "own"]
    assert decision["failures"] == ["early", "late"]
    assert decision["fallbacks"] == ["web"]


RUN_IDS = st.sampled_from(["", "r1", "r2"])
NOTES = st.lists(st.text(max_size=3), max_size=2)
DECISIONS = st.fixed_dictionaries(
    {},
    optional={
        "run_id": RUN_IDS,
        "action": st.sampled_from(["correct", "incorrect"]),
        "score": st.one_of(st.none(), st.floats(0, 1)),
        "stages": st.dictionaries(
            st.sampled_from(NODES),
            st.fixed_dictionaries({}, optional={"fallbacks": NOTES, "failures": NOTES}),
            max_size=4,
        ),
    },
)
USAGES = st.fixed_dictionaries(
    {},
    optional={
        "run_id": RUN_IDS,
        "nodes": st.dictionaries(
            st.sampled_from(NODES),
            st.fixed_dictionaries(
                {}, optional={"llm_calls": st.integers(0, 5), "seconds": st.floats(0, 9)}
            ),
            max_size=4,
        ),
    },
)


@pytest.mark.case(52)
@given(DECISIONS, DECISIONS, USAGES, USAGES)
def test_merging_again_or_passing_through_a_parent_changes_nothing(
    old: Any, new: Any, old_usage: Any, new_usage: Any
) -> None:
    kept = copy.deepcopy((old, new, old_usage, new_usage))
    decision = merge_decision(old, new)
    assert merge_decision(decision, new) == decision
    assert merge_decision(decision, decision) == decision
    usage = merge_usage(old_usage, new_usage)
    assert merge_usage(usage, new_usage) == usage
    assert merge_usage(usage, usage) == usage
    assert (old, new, old_usage, new_usage) == kept


@pytest.mark.case(55)
def test_the_whole_state_survives_a_strict_checkpoint(recwarn: pytest.WarningsRecorder) -> None:
    state = {
        "question": "Which valve?",
        "documents": as_documents(None, [Document(page_content="a", metadata=ODD)]),
        "strips": [strip("s", "web")],
        "grades": [{"document_id": "d", "score": None, "status": "failed"}],
        "decision": merge_decision(None, {"run_id": "r", "score": 0.5}),
        "usage": merge_usage(None, {"run_id": "r", "nodes": {"retrieve": {"seconds": 0.1}}}),
        "history": None,
    }
    assert round_trip(state) == state
    assert not recwarn.list
