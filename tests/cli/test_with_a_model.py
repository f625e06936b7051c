"""`crag ask` and `crag doctor` with a chat model, over the real client and a server on loopback."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from crag_graph.cli.entry import run
from tests.fakes.openai_server import OpenAIServer, Reply, error

KEY = "sk-TESTLEAKxxxxxx"
QUESTION = "Which valve closes first?"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> Iterator[OpenAIServer]:
    """A server, an environment that names it, and a collection with one note."""
    note = tmp_path / "valves.md"
    note.write_text("# Valves\n\nThe inlet valve closes first.\n", encoding="utf-8")
    with OpenAIServer() as running:
        monkeypatch.setenv("CRAG_HOME", str(tmp_path / "home"))
        monkeypatch.setenv("OPENAI_BASE_URL", running.url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("COLUMNS", "200")
        monkeypatch.setenv("CRAG_EVALUATOR", "local")
        monkeypatch.setenv("CRAG_CHAT_MODEL", "openai:small")
        assert run(["ingest", str(note)]) == 0
        capsys.readouterr()
        yield running


def test_a_written_answer_is_shown_with_its_sources_and_its_cost(server, capsys):
    server.script([Reply(content="The inlet valve [1].")] * 2)
    assert run(["ask", QUESTION, "--json"]) == 0
    output = json.loads(capsys.readouterr().out)
    assert output["answer"] == "The inlet valve [1]."
    assert (output["usage"]["llm_calls"], output["usage"]["generation_calls"]) == (1, 1)
    assert [Path(citation["source"]).name for citation in output["citations"]] == ["valves.md"]
    assert run(["ask", QUESTION]) == 0
    out = capsys.readouterr().out
    assert "1 LLM call · 1 evaluator pass · 1 generation" in out
    assert "tokens in" in out
    assert "Quoted from the sources" not in out


@pytest.mark.case(122)
@pytest.mark.case(123)
def test_a_refused_key_is_one_sentence_without_the_key(server, capsys):
    server.script(lambda _: error(401, f"Incorrect API key provided: {KEY}"))
    assert run(["ask", QUESTION, "--json"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "127.0.0.1" in err
    assert "TESTLEAK" not in err


@pytest.mark.case(16)
def test_an_answer_that_is_cut_off_names_the_setting(server, capsys):
    server.script(lambda _: Reply(content="", finish_reason="length"))
    assert run(["ask", QUESTION]) == 1
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "CRAG_MAX_OUTPUT_TOKENS" in err


def test_doctor_asks_the_model_only_online(server, capsys):
    server.script([Reply(content="ready")])
    assert run(["doctor", "--json"]) == 0
    assert len(server.requests) == 0
    capsys.readouterr()
    assert run(["doctor", "--online", "--json"]) == 0
    assert "openai:small answers" in capsys.readouterr().out
    assert len(server.requests) == 1


def test_doctor_tells_a_refused_key(server, capsys):
    server.script(lambda _: error(401, f"Incorrect API key provided: {KEY}"))
    assert run(["doctor", "--online", "--json"]) == 1
    out = capsys.readouterr().out
    (problem,) = [check for check in json.loads(out)["checks"] if check["state"] == "problem"]
    assert problem["name"] == "chat model"
    assert "127.0.0.1" in problem["detail"]
    assert "CRAG_CHAT_MODEL" in problem["todo"]
    assert "TESTLEAK" not in out


def test_doctor_asks_an_evaluator_model_of_its_own(server, capsys, monkeypatch):
    monkeypatch.setenv("CRAG_EVALUATOR", "llm")
    monkeypatch.setenv("CRAG_EVALUATOR_MODEL", "openai:other")
    server.script(
        lambda request: (
            Reply(content="ready")
            if request.body["model"] == "small"
            else error(404, "The model `other` does not exist")
        )
    )
    assert run(["doctor", "--online", "--json"]) == 1
    checks = json.loads(capsys.readouterr().out)["checks"]
    (problem,) = [check for check in checks if check["state"] == "problem"]
    assert problem["name"] == "evaluator"
    assert "other at 127.0.0.1" in problem["detail"]
