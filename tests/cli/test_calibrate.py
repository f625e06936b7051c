"""`crag calibrate` end to end: labels in, a profile out, and a run that uses it."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from crag_graph.cli import calibrate_run, pace
from crag_graph.cli.entry import run
from crag_graph.services import Services
from tests.fakes.collaborators import StubEvaluator, StubRetriever, doc, services

TOWNS = ("Oslo", "Lima", "Cairo", "Quito", "Seoul", "Tunis", "Dakar")
LINE = "The night ferry from {town} leaves at nine from the northern pier."


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CRAG_PROFILE", "OPENAI_API_KEY", "CRAG_CHAT_MODEL", "CRAG_EVALUATOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CRAG_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    """Passages that answer, and passages of something else, for the local evaluator."""
    rows = ["question;passage;label"]
    for town in TOWNS:
        asked = f"When does the night ferry from {town} leave?"
        rows.append(f"{asked};{LINE.format(town=town)};relevant")
        rows.append(f"What do tickets to the museum of {town} cost?;Bread needs yeast.;irrelevant")
    path = tmp_path / "Fähre Labels.csv"
    path.write_text("\ufeff" + "\r\n".join(rows), encoding="utf-8")
    return path


@pytest.fixture
def stubbed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Labels whose passages are graded as they say: `score` of the last word's thousandths."""

    def install(scores: list[tuple[str, int]], *, name: str = "local") -> Path:
        evaluator = StubEvaluator(lambda passage: int(passage.text.split()[-1]) / 1000, name=name)
        evaluator.asks_model = name != "local"  # type: ignore[attr-defined]
        made = services(evaluator=evaluator, retriever=StubRetriever([doc("d", "about 800")]))
        monkeypatch.setattr(Services, "from_env", lambda *_, **__: made)
        path = tmp_path / "stub.csv"
        rows = [f"question {n},score {score},{label}" for n, (label, score) in enumerate(scores)]
        path.write_text("question,passage,label\n" + "\n".join(rows), encoding="utf-8")
        return path

    return install


GOOD = [("1", 700 + 7 * n) for n in range(20)] + [("0", 100 + 7 * n) for n in range(20)]
USELESS = [(str(n % 2), 500 + (n * 37) % 100) for n in range(40)]


