"""`crag demo` with the real store, the real embeddings and the real local evaluator."""

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from crag_graph.cli.demo import COLLECTION, QUESTIONS, handbook_folder
from crag_graph.cli.entry import run
from crag_graph.retrieval.edge.index import EdgeIndex
from crag_graph.retrieval.store import collection_folder

# How far from a threshold the demonstration's questions have to be: the fit of the evaluator may
# change a little without one of them changing its action.
MARGIN = 0.1


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(autouse=True)
def world(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A data folder for all tests here, and an environment that must make no difference."""
    monkeypatch.setenv("CRAG_HOME", str(home))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-TESTLEAKxxxx")
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-TESTLEAKxxxx")
    monkeypatch.setenv("CRAG_EVALUATOR", "llm")
    monkeypatch.setenv("CRAG_PROFILE", "medical")
    monkeypatch.setenv("QDRANT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("CRAG_COLLECTION", "mine")

    def no_network(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("the demonstration opened a socket")

    monkeypatch.setattr(socket, "create_connection", no_network)


def demonstrate(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert run(["demo", "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    value = json.loads(out)
    assert isinstance(value, dict)
    return value


def test_three_questions_three_actions(capsys):
    runs = demonstrate(capsys)["runs"]
    assert [run["action"] for run in runs] == ["correct", "ambiguous", "incorrect"]
    assert [run["question"] for run in runs] == list(QUESTIONS)
    assert all(run["decision"]["margin"] >= MARGIN for run in runs), [
        run["decision"]["reason"] for run in runs
    ]


def test_the_first_is_answered_from_the_handbook_and_the_last_refused(capsys):
    first, _, last = demonstrate(capsys)["runs"]
    assert first["status"] == "answered"
    assert "at most 400 characters" in first["answer"]
    sources = {Path(citation["source"]).parent for citation in first["citations"]}
    assert sources == {handbook_folder()}
    assert last["status"] == "refused"
    assert last["citations"] == []
    assert "web search is off" in last["answer"]


def test_nothing_is_spent_and_nobody_asked(capsys):
    for output in demonstrate(capsys)["runs"]:
        assert output["usage"]["llm_calls"] == 0
        assert output["usage"]["web_searches"] == 0
        assert output["decision"]["profile"] == "general"


def test_every_chapter_is_indexed_and_again_is_quick(capsys):
    demonstrate(capsys)
    report = demonstrate(capsys)["ingest"]
    assert report["ok"]
    assert report["unchanged"] == len(list(handbook_folder().glob("*.md")))
    assert report["chunks"] == 0


def test_a_person_sees_three_decisions_and_what_to_try_next(capsys):
    assert run(["demo"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    places = [out.index(text) for text in ("CORRECT", "AMBIGUOUS", "INCORRECT · refused", "Next:")]
    assert places == sorted(places)
    assert "crag ingest FOLDER" in out


@pytest.mark.case(69)
def test_a_data_folder_in_use_is_no_hindrance(home: Path, capsys):
    demonstrate(capsys)
    index = EdgeIndex.open(collection_folder(home=home, collection=COLLECTION))
    try:
        report = demonstrate(capsys)["ingest"]
    finally:
        index.close()
    assert report["added"] == len(list(handbook_folder().glob("*.md")))


def test_a_missing_handbook_is_one_sentence(capsys, monkeypatch, tmp_path: Path):
    import crag_graph

    monkeypatch.setattr(crag_graph, "__file__", str(tmp_path / "a" / "crag_graph" / "__init__.py"))
    assert run(["demo"]) == 2
    assert "the handbook is missing" in capsys.readouterr().err
