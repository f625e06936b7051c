"""`crag ask` in this process, on collaborators that do what a test says."""

import json
import re
import sys
from collections.abc import Callable
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document

from crag_graph.cli.entry import run
from crag_graph.errors import (
    CollectionMismatchError,
    CollectionNotFoundError,
    GenerationError,
    StoreDamagedError,
    StoreLockedError,
    StoreUnavailableError,
)
from crag_graph.services import Services
from tests.fakes.collaborators import (
    StubEvaluator,
    StubGenerator,
    StubRetriever,
    StubWeb,
    doc,
    services,
)

QUESTION = "When does the ferry leave?"
PAGE = Document(
    page_content="The ferry leaves at 9.",
    metadata={"source": "https://a.example/f", "title": "Harbour"},
)
KEYS = [
    "question",
    "status",
    "action",
    "answer",
    "grades",
    "strips",
    "citations",
    "documents",
    "web_documents",
    "search_query",
    "decision",
    "usage",
    "warnings",
]
Stub = Callable[..., dict[str, Any]]


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Stub:
    """Puts stubs in the place of what the environment names; returns what they were called with."""

    def install(**given: Any) -> dict[str, Any]:
        seen: dict[str, Any] = {}

        def from_env(*args: Any, **kwargs: Any) -> Services:
            seen.update(kwargs)
            return services(**given)

        monkeypatch.setattr(Services, "from_env", from_env)
        return seen

    return install


