"""The examples run as they are, with no key, and show what they promise."""

import json
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

EXAMPLES = Path(__file__).parents[2] / "examples"

SHOWN = {
    "ask_from_python.py": ["The inlet valve closes first.", "valves.md", "correct, answered"],
    "as_subgraph.py": ["9:15", "[1]"],
    "as_tool.py": ["five days of leave", "leave.md", "action: correct"],
    "behind_a_wrapper.py": ["26 degrees", "evidence:"],
    "chat.py": ["With a bike the ferry", "You are welcome.", "to Lund cost? And with a bike?"],
    "fan_out.py": ["was built in 1931", "paid for by the city", "on Sundays"],
    "tracing.py": ["RETRIEVER", "CHAIN", "retriever:"],
    "what_if.py": ["correct", "ambiguous"],
}
# What needs a server, and is run by tests of its own.
SERVED = {"remote_graph.py", "web_app.py"}


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "TAVILY_API_KEY", "CRAG_CHAT_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CRAG_HOME", str(tmp_path))


def test_every_example_is_run():
    assert {path.name for path in EXAMPLES.glob("*.py")} == SHOWN.keys() | SERVED


@pytest.mark.parametrize("name", SHOWN)
def test_an_example_shows_what_it_promises(name, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", [name])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    printed = capsys.readouterr().out
    for part in SHOWN[name]:
        assert part in printed


def test_the_web_application_streams_events():
    app: Any = runpy.run_path(str(EXAMPLES / "web_app.py"))["build"]()
    with TestClient(app) as client, client.stream("GET", "/ask?q=Which valve closes?") as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        events = [event for event in response.read().decode().split("\n\n") if event]
    names = [event.splitlines()[0].removeprefix("event: ") for event in events]
    assert names == ["retrieved", "graded", "routed", "refined", "answer"]
    answer = json.loads(events[-1].splitlines()[1].removeprefix("data: "))
    assert "inlet valve" in answer["answer"]
