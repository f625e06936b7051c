"""How long a run takes when the web hangs, beyond the seconds that it was given.

    python -m benchmarks.web_hang [--seconds 1.0] [--runs 3]

Each provider's client asks a server on loopback that never answers, one that takes the request and
sends a byte a second, and one that cannot be connected to; alone and two in a chain, invoked and
awaited, on the incorrect branch (which ends in a refusal) and on the ambiguous one (which answers
from the corpus). Prints the most time beyond the budget and exits with 1 when it passes 0.5 s.
"""

import argparse
import asyncio
import itertools
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from langchain_core.documents import Document

from crag_graph.budget import Budget
from crag_graph.evaluators.base import Evaluation, Passage
from crag_graph.graph import CRAGGraph, build_graph
from crag_graph.retrieval.index import Filter
from crag_graph.search.base import WebSearch
from crag_graph.search.brave import BraveSearch
from crag_graph.search.chain import SearchChain
from crag_graph.search.duckduckgo import DuckDuckGoSearch
from crag_graph.search.exa import ExaSearch
from crag_graph.search.searxng import SearxngSearch
from crag_graph.search.tavily import TavilySearch
from crag_graph.search.wikipedia import WikipediaSearch
from crag_graph.services import Services
from crag_graph.settings import Settings

BOUND = 0.5  # seconds beyond the budget
QUESTION: Any = {"question": "When does the ferry leave?"}
CLIENTS: dict[str, Callable[[str], WebSearch]] = {
    "tavily": lambda url: TavilySearch(api_key="key", base_url=url),
    "brave": lambda url: BraveSearch(api_key="key", base_url=url),
    "exa": lambda url: ExaSearch(api_key="key", base_url=url),
    "searxng": lambda url: SearxngSearch(base_url=url),
    "wikipedia": lambda url: WikipediaSearch(base_url=url),
    "duckduckgo": lambda url: DuckDuckGoSearch(base_url=url),
}
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9999\r\n\r\n"


@contextmanager
def hanging_server(manner: str) -> Iterator[str]:
    """Give the address of a server that is silent, that drips, or that takes no connection."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=1)
    over = threading.Event()
    taken: list[socket.socket] = []

    def serve() -> None:
        while not over.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            taken.append(connection)
            if manner == "drips":
                threading.Thread(target=drip, args=(connection,), daemon=True).start()

    def drip(connection: socket.socket) -> None:
        try:
            connection.recv(65536)
            connection.sendall(_HEAD)
            while not over.wait(1.0):
                connection.sendall(b" ")
        except OSError:
            return

    if manner == "full":  # connections that nobody accepts, until the queue takes no more
        for _ in range(4):
            filler = socket.socket()
            filler.settimeout(0)
            filler.connect_ex(listener.getsockname())
            taken.append(filler)
    else:
        threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        over.set()
        listener.close()
        for connection in taken:
            connection.close()


class Corpus:
    """Holds one passage, which the graph may answer from when it has nothing better."""

    name = "corpus"

    def retrieve(
        self, question: str, *, settings: Settings, where: Filter | None = None
    ) -> list[Document]:
        """Return the passage."""
        del question, settings, where
        return [Document(id="d", page_content="It leaves at nine.", metadata={"source": "a.md"})]

    async def aretrieve(
        self, question: str, *, settings: Settings, where: Filter | None = None
    ) -> list[Document]:
        """Return the passage."""
        return self.retrieve(question, settings=settings, where=where)

    def is_empty(self) -> bool:
        """Return False."""
        return False


class Grader:
    """Grades everything the same, so that a run takes the branch that it is to take."""

    name = "grader"

    def __init__(self, score: float) -> None:
        self._score = score

    def evaluate(
        self, question: str, passages: Sequence[Passage], *, settings: Settings, budget: Budget
    ) -> Evaluation:
        """Return the same grade for all."""
        del question, settings, budget
        return Evaluation(
            grades=[
                {
                    "document_id": passage.id,
                    "score": self._score,
                    "raw": self._score,
                    "status": "scored",
                    "reason": "",
                    "evaluator": self.name,
                }
                for passage in passages
            ],
            strip_scores={s["id"]: self._score for p in passages for s in p.strips},
        )

    async def aevaluate(
        self, question: str, passages: Sequence[Passage], *, settings: Settings, budget: Budget
    ) -> Evaluation:
        """Return the same grade for all."""
        return self.evaluate(question, passages, settings=settings, budget=budget)


def excess(graph: CRAGGraph, entry: str, *, seconds: float, status: str) -> float:
    """Return the seconds that one run took beyond `seconds`."""
    context: Any = {"web_seconds": seconds}
    started = time.perf_counter()
    if entry == "invoke":
        out = graph.invoke(QUESTION, context=context)
    else:
        out = asyncio.run(graph.ainvoke(QUESTION, context=context))
    took = time.perf_counter() - started
    if out["status"] != status or not any("web search failed" in w for w in out["warnings"]):
        sys.exit(f"a run came out as {out['status']}, with the warnings {out['warnings']}")
    return took - seconds


def main() -> int:
    """Print the excess of each way to hang; return the exit code."""
    parser = argparse.ArgumentParser(description="What a web that hangs costs a run.")
    parser.add_argument("--seconds", type=float, default=1.0, help="the web budget of a run")
    parser.add_argument("--runs", type=int, default=3, help="runs of each kind")
    given = parser.parse_args()
    branches = {"incorrect": (0.1, "refused"), "ambiguous": (0.5, "answered")}
    worst: list[float] = []
    for manner, name in itertools.product(("silent", "drips", "full"), (*CLIENTS, "chain")):
        with hanging_server(manner) as url:
            web = SearchChain([CLIENTS["tavily"](url), CLIENTS["brave"](url)])
            client: WebSearch = web if name == "chain" else CLIENTS[name](url)
            for branch, (score, status) in branches.items():
                services = Services(retriever=Corpus(), evaluator=Grader(score), web=client)
                graph = build_graph(services)
                for entry in ("invoke", "ainvoke"):
                    beyond = max(
                        excess(graph, entry, seconds=given.seconds, status=status)
                        for _ in range(given.runs)
                    )
                    worst.append(beyond)
                    print(f"{manner:7} {name:11} {branch:10} {entry:8} {beyond:+.3f} s", flush=True)
    most = max(worst)
    print(f"most beyond {given.seconds:g} s: {most:.3f} s (bound {BOUND})")
    return 1 if most > BOUND else 0


if __name__ == "__main__":
    sys.exit(main())
