"""What leaves the process for LangSmith, read off the wire by a server on loopback."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.collector import Collector

PROGRAM = """
from langchain_core.tracers.langchain import wait_for_all_tracers
from crag_graph.errors import GenerationError
from crag_graph.graph import build_graph
from tests.fakes.collaborators import StubGenerator, StubRetriever, doc, services

found = StubRetriever([doc("d1", "The ferry MARKER-D leaves at nine.")])
build_graph(services(retriever=found, generator=StubGenerator("MARKER-A [1]."))).invoke(
    {"question": "When does MARKER-Q leave?"}, {"metadata": {"customer": "c1"}}
)
failing = StubGenerator(GenerationError("the model said: MARKER-E", reason="parse"))
try:
    build_graph(services(retriever=found, generator=failing)).invoke({"question": "MARKER-Q?"})
except GenerationError:
    pass
wait_for_all_tracers()
"""


@pytest.fixture
def langsmith() -> Iterator[Collector]:
    with Collector() as server:
        yield server


def traced(url: str, payloads: str) -> None:
    environment = {key: value for key, value in os.environ.items() if "LANGSMITH" not in key}
    environment |= {
        "LANGSMITH_TRACING": "true",
        "LANGSMITH_ENDPOINT": url,
        "LANGSMITH_API_KEY": "lsv2_pt_TESTLEAK1234567890",
        "CRAG_TRACE_PAYLOADS": payloads,
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment,
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_with_payloads_the_trace_tells_everything(langsmith):
    traced(langsmith.url, "on")
    sent = langsmith.everything
    for part in (b"MARKER-D", b"MARKER-Q", b"MARKER-A", b"retriever:stub", b"customer"):
        assert part in sent


def test_without_payloads_no_text_leaves_the_process(langsmith):
    traced(langsmith.url, "off")
    sent = langsmith.everything
    assert b"MARKER" not in sent
    for part in (b"retriever:stub", b'"answered"', b"GenerationError [withheld]", b"withheld: 34"):
        assert part in sent
    assert b"TESTLEAK" not in sent
