"""`crag eval`: figures on stdout, everything else on stderr, an exit code that says how it went."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from crag_graph.cli.entry import run
from crag_graph.errors import CollectionNotFoundError, GenerationError
from crag_graph.generation.extractive import ExtractiveGenerator
from crag_graph.lazy import Lazy
from crag_graph.services import Services
from tests.fakes.collaborators import StubEvaluator, StubGenerator, StubRetriever, doc, services
from tests.fakes.openai_server import OpenAIServer, Reply

Stub = Callable[..., dict[str, Any]]
ROWS = [
    {"id": "ferry", "question": "When does the ferry leave?", "answers": ["nine"], "gold": "d1.md"},
    {"id": "king", "question": "Who is king?", "answerable": False},
]


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Stub:
    """Puts stubs in the place of what the environment names; returns what they were called with."""

    def install(**given: Any) -> dict[str, Any]:
        seen: dict[str, Any] = {}
        local = StubEvaluator(lambda passage: 0.9 if "ferry" in passage.text else 0.1, name="local")
        found = {"When does the ferry leave?": [doc("d1", "The ferry leaves at nine.")]}
        stubs = {
            "retriever": StubRetriever(lambda asked: found.get(asked, [doc("d2", "Cows graze.")])),
            "evaluator": local,
            "local_evaluator": local,
            "generator": ExtractiveGenerator(),
        }

        def from_env(*args: Any, **kwargs: Any) -> Services:
            seen.update(kwargs)
            return services(**(stubs | given))

        monkeypatch.setattr(Services, "from_env", from_env)
        return seen

    return install


@pytest.fixture
def dataset(tmp_path: Path) -> str:
    path = tmp_path / "set.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in ROWS), encoding="utf-8")
    return str(path)


def test_json_is_one_object_and_nothing_else(stub: Stub, dataset: str, capsys):
    seen = stub()
    assert run(["eval", dataset, "--json", "-c", "notes", "--seed", "7"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.count("\n") == 1
    report = json.loads(out)
    assert seen["collection"] == "notes"
    assert report["configuration"]["seed"] == 7
    assert (report["asked"], report["done"], report["interrupted"]) == (2, 2, False)
    assert report["figures"]["crag"]["refusal"]["unanswerable_refused"] == {
        "value": 1.0,
        "low": 1.0,
        "high": 1.0,
        "questions": 1,
    }
    assert set(report["cost"]["plain"]) >= {"llm_calls", "seconds_p50", "seconds_p95"}
    assert report["difference"]["refusal"]["unanswerable_refused"]["value"] == 1.0


def test_the_table_is_plain_when_it_is_piped(stub: Stub, dataset: str, capsys):
    stub()
    assert run(["eval", dataset, "--set", "top_k=3"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "\x1b" not in out
    assert max(len(line) for line in out.splitlines()) <= 80
    assert "…" not in out
    assert "2 questions run: 1 answerable, 1 not, 1 with answers, 1 with gold labels" in out
    assert "top_k=3" in out
    lines = {line.split("  ")[1]: line for line in out.splitlines() if line.startswith("  ")}
    assert re.search(r"1\.000 \[.*0\.000 \[.*\+1\.000 \[", lines["unanswerable refused"])
    assert re.search(r"-\s+-\s*$", lines["macro-F1"])
    assert re.search(r"1\s+0\s+0\s*$", lines["answerable"])
    assert "! 2 questions are few" in out


def test_one_question_is_told_in_the_singular(stub: Stub, dataset: str, capsys):
    stub()
    Path(dataset).write_text(f"{json.dumps(ROWS[0])}\n", encoding="utf-8")
    assert run(["eval", dataset, "--no-baseline"]) == 0
    out = capsys.readouterr().out
    assert "\n1 question run: " in out
    assert "! 1 question is few" in out


def test_without_the_baseline_there_is_one_column(stub: Stub, dataset: str, capsys):
    stub()
    assert run(["eval", dataset, "--no-baseline"]) == 0
    out = capsys.readouterr().out
    assert "plain RAG" not in out
    assert "difference" not in out


def test_fewer_questions_can_be_drawn(stub: Stub, dataset: str, capsys):
    stub()
    assert run(["eval", dataset, "--limit", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["asked"] == 1


def test_calls_to_models_are_announced(stub: Stub, dataset: str, capsys):
    stub(generator=StubGenerator("Nine [1]."))
    assert run(["eval", dataset, "--json"]) == 0
    out, err = capsys.readouterr()
    assert err.startswith("up to 4 calls to language models lie ahead (2 questions)")
    assert err.count("\n") == 1
    assert json.loads(out)


def test_a_failed_question_is_named_and_ends_with_1(stub: Stub, dataset: str, capsys):
    stub(generator=StubGenerator(GenerationError("the model is down", reason="transport")))
    assert run(["eval", dataset]) == 1
    out, err = capsys.readouterr()
    assert "failed: ferry (corrective) When does the ferry leave?: the model is down" in " ".join(
        out.split()
    )
    assert err.endswith("crag: 2 of 2 questions failed\n")


def test_an_interruption_reports_what_was_done(
    stub: Stub, dataset: str, capsys, monkeypatch: pytest.MonkeyPatch
):
    class Stops(StubRetriever):
        def retrieve(self, question: str, **options: Any) -> Any:
            if "king" in question:
                raise KeyboardInterrupt
            return super().retrieve(question, **options)

    stub(retriever=Stops([doc("d1", "The ferry leaves at nine.")]))
    assert run(["eval", dataset, "--json"]) == 130
    out, err = capsys.readouterr()
    report = json.loads(out)
    assert (report["done"], report["interrupted"]) == (1, True)
    assert err == "1 of 2 questions run and reported\ninterrupted\n"


def test_results_are_gone_on_from(stub: Stub, dataset: str, tmp_path: Path, capsys):
    stub()
    path = tmp_path / "results.jsonl"
    assert run(["eval", dataset, "--results", str(path), "--limit", "1"]) == 0
    assert run(["eval", dataset, "--results", str(path)]) == 0
    assert len(path.read_text().splitlines()) == 3
    capsys.readouterr()
    assert run(["eval", dataset, "--results", str(path), "--set", "top_k=2"]) == 2
    assert capsys.readouterr().err.startswith(f"crag: --results {path} holds results of another")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{dir}/none.jsonl"], "crag: {dir}/none.jsonl cannot be read: no such file or directory"),
        (["{dir}/bad.jsonl"], "crag: {dir}/bad.jsonl:2: this is not JSON (expecting value)"),
        (["{set}", "--limit", "0"], "crag eval: invalid value for '--limit'"),
        (["{set}", "--set", "rerank_from=2"], "crag: --set rerank_from (2) is below top_k (5)"),
        (["{set}", "--set", "nope=1"], "crag: --set nope: there is no such setting"),
        (["{set}", "--profile", "nope"], "crag: profile: there is no 'nope'"),
        (["{set}", "--set", "approve_searches=on"], "crag: approve_searches: nobody approves"),
    ],
)
def test_bad_usage_is_one_sentence_and_2(
    stub: Stub, dataset: str, tmp_path: Path, capsys, arguments: list[str], message: str
):
    stub()
    (tmp_path / "bad.jsonl").write_text('{"question": "a?"}\nnope\n')
    places = {"dir": str(tmp_path), "set": dataset}
    assert run(["eval", *(argument.format(**places) for argument in arguments)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(message.format(**places))
    assert err.count("\n") == 1


def test_a_missing_collection_is_one_sentence_and_1(stub: Stub, dataset: str, capsys):
    def missing() -> Any:
        raise CollectionNotFoundError("there is no collection 'default'; run `crag ingest` first")

    stub(retriever=Lazy(missing))
    assert run(["eval", dataset]) == 1
    out, err = capsys.readouterr()
    assert (out, err) == ("", "crag: there is no collection 'default'; run `crag ingest` first\n")


def test_the_store_is_let_go_of(stub: Stub, dataset: str, capsys):
    class Closing(StubRetriever):
        closed = False

        def close(self) -> None:
            Closing.closed = True

    stub(retriever=Closing([doc("d1")]))
    assert run(["eval", dataset]) == 0
    assert Closing.closed


def test_the_page_holds_the_report_and_nothing_from_elsewhere(
    stub: Stub, dataset: str, tmp_path: Path, capsys
):
    stub(
        generator=StubGenerator(
            GenerationError("<script>alert(1)</script> is down", reason="transport")
        )
    )
    page = tmp_path / "report.html"
    assert run(["eval", dataset, "--html", str(page), "--json"]) == 1
    assert f"wrote {page}\n" in capsys.readouterr().err
    text = page.read_text(encoding="utf-8")
    assert "cost a question" in text
    assert "&lt;script&gt;" in text
    assert "<script" not in text
    assert "src=" not in text
    assert "http" not in text
    assert run(["eval", dataset, "--html", str(tmp_path)]) == 2
    assert "that is a folder" in capsys.readouterr().err


def test_a_report_on_nothing_can_be_printed(stub: Stub, dataset: str, capsys):
    class Stops(StubRetriever):
        def retrieve(self, question: str, **options: Any) -> Any:
            raise KeyboardInterrupt

    stub(retriever=Stops())
    assert run(["eval", dataset]) == 130
    out, err = capsys.readouterr()
    assert "0 of 2 questions run" in out
    assert err.startswith("0 of 2 questions run")


def test_calls_and_tokens_of_a_model_are_counted(
    dataset: str, tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch
):
    note = tmp_path / "ferry.md"
    note.write_text("# Ferry\n\nThe ferry leaves at nine.\n", encoding="utf-8")
    with OpenAIServer() as server:
        monkeypatch.setenv("CRAG_HOME", str(tmp_path / "home"))
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-TESTLEAKxxxxxx")
        monkeypatch.setenv("CRAG_EVALUATOR", "local")
        monkeypatch.setenv("CRAG_CHAT_MODEL", "openai:small")
        assert run(["ingest", str(note)]) == 0
        capsys.readouterr()
        server.script([Reply(content="At nine [1].")] * 4)
        assert run(["eval", dataset, "--json", "--limit", "1", "--seed", "1"]) == 0
    out, err = capsys.readouterr()
    report = json.loads(out)
    assert err.startswith("up to 2 calls to language models lie ahead (1 question)")
    assert "TESTLEAK" not in out + err
    assert report["configuration"]["chat_model"] == "openai:small"
    assert report["cost"]["plain"]["llm_calls"] == 1
    assert report["cost"]["plain"]["input_tokens"] > 0
    assert report["cost"]["crag"]["llm_calls"] <= 1


def test_it_runs_for_real_without_a_key(tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch):
    for name in ("OPENAI_API_KEY", "CRAG_CHAT_MODEL", "CRAG_EVALUATOR_MODEL", "CRAG_EVALUATOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CRAG_HOME", str(tmp_path / "home"))
    rows = [
        {
            "question": "When does the ferry to Lund leave?",
            "answers": ["half past nine"],
            "passages": [
                {"text": "The bakery sells bread and rolls.", "label": 0},
                {"text": "The ferry to Lund leaves at half past nine.", "label": 1},
            ],
        },
        {
            "question": "Who wrote the opera about the flying Dutchman?",
            "answerable": False,
            "passages": [{"text": "Cows graze on the hills behind the village.", "label": 0}],
        },
    ]
    path = tmp_path / "set.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    assert run(["eval", str(path), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    crag = report["figures"]["crag"]
    assert crag["retrieval"]["mrr"]["value"] == 1
    assert crag["answer"]["contained"]["value"] == 1
    assert crag["refusal"]["unanswerable_refused"]["value"] == 1
    assert report["configuration"]["evaluator"] == "local"
    assert report["failed"] == report["degraded"] == []
