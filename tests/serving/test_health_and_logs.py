"""Readiness, and logs that a machine can read."""

import json
import logging

import pytest
from starlette.testclient import TestClient

from crag_graph.errors import CollectionNotFoundError, StoreLockedError
from crag_graph.graph import build_graph
from crag_graph.lazy import Lazy
from crag_graph.serving import app as served
from crag_graph.serving.health import readiness
from crag_graph.serving.logs import JsonFormatter, log_runs_as_json
from tests.fakes.collaborators import StubEvaluator, StubRetriever, doc, services


def failing(error: Exception) -> Lazy[StubRetriever]:
    def build() -> StubRetriever:
        raise error

    return Lazy(build)


@pytest.mark.parametrize(
    ("retriever", "ready", "store"),
    [
        (StubRetriever([doc("d1")]), True, "filled"),
        (StubRetriever([], empty=True), True, "empty"),
        (failing(CollectionNotFoundError("no collection")), True, "no collection yet"),
        (failing(StoreLockedError("another process holds it")), False, "another process holds it"),
    ],
)
async def test_ready_is_who_can_answer_or_be_filled(retriever, ready, store):
    assert await readiness(services(retriever=retriever)) == (
        ready,
        {"status": "ready" if ready else "unavailable", "store": store}
        | ({} if ready else {"error": "StoreLockedError"}),
    )


@pytest.mark.filterwarnings("ignore:.*httpx.*:DeprecationWarning")
@pytest.mark.parametrize(
    ("retriever", "status"),
    [(StubRetriever([doc("d1")]), 200), (failing(StoreLockedError("locked")), 503)],
)
def test_the_route_says_it_by_its_status(retriever, status, monkeypatch):
    monkeypatch.setattr(served, "shared_services", lambda: services(retriever=retriever))
    with TestClient(served.app) as client:
        assert client.get("/health").status_code == status


def test_a_run_is_one_line_of_json_without_any_text(capsys):
    handler = log_runs_as_json()
    try:
        graph = build_graph(services(retriever=StubRetriever([doc("d1", "MARKER-D is here.")])))
        out = graph.invoke({"question": "Where is MARKER-Q?"})
    finally:
        logging.getLogger("crag_graph").removeHandler(handler)
        logging.getLogger("crag_graph").setLevel(logging.NOTSET)
    (line,) = capsys.readouterr().err.splitlines()
    entry = json.loads(line)
    assert (entry["event"], entry["level"]) == ("run finished", "info")
    facts = entry["crag"]
    assert (facts["action"], facts["status"], facts["citations"]) == ("correct", "answered", 1)
    assert facts["run_id"] == out["usage"]["run_id"]
    assert facts["evaluator_calls"] == facts["generation_calls"] == 1
    assert facts["seconds"] == pytest.approx(out["usage"]["seconds"], abs=1e-6)
    assert "MARKER" not in line


def test_errors_and_credentials_in_the_line_are_one_line_and_masked():
    try:
        raise ValueError("first\nsecond, api_key=sk-TESTLEAK123456")
    except ValueError as error:
        info = (type(error), error, error.__traceback__)
    record = logging.LogRecord("crag_graph", logging.ERROR, "f", 1, "it %s", ("broke",), info)
    line = JsonFormatter().format(record)
    assert "\n" not in line
    assert "TESTLEAK" not in line
    assert json.loads(line)["event"] == "it broke"


def test_a_refusal_is_logged_too(capsys):
    handler = log_runs_as_json()
    try:
        build_graph(services(evaluator=StubEvaluator(lambda _: 0.0))).invoke({"question": "Where?"})
    finally:
        logging.getLogger("crag_graph").removeHandler(handler)
        logging.getLogger("crag_graph").setLevel(logging.NOTSET)
    assert json.loads(capsys.readouterr().err)["crag"]["status"] == "refused"