def test_labels_become_a_profile_that_a_run_uses(home: Path, labels: Path, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert run(["calibrate", str(labels), "--html", str(page)]) == 0
    out, err = capsys.readouterr()
    assert "Separable" in out
    assert "14 questions are too few to rely on" in " ".join(out.split())
    assert "crag ask QUESTION --profile fahre-labels" in out
    assert err == f"wrote {page}\n"
    path = home / "profiles" / "fahre-labels.toml"
    written = tomllib.loads(path.read_text(encoding="utf-8"))
    assert written["lower"] < written["upper"]
    assert written["provenance"]["evaluator"] == "local"
    assert written["provenance"]["labels"] == 14
    notes = tmp_path / "notes.md"
    notes.write_text(LINE.format(town="Bergen"), encoding="utf-8")
    assert run(["ingest", str(notes)]) == 0
    capsys.readouterr()
    question = "When does the night ferry from Bergen leave?"
    assert run(["ask", question, "--profile", "fahre-labels", "--json"]) == 0
    output = json.loads(capsys.readouterr().out)
    assert output["action"] == "correct"
    assert output["decision"]["upper"] == written["upper"]
    assert output["decision"]["profile"] == "fahre-labels"
    assert output["decision"]["provenance"].startswith(
        "calibrated on 14 labels of Fähre Labels.csv"
    )
    assert not [each for each in output["warnings"] if "calibrated" in each]


def test_the_page_stands_by_itself(home: Path, stubbed, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert run(["calibrate", str(stubbed(GOOD)), "--html", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert text.count("<svg") == 1
    assert "<script" not in text
    assert not re.findall(r"(?:src|href)=", text)
    assert "default-src 'none'" in text


def test_json_is_one_object_and_nothing_else(home: Path, stubbed, capsys):
    assert run(["calibrate", str(stubbed(GOOD)), "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    result = json.loads(out)
    assert out.count("\n") == 1
    assert result["profile"] == "stub"
    assert 0.233 < result["lower"] < result["upper"] < 0.7
    assert result["held_out"]["objective"]["value"] > 0.9
    assert len(result["scores"]["correct"]) == 20


def test_what_does_not_separate_writes_no_profile_unless_forced(home: Path, stubbed, capsys):
    path = stubbed(USELESS)
    assert run(["calibrate", str(path)]) == 1
    out, err = capsys.readouterr()
    assert "Not separable" in out
    assert "no profile was written" in err
    assert not (home / "profiles").exists()
    assert run(["calibrate", str(path), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["separable"] is False
    assert run(["calibrate", str(path), "--force"]) == 0
    assert "separable = false" in (home / "profiles/stub.toml").read_text(encoding="utf-8")


def test_a_profile_is_not_overwritten_by_accident(home: Path, stubbed, capsys):
    path = stubbed(GOOD)
    assert run(["calibrate", str(path), "--name", "mine"]) == 0
    first = (home / "profiles/mine.toml").read_bytes()
    assert run(["calibrate", str(path), "--name", "mine", "--objective", "cost"]) == 2
    assert "the profile mine exists already" in capsys.readouterr().err
    assert (home / "profiles/mine.toml").read_bytes() == first
    arguments = ["--name", "mine", "--cost-false-correct", "9", "--force"]
    assert run(["calibrate", str(path), *arguments]) == 0
    assert "false correct 9" in (home / "profiles/mine.toml").read_text(encoding="utf-8")
    assert [each.name for each in (home / "profiles").iterdir()] == ["mine.toml"]


@pytest.mark.parametrize("name", ["../evil", "a/b", "", ".hidden", "general", "nul", "x" * 101])
def test_names_that_lead_elsewhere_or_are_taken_are_refused(home: Path, stubbed, capsys, name):
    assert run(["calibrate", str(stubbed(GOOD)), "--name", name]) == 2
    assert "--name" in capsys.readouterr().err
    assert not home.exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "give a file of labels, or --from-traces"),
        (["LABELS", "--from-traces", "x"], "and not both"),
        (["LABELS", "--objective", "luck"], "--objective 'luck': there are macro-f1, cost"),
        (["LABELS", "--objective", "searches"], "needs --max-searches"),
        (["LABELS", "--objective", "cost", "--max-searches", "0.2"], "belongs to the objective"),
        (["LABELS", "--max-searches", "2"], "--max-searches: a share from 0 to 1"),
        (["LABELS", "--cost-mixed", "-1"], "--cost-mixed: a cost is a number from 0"),
        (["LABELS", "--label-scale", "stars"], "--label-scale 'stars': there are auto"),
        (["LABELS", "--unit", "page"], "--unit 'page': there are auto"),
        (["LABELS", "--profile", "medical"], "--profile belongs to --from-traces"),
        (["LABELS", "--html", "/none/x.html"], "there is no folder /none"),
        (["LABELS", "--limit", "5"], "5 graded questions with labels are too few"),
        (["/none.csv"], "cannot be read"),
        (["LABELS", "--name", "y", "--max-searches", "0"], "no thresholds meet"),
    ],
)
def test_bad_usage_is_one_sentence(home: Path, stubbed, capsys, arguments, sentence):
    path = stubbed([*GOOD, ("1", 0)])
    given = [str(path) if each == "LABELS" else each for each in arguments]
    assert run(["calibrate", *given]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert sentence in err


def test_a_model_is_not_paid_without_a_yes(home: Path, stubbed, capsys):
    path = stubbed(GOOD, name="llm")
    assert run(["calibrate", str(path)]) == 2
    err = capsys.readouterr().err
    assert "grading 40 questions with llm takes about 40 calls to the model" in err
    assert "add --yes" in err
    assert run(["calibrate", str(path), "--yes"]) == 0
    capsys.readouterr()
    assert run(["calibrate", str(path), "--name", "again"]) == 0  # nothing is left to pay
    assert "calls to the model" not in capsys.readouterr().err


def test_how_much_is_to_be_graded_is_said_before_it_begins(
    home: Path, stubbed, capsys, monkeypatch
):
    monkeypatch.setattr(calibrate_run, "_MANY", len(GOOD))
    assert run(["calibrate", str(stubbed(GOOD))]) == 0
    assert "grading 40 questions (40 passages) with local; it can be" in capsys.readouterr().err
    assert run(["calibrate", str(stubbed(GOOD)), "--force"]) == 0
    assert "grading" not in capsys.readouterr().err  # all are kept


def test_long_retrieval_and_grading_say_how_long_they_take(
    home: Path, stubbed, capsys, monkeypatch
):
    said = []

    class Told(pace.Pace):
        def tell(self, done: int, total: int) -> None:
            said.append((self._what, done, total))

    monkeypatch.setattr(calibrate_run, "Pace", Told)
    labels = stubbed(GOOD)
    labels.write_text("question,should_answer\n" + "".join(f"q{n},{n % 2}\n" for n in range(12)))
    run(["calibrate", str(labels), "--force"])
    assert [one[1:] for one in said if one[0] == "questions searched for"][-1] == (12, 12)
    assert [one[1:] for one in said if one[0] == "questions graded"][-1] == (12, 12)


def test_traces_show_what_a_profile_would_do_and_write_nothing(home: Path, tmp_path, capsys):
    grade = {"document_id": "d", "status": "scored", "evaluator": "local"}
    runs = [
        {"question": f"q{n}", "grades": [grade | {"score": n / 10}], "action": "ambiguous"}
        for n in range(1, 10)
    ]
    path, page = tmp_path / "runs.jsonl", tmp_path / "page.html"
    path.write_text("\n".join(map(json.dumps, runs)), encoding="utf-8")
    arguments = ["calibrate", "--from-traces", str(path), "--profile", "ecommerce"]
    assert run([*arguments, "--html", str(page)]) == 0
    out = capsys.readouterr().out
    assert "9 earlier runs · graded by local 9" in out
    assert "2 runs would take another action than profile general" in out
    assert "<svg" in page.read_text(encoding="utf-8")
    assert run([*arguments, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["shares"] == {"correct": 4, "ambiguous": 3, "incorrect": 2}
    assert not home.exists()


@pytest.mark.parametrize("width", ["40", "80", "200"])
def test_the_picture_is_plain_text_of_any_width_when_piped(
    home, stubbed, capsys, monkeypatch, width
):
    monkeypatch.setenv("COLUMNS", width)
    assert run(["calibrate", str(stubbed(GOOD))]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert max(map(len, out.splitlines()[:12])) <= int(width)
    assert re.search(r"^ +correct +.*20", out, flags=re.MULTILINE)
