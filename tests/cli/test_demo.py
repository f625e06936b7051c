"""`crag demo` with the real store, the real embeddings and the real local evaluator."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import crag_graph
from crag_graph.cli import demo as demo_module
from crag_graph.cli.demo import COLLECTION, QUESTIONS, handbook_folder
from crag_graph.cli.entry import run
from tests.fakes.folders import shared_folder

# How far from a threshold the demonstration's questions have to be: the fit of the evaluator may
# change a little without one of them changing its action.
MARGIN = 0.1


VARIABLES = {  # an environment that must make no difference
    "OPENAI_API_KEY": "sk-TESTLEAKxxxx",
    "TAVILY_API_KEY": "tvly-TESTLEAKxxxx",
    "CRAG_EVALUATOR": "llm",
    "CRAG_PROFILE": "medical",
    "QDRANT_URL": "http://127.0.0.1:9",
    "CRAG_COLLECTION": "mine",
}
CHAPTERS = len(list(handbook_folder().glob("*.md")))
NO_NETWORK = """
import socket, sys
def refuse(*_, **__):
    raise AssertionError("the demonstration opened a socket")
socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
from crag_graph.cli import main
main()
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with shared_folder(tmp_path_factory, "demo") as folder:
        yield folder


@pytest.fixture(scope="module")
def shown(home: Path) -> dict[str, Any]:
    """What the demonstration prints as JSON in a fresh world without a network."""
    environment = {"PATH": os.environ["PATH"], "CRAG_HOME": str(home), **VARIABLES}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", NO_NETWORK, "demo", "--json"],
        capture_output=True,
        check=False,
        env=environment,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    value = json.loads(done.stdout)
    assert isinstance(value, dict)
    return value


@pytest.fixture
def quick(shown: dict[str, Any], home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The demonstration in this process, with the runs that it had before."""
    monkeypatch.setenv("CRAG_HOME", str(home))
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    outputs = {output["question"]: output for output in shown["runs"]}
    monkeypatch.setattr(demo_module, "_ask", lambda _, question: outputs[question])


def test_three_questions_three_actions(shown):
    runs = shown["runs"]
    assert [run["action"] for run in runs] == ["correct", "ambiguous", "incorrect"]
    assert [run["question"] for run in runs] == list(QUESTIONS)
    assert all(run["decision"]["margin"] >= MARGIN for run in runs), [
        run["decision"]["reason"] for run in runs
    ]


def test_the_first_is_answered_from_the_handbook_and_the_last_refused(shown):
    first, _, last = shown["runs"]
    assert first["status"] == "answered"
    assert "at most 400 characters" in first["answer"]
    sources = {Path(citation["source"]).parent for citation in first["citations"]}
    assert sources == {handbook_folder()}
    assert last["status"] == "refused"
    assert last["citations"] == []
    assert "web search is off" in last["answer"]


def test_nothing_is_spent_whatever_is_configured(shown):
    for output in shown["runs"]:
        assert output["usage"]["llm_calls"] == 0
        assert output["usage"]["web_searches"] == 0
        assert output["decision"]["profile"] == "general"


@pytest.mark.usefixtures("quick")
def test_every_chapter_is_indexed_and_kept(shown, capsys):
    assert (shown["ingest"]["ok"], shown["ingest"]["added"]) == (True, CHAPTERS)
    assert run(["demo", "--json"]) == 0
    again = json.loads(capsys.readouterr().out)["ingest"]
    assert (again["unchanged"], again["chunks"]) == (CHAPTERS, 0)


@pytest.mark.usefixtures("quick")
def test_a_person_sees_three_decisions_and_what_to_try_next(capsys):
    assert run(["demo"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    places = [out.index(text) for text in ("CORRECT", "AMBIGUOUS", "INCORRECT · refused", "Next:")]
    assert places == sorted(places)
    assert "crag ask -c handbook" in out
    assert "crag ingest FOLDER" in out


@pytest.mark.usefixtures("quick")
def test_what_could_not_be_asked_is_not_suggested(capsys, monkeypatch):
    monkeypatch.setenv("QDRANT_URL", "http://127.0.0.1:9")
    assert run(["demo"]) == 0
    assert "crag ask -c handbook" not in capsys.readouterr().out


@pytest.mark.usefixtures("quick")
@pytest.mark.case(69)
def test_a_data_folder_in_use_is_no_hindrance(home: Path, capsys, hold):
    with hold(home, COLLECTION):
        assert run(["demo", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["ingest"]["added"] == CHAPTERS


def test_a_missing_handbook_is_one_sentence(capsys, monkeypatch, tmp_path: Path):
    monkeypatch.setattr(crag_graph, "__file__", str(tmp_path / "a" / "crag_graph" / "__init__.py"))
    assert run(["demo"]) == 2
    assert "the handbook is missing" in capsys.readouterr().err
