"""What serving and embedding cost: the bars of the project, measured on this machine.

    python -m benchmarks.serving [--questions 50] [--rounds 30]

1. Seconds from starting the real `langgraph dev`, with no key, to the first answered run; an empty
   store and its documents are made before. The bar is 15 s on two cores.
2. Fifty runs at once through the server, over thirty documents with a marker each: how many fail,
   how many carry another document's marker, and how long all of them take. The bar is none.
3. What the graph as a node of a parent costs a question more than a direct call, with
   collaborators that answer at once. Both are called in turn in one process; the figure is the
   median of the differences, in processor time. The bar is 5 ms.

The server is the one for development, which keeps everything in memory and looks for new runs about
once a second while it is idle; that wait is part of 1 and 2.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from benchmarks.graph_overhead import InstantEvaluator, InstantGenerator, InstantRetriever
from crag_graph.environment import Environment
from crag_graph.graph import build_graph
from crag_graph.services import Services
from tests.fakes.langgraph_server import LangGraphServer

STATIONS = 30


def marker(number: int) -> str:
    """Return what only one document says."""
    return f"CODE-{number:02d}-{number * 7919 % 9973:04d}"


def question(number: int) -> str:
    """Return what that document answers."""
    return f"What is the access code of pumping station number {number + 100}?"


def make_documents(folder: Path) -> None:
    """Write one document for each station."""
    folder.mkdir()
    for number in range(STATIONS):
        name = f"pumping station number {number + 100}"
        (folder / f"{number:02d}.md").write_text(
            f"# About {name}\n\nThe access code of {name} is {marker(number)}.\n"
        )


def ingest_documents(home: Path, folder: Path) -> None:
    """Index them in another process: a store belongs to one at a time."""
    program = "from crag_graph.cli import main; main()"
    command = [sys.executable, "-c", program, "ingest", str(folder)]
    environment = os.environ | {"CRAG_HOME": str(home)}
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)


def ask(client: httpx.Client, number: int) -> dict[str, Any]:
    """Return the output of one run."""
    body = {"assistant_id": "crag", "input": {"question": question(number)}}
    output: dict[str, Any] = client.post("/runs/wait", json=body).raise_for_status().json()
    return output


async def ask_all(url: str, numbers: Sequence[int]) -> list[dict[str, Any]]:
    """Return the outputs of runs that were all started at once."""
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=url, timeout=300, limits=limits) as client:

        async def one(number: int) -> dict[str, Any]:
            # One passage each: another document's marker could only come from another run.
            body = {
                "assistant_id": "crag",
                "input": {"question": question(number)},
                "context": {"top_k": 1},
            }
            reply = await client.post("/runs/wait", json=body)
            output: dict[str, Any] = reply.raise_for_status().json()
            return output

        return await asyncio.gather(*(one(number) for number in numbers))


def serve(questions: int) -> None:
    """Print the figures of the server."""
    with tempfile.TemporaryDirectory() as name:
        folder, home = Path(name), Path(name) / "home"
        make_documents(folder / "documents")
        ingest_documents(home, folder / "documents")
        with LangGraphServer(folder, variables={"CRAG_HOME": str(home)}) as server:
            ready = time.monotonic()
            with httpx.Client(base_url=server.url, timeout=120) as client:
                first = ask(client, 0)
                answered = server.ready_after + time.monotonic() - ready
                assert first["status"] == "answered", first
                second = time.monotonic()
                ask(client, 1)
                single = time.monotonic() - second
            numbers = [number % STATIONS for number in range(questions)]
            begun = time.monotonic()
            outputs = asyncio.run(ask_all(server.url, numbers))
            seconds = time.monotonic() - begun
    failed = sum(output.get("status") != "answered" for output in outputs)
    wrong = sum(
        {key for key in range(STATIONS) if marker(key) in json.dumps(output)} != {number}
        for number, output in zip(numbers, outputs, strict=True)
    )
    print(f"server answers at all      {server.ready_after:.1f} s after its start")
    print(f"first answered run         {answered:.1f} s after its start; the bar is 15")
    print(f"one further run            {single:.2f} s, the queue's wait included")
    print(f"{questions} runs at once           {seconds:.1f} s, {questions / seconds:.1f} a second")
    print(f"failed, with wrong markers {failed}, {wrong}; the bars are 0 and 0")


class Parent(TypedDict, total=False):
    """The parent's state; it shares the question."""

    question: str
    answer: str


def embed(rounds: int, questions: int = 40) -> None:
    """Print what the graph costs as a node of a parent, beside a direct call."""
    graph = build_graph(
        Services(
            retriever=InstantRetriever(), evaluator=InstantEvaluator(), generator=InstantGenerator()
        )
    )
    builder = StateGraph(Parent)
    builder.add_node("crag", graph)
    builder.add_edge(START, "crag")
    builder.add_edge("crag", END)
    parent = builder.compile()
    given: Any = {"question": "When does the ferry leave?"}
    differences = []
    for number in range(rounds + 1):
        direct = processor_time(lambda: graph.invoke(given), questions)
        inside = processor_time(lambda: parent.invoke(given), questions)
        if number:  # the first round only warms up
            differences.append((inside - direct) / questions * 1000)
    print(
        f"as a node of a parent      {statistics.median(differences):.2f} ms a question more "
        f"({min(differences):.2f} to {max(differences):.2f}); the bar is 5"
    )


def processor_time(call: Any, times: int) -> float:
    """Return the processor time of so many calls, in seconds."""
    started = time.process_time()
    for _ in range(times):
        call()
    return time.process_time() - started


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--questions", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    print(f"evaluator: {Environment.read({}).evaluator}, no key, {os.cpu_count()} cores")
    embed(options.rounds)
    serve(options.questions)


if __name__ == "__main__":
    main()
