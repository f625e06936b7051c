"""What the graph itself costs a question, beside an empty LangGraph graph with as many nodes.

    python -m benchmarks.graph_overhead [--questions 40] [--rounds 40]

Every collaborator is an instant fake with one short passage, so that only the graph's own work is
left: checking the question, strips, verdict, decision card, citations. Both graphs run in turn in
the same process; the ratio is the median over the rounds. Times are the process's own processor
time, since nothing here waits and a busy machine would only add noise. The bar is 1.5.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.documents import Document
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from crag_graph.budget import Budget
from crag_graph.evaluators.base import Evaluation, Passage
from crag_graph.generation.base import Generation, GenerationRequest
from crag_graph.graph import build_graph
from crag_graph.retrieval.index import Filter
from crag_graph.services import Services
from crag_graph.settings import Settings

QUESTION: Any = {"question": "When does the ferry leave?"}
DOCUMENTS = [Document(id="d1", page_content="It leaves at nine.", metadata={"source": "a.md"})]


class InstantRetriever:
    """Always finds the same passage."""

    name = "instant"

    def retrieve(
        self, question: str, *, settings: Settings, where: Filter | None = None
    ) -> list[Document]:
        """Return the passage."""
        del question, settings, where
        return DOCUMENTS

    async def aretrieve(
        self, question: str, *, settings: Settings, where: Filter | None = None
    ) -> list[Document]:
        """Return the passage."""
        return self.retrieve(question, settings=settings, where=where)

    def is_empty(self) -> bool:
        """Return False."""
        return False


class InstantEvaluator:
    """Grades every passage and strip 0.9."""

    name = "instant"

    def evaluate(
        self, question: str, passages: Sequence[Passage], *, settings: Settings, budget: Budget
    ) -> Evaluation:
        """Return the grades."""
        del question, settings, budget
        return Evaluation(
            grades=[
                {
                    "document_id": passage.id,
                    "score": 0.9,
                    "raw": 0.9,
                    "status": "scored",
                    "reason": "",
                    "evaluator": self.name,
                }
                for passage in passages
            ],
            strip_scores={strip["id"]: 0.9 for passage in passages for strip in passage.strips},
        )

    async def aevaluate(
        self, question: str, passages: Sequence[Passage], *, settings: Settings, budget: Budget
    ) -> Evaluation:
        """Return the grades."""
        return self.evaluate(question, passages, settings=settings, budget=budget)


class InstantGenerator:
    """Always gives the same answer."""

    name = "instant"

    def generate(
        self, request: GenerationRequest, *, settings: Settings, budget: Budget
    ) -> Generation:
        """Return the answer."""
        del request, settings, budget
        return Generation(answer="At nine [1].")

    async def agenerate(
        self, request: GenerationRequest, *, settings: Settings, budget: Budget
    ) -> Generation:
        """Return the answer."""
        return self.generate(request, settings=settings, budget=budget)


class Empty(TypedDict, total=False):
    """The state of the empty graph."""

    question: str
    answer: str


def empty_graph(nodes: Sequence[str]) -> Any:
    """Return a graph of `nodes` in a row that each write one key."""
    builder = StateGraph(Empty)
    for name in nodes:
        builder.add_node(name, lambda _: {"answer": "x"})
    for earlier, later in zip([START, *nodes], [*nodes, END], strict=True):
        builder.add_edge(earlier, later)
    return builder.compile()


def milliseconds(ask: Callable[[], object], questions: int) -> float:
    """Return the processor time of one question in ms, over `questions` of them."""
    started = time.process_time()
    for _ in range(questions):
        ask()
    return (time.process_time() - started) / questions * 1000


def main() -> None:
    """Print both times and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=40)
    options = parser.parse_args()
    graph = build_graph(
        Services(
            retriever=InstantRetriever(),
            evaluator=InstantEvaluator(),
            generator=InstantGenerator(),
        )
    )
    path = ["retrieve", "evaluate", "route", "refine", "generate"]
    bare = empty_graph(path)
    rounds = []
    for number in range(options.rounds + 1):
        ours = milliseconds(lambda: graph.invoke(QUESTION), options.questions)
        theirs = milliseconds(lambda: bare.invoke(QUESTION), options.questions)
        if number:  # the first round only warms up
            rounds.append((ours, theirs))
    ratios = [ours / theirs for ours, theirs in rounds]
    print(f"crag      {statistics.median(ours for ours, _ in rounds):.2f} ms a question")
    print(f"empty     {statistics.median(theirs for _, theirs in rounds):.2f} ms a question")
    print(
        f"ratio     {statistics.median(ratios):.2f} "
        f"({min(ratios):.2f} to {max(ratios):.2f}); the bar is 1.5"
    )


if __name__ == "__main__":
    main()