def ask_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert run(["ask", *arguments, "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.count("\n") == 1
    value = json.loads(out)
    assert isinstance(value, dict)
    return value


def test_json_is_the_whole_output_and_nothing_else(stub: Stub, capsys):
    stub(
        retriever=StubRetriever([doc("d1", "It leaves at 9.", page=3)]),
        evaluator=StubEvaluator({"d1": 0.5}, query="ferry departure"),
        web=StubWeb([PAGE]),
    )
    output = ask_json(capsys, QUESTION)
    assert list(output) == KEYS
    assert (output["action"], output["status"]) == ("ambiguous", "answered")
    assert output["documents"] == [
        {
            "id": "d1",
            "page_content": "It leaves at 9.",
            "metadata": {"source": "d1.md", "page": 3},
        }
    ]
    assert output["web_documents"][0]["metadata"]["source"] == "https://a.example/f"
    assert output["search_query"] == "ferry departure"
    assert output["usage"]["web_searches"] == 1


def test_every_key_is_there_when_nothing_was_found(stub: Stub, capsys):
    stub(retriever=StubRetriever([]))
    output = ask_json(capsys, QUESTION)
    assert list(output) == KEYS
    assert output["status"] == "refused"
    assert output["grades"] == output["strips"] == output["citations"] == []


@pytest.mark.parametrize(
    ("score", "action"), [(0.9, "CORRECT"), (0.5, "AMBIGUOUS"), (0.1, "INCORRECT")]
)
def test_a_person_sees_the_card_then_the_answer_then_its_sources(stub, capsys, score, action):
    stub(evaluator=StubEvaluator(lambda _: score), web=StubWeb([PAGE]))
    assert run(["ask", QUESTION]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    places = [
        out.index(part)
        for part in (action, "lower 0.30, upper 0.70", "evaluator pass", "The answer [1].", "[1] ")
    ]
    assert places == sorted(places)
    assert f"{score:.2f}" in out


def test_the_card_says_what_failed_and_what_was_done_instead(stub: Stub, capsys):
    stub(
        retriever=StubRetriever(StoreUnavailableError("store.example is down; start it")),
        web=StubWeb([PAGE]),
    )
    assert run(["ask", QUESTION]) == 0
    out = " ".join(re.sub(r"[│\n]", " ", capsys.readouterr().out).split())
    assert "failure: retrieval: store.example is down; start it" in out
    assert "fallback: the corpus could not be searched; only the web can answer" in out
    assert "! local search is unavailable" in out


def test_explain_shows_kept_and_dropped_strips(stub: Stub, capsys):
    text = "The ferry leaves at nine every day. The harbour office is painted green and white."
    document = doc("d1", text)
    judge = StubEvaluator(lambda _: 0.9, strips=False)
    stub(retriever=StubRetriever([document]), evaluator=judge)
    strips = ask_json(capsys, QUESTION)["strips"]
    judge.strips = {strips[0]["id"]: 0.9, strips[1]["id"]: 0.1}
    assert run(["ask", QUESTION, "--explain"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"✓ 0\.90 The ferry leaves", out)
    assert re.search(r"✗ 0\.10 The harbour office", out)
    assert "kept 1 of 2" in out
    assert run(["ask", QUESTION]) == 0
    assert "✗" not in capsys.readouterr().out


def test_options_reach_the_run(stub: Stub, capsys):
    retriever = StubRetriever([doc(f"d{number}", f"Text number {number}.") for number in range(9)])
    seen = stub(retriever=retriever)
    output = ask_json(
        capsys, QUESTION, "--collection", "papers", "-s", "top_k=2", "-p", "legal", "-f", "page=3"
    )
    assert seen["collection"] == "papers"
    assert len(output["documents"]) == 2
    assert output["decision"]["profile"] == "legal"
    assert retriever.calls == [(QUESTION, {"page": 3})]


def test_html_is_written_beside_what_is_printed(stub: Stub, capsys, tmp_path: Path):
    stub()
    page = tmp_path / "run.html"
    assert run(["ask", QUESTION, "--html", str(page), "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["answer"] == "The answer [1]."
    assert err == f"wrote {page}\n"
    assert "<h1>When does the ferry leave?</h1>" in page.read_text(encoding="utf-8")


def test_a_page_that_cannot_be_written_costs_nothing(stub: Stub, capsys, tmp_path: Path):
    retriever = StubRetriever([doc("d1")])
    stub(retriever=retriever)
    assert run(["ask", QUESTION, "--html", str(tmp_path / "no" / "run.html")]) == 2
    assert retriever.calls == []
    assert "there is no folder" in capsys.readouterr().err


def test_the_question_can_come_from_stdin(stub: Stub, capsys, monkeypatch):
    stub()
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(b"  Wann?\n"), "utf-8"))
    assert ask_json(capsys, "-")["question"] == "Wann?"


@pytest.mark.case(110)
@pytest.mark.parametrize("question", ["", " ", "\n\t", "\u200b", "\x00\x07"])
def test_a_blank_question_is_refused_before_anything_is_loaded(stub: Stub, capsys, question):
    retriever = StubRetriever([doc("d1")])
    stub(retriever=retriever)
    assert run(["ask", question]) == 2
    out, err = capsys.readouterr()
    assert (out, retriever.calls) == ("", [])
    assert err.startswith("crag: the question is blank")
    assert err.count("\n") == 1


@pytest.mark.case(112)
def test_a_very_long_question_is_answered(stub: Stub, capsys):
    stub()
    question = "background " * 9_100 + "So, which valve?"
    assert ask_json(capsys, question)["question"] == question
    assert run(["ask", question]) == 0


def test_a_question_that_is_too_long_is_refused(stub: Stub, capsys):
    stub()
    assert run(["ask", "x" * 200_001]) == 2
    assert "200,001 characters" in capsys.readouterr().err


@pytest.mark.case(56)
def test_control_characters_and_lone_surrogates_do_no_harm(stub: Stub, capsys):
    stub(
        retriever=StubRetriever([doc("d1", "Open \x1b[31m at 9 \ud83d.")]),
        generator=StubGenerator("\x1b[2JAt 9 \udce9 [1]."),
    )
    output = ask_json(capsys, "caf\udce9\x00 open\x1b[0ming hours 🙂")
    assert output["question"] == "caf\ufffd opening hours 🙂"
    assert run(["ask", "caf\udce9 opening hours", "--explain"]) == 0
    assert "\x1b" not in capsys.readouterr().out


FAILURES = [
    (StoreLockedError("the store is in use by another process: close it"), 1),
    (StoreDamagedError("the store holds 3 chunks, not 5: ingest again"), 1),
    (CollectionMismatchError("the collection 'x' was made with a, not b: use a"), 1),
    (CollectionNotFoundError("there is no collection 'x': run `crag ingest`"), 1),
]


@pytest.mark.parametrize(("error", "code"), FAILURES, ids=lambda value: type(value).__name__)
def test_a_typed_failure_is_one_sentence_and_its_exit_code(stub: Stub, capsys, error, code):
    stub(retriever=StubRetriever(error))
    assert run(["ask", QUESTION, "--json"]) == code
    out, err = capsys.readouterr()
    assert (out, err) == ("", f"crag: {error.message}\n")


def test_a_failing_generator_is_a_failure_not_an_empty_answer(stub: Stub, capsys):
    error = GenerationError("the model was cut off: raise its limit", reason="length")
    stub(generator=StubGenerator(error))
    assert run(["ask", QUESTION]) == 1
    assert capsys.readouterr().err == "crag: the model was cut off: raise its limit\n"


def test_an_unexpected_failure_is_one_sentence_with_a_hint(stub: Stub, capsys, monkeypatch):
    stub(retriever=StubRetriever(ZeroDivisionError("division\nby zero, api_key=abcdef123")))
    monkeypatch.delenv("CRAG_DEBUG", raising=False)
    assert run(["ask", QUESTION]) == 1
    err = capsys.readouterr().err
    assert err.startswith("crag: unexpected ZeroDivisionError: division by zero")
    assert err.count("\n") == 1
    assert "CRAG_DEBUG=1" in err
    assert "abcdef123" not in err
    monkeypatch.setenv("CRAG_DEBUG", "1")
    assert run(["ask", QUESTION]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_an_unknown_profile_is_bad_usage(stub: Stub, capsys):
    stub()
    assert run(["ask", QUESTION, "--profile", "vetirinary"]) == 2
    assert "there is no 'vetirinary'; there are" in capsys.readouterr().err


@pytest.mark.case(129)
def test_an_empty_collection_is_told_apart_from_irrelevant_passages(stub: Stub, capsys):
    stub(retriever=StubRetriever([], empty=True))
    empty = ask_json(capsys, QUESTION)
    stub(retriever=StubRetriever([doc("d1")]), evaluator=StubEvaluator({"d1": 0.01}))
    irrelevant = ask_json(capsys, QUESTION)
    assert empty["decision"]["grading"] == "empty"
    assert irrelevant["decision"]["grading"] == "scored"
    assert "crag ingest" in empty["answer"]
    assert "crag ingest" not in irrelevant["answer"]
    assert run(["ask", QUESTION]) == 0
    stub(retriever=StubRetriever([], empty=True))
    capsys.readouterr()
    assert run(["ask", QUESTION]) == 0
    assert "crag ingest" in capsys.readouterr().out


@pytest.mark.case(58)
def test_a_node_that_changes_nothing_does_not_stop_the_progress_line():
    from crag_graph.cli.running import _doing

    assert _doing({"refine": None}) == "answering"
    assert _doing({"route": None}) == "finishing"
    assert _doing({"route": {"action": "incorrect"}}) == "searching the web"


@pytest.mark.parametrize("width", ["20", "40", "59", "60", "200"])
@pytest.mark.case(130)
def test_it_fits_the_terminal(stub: Stub, capsys, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", width)
    stub(evaluator=StubEvaluator(lambda _: 0.5), web=StubWeb([PAGE]))
    assert run(["ask", QUESTION, "--explain"]) == 0
    out = capsys.readouterr().out
    assert max(len(line.rstrip()) for line in out.splitlines()) <= int(width)


def answering(monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    class Terminal(TextIOWrapper):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal(BytesIO(answer.encode()), "utf-8"))


@pytest.mark.parametrize(
    ("answer", "queries"),
    [
        ("\n", ["ferry departure"]),
        ("yes\n", ["ferry departure"]),
        ("ferry island timetable\n", ["ferry island timetable"]),
        ("n\n", []),
        ("", []),
    ],
)
@pytest.mark.case(65)
def test_a_person_approves_edits_or_refuses_the_search(stub, capsys, monkeypatch, answer, queries):
    web = StubWeb([PAGE])
    judge = StubEvaluator({"d1": 0.1}, query="ferry departure")
    stub(web=web, evaluator=judge)
    answering(monkeypatch, answer)
    assert run(["ask", QUESTION, "--json", "--set", "approve_searches=on"]) == 0
    out, err = capsys.readouterr()
    assert web.queries == queries
    assert "Search the web (stub-web) for:\n  ferry departure\n" in err
    assert json.loads(out)["status"] == ("answered" if queries else "refused")
    assert len(judge.calls) == 1


def test_nobody_is_asked_where_nobody_can_answer(stub: Stub, capsys, monkeypatch):
    retriever = StubRetriever([doc("d1")])
    stub(retriever=retriever)
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(b"y"), "utf-8"))
    assert run(["ask", QUESTION, "--set", "approve_searches=on"]) == 2
    assert retriever.calls == []
    assert "needs a terminal" in capsys.readouterr().err
