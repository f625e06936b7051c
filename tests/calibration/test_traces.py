"""Earlier runs: found in whatever holds them, and told what other thresholds would do."""

import json
from pathlib import Path
from typing import Any

import pytest

from crag_graph.calibration.traces import read_traces, what_if
from crag_graph.errors import InputError
from crag_graph.settings import Settings


def run(score: float | None, *, name: str = "q", action: str = "correct", **more: Any) -> Any:
    grade = {"document_id": "d", "score": score, "status": "unknown" if score is None else "scored",
             "evaluator": "local"}  # fmt: skip
    decision = {"evaluator": "local", "profile": "general", "run_id": f"{name}{score}"}
    return {"question": name, "grades": [grade], "action": action, "decision": decision} | more


RUNS = [
    run(0.9), run(0.6, action="ambiguous"), run(0.1, action="incorrect"),
    run(None, action="ambiguous"),
]  # fmt: skip


def written(path: Path, value: Any) -> Path:
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "value",
    [
        RUNS,
        "\n".join(json.dumps(each) for each in RUNS) + "\n\n",
        {"ingest": {}, "runs": RUNS},
        [{"values": each, "next": []} for each in RUNS],
        [{"name": "crag", "inputs": {"question": "q"}, "outputs": each} for each in RUNS],
    ],
    ids=["list", "lines", "demo", "history", "traces"],
)
def test_runs_are_found_in_whatever_holds_them(tmp_path: Path, value: Any):
    traces = read_traces(written(tmp_path / "runs.json", value))
    assert [trace.action for trace in traces] == ["correct", "ambiguous", "incorrect", "ambiguous"]
    assert {trace.evaluator for trace in traces} == {"local"}


def test_a_folder_is_read_file_by_file(tmp_path: Path):
    for number, each in enumerate(RUNS):
        written(tmp_path / f"{number}.json", each)
    written(tmp_path / "notes.txt", "not a run")
    assert len(read_traces(tmp_path)) == 4


def test_the_states_of_one_run_count_once(tmp_path: Path):
    early = run(0.9) | {"action": None}
    traces = read_traces(written(tmp_path / "h.json", [{"values": early}, {"values": run(0.9)}]))
    assert [trace.action for trace in traces] == ["correct"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[]", "there is no run with grades"),
        ('{"question": "q"}', "there is no run with grades"),
        ("{broken", r"runs\.json:1: not JSON"),
        ('{"a": 1}\n{broken', r"runs\.json:2: not JSON"),
    ],
)
def test_what_holds_no_run_is_one_sentence(tmp_path: Path, text: str, sentence: str):
    with pytest.raises(InputError, match=sentence):
        read_traces(written(tmp_path / "runs.json", text))


def test_a_path_that_is_not_there_is_one_sentence(tmp_path: Path):
    with pytest.raises(InputError, match="cannot be read: no such file"):
        read_traces(tmp_path / "none.json")


def test_thresholds_are_asked_what_they_would_change(tmp_path: Path):
    traces = read_traces(written(tmp_path / "runs.json", RUNS))
    general = Settings().thresholds()
    asked = Settings(profile="ecommerce").thresholds()
    report = what_if(traces, asked, general)
    assert report.present == {"correct": 1, "ambiguous": 2, "incorrect": 1}
    assert report.shares == {"correct": 2, "ambiguous": 1, "incorrect": 1}
    assert [(each.before, each.after) for each in report.changes] == [("ambiguous", "correct")]
    assert report.against == "profile general"
    assert (report.unscored, sorted(report.scores)) == (1, [0.1, 0.6, 0.9])
    assert json.dumps(report.as_dict())


def test_the_present_thresholds_are_compared_with_what_was_recorded(tmp_path: Path):
    changed = [run(0.9), run(0.2, name="other", action="correct")]
    general = Settings().thresholds()
    report = what_if(read_traces(written(tmp_path / "r.json", changed)), general, general)
    assert report.against == "what was recorded"
    assert [(each.question, each.after) for each in report.changes] == [("other", "incorrect")]


@pytest.mark.parametrize("score", [True, "0.9", 7, None])
def test_scores_that_are_none_take_no_part(tmp_path: Path, score: Any):
    traces = read_traces(written(tmp_path / "r.json", [run(0.9), run(0.5) | {
        "grades": [{"score": score, "status": "scored"}]}]))  # fmt: skip
    general = Settings().thresholds()
    assert what_if(traces, general, general).unscored == 1
