"""How many questions one process answers at once, and what memory each one in flight takes.

    python -m benchmarks.llm_throughput [--in-flight 200] [--questions 1000] [--delay 0.2]

So many questions are kept in flight with `ainvoke` until all are answered. The model is a fake in
the process that waits `--delay` seconds without working; the graph asks it twice, in sequence. The
clock is that of a processor of one's own (benchmarks/quiet_loop.py).

Two things bound the throughput: the waits (in flight / two delays) and the processor time of a
question. The ideal is the smaller bound, and the bar 0.9 of it: questions then wait neither for
each other nor for a thread or a lock. A bare LangGraph graph with as many nodes, which asks the
same model twice and does nothing else, is measured beside: nobody can save what it needs.
"""

import argparse
import asyncio
import time
import tracemalloc
from collections.abc import Callable, Coroutine
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from benchmarks.llm_stage import QUESTION, WaitingModel, graph_with, passages_for
from benchmarks.quiet_loop import run_quietly

BAR = 0.9
NODES = ("retrieve", "evaluate", "route", "refine", "generate")
INPUT: Any = {"question": QUESTION}
Ask = Callable[[], Coroutine[Any, Any, Any]]


class Bare(TypedDict, total=False):
    """The state of the bare graph."""

    question: str
    answer: str


def corrective(model: BaseChatModel) -> Ask:
    """Return a call of this project's graph."""
    graph = graph_with(model, passages_for("correct"))
    return lambda: graph.ainvoke(INPUT)


def bare(model: BaseChatModel) -> Ask:
    """Return a call of a graph that does nothing but ask the model in two of its nodes."""

    async def ask(state: Bare) -> Bare:
        reply = await model.ainvoke([HumanMessage(state["question"])])
        return {"answer": str(reply.content)}

    async def nothing(state: Bare) -> Bare:
        return {"answer": state.get("answer", "")}

    builder: StateGraph[Bare, None, Bare, Bare] = StateGraph(Bare)
    before = START
    for name in NODES:
        builder.add_node(name, ask if name in ("evaluate", "generate") else nothing)
        builder.add_edge(before, name)
        before = name
    graph = builder.add_edge(before, END).compile()
    return lambda: graph.ainvoke(INPUT)


async def measure(ask: Ask, questions: int, in_flight: int) -> tuple[float, float]:
    """Return the seconds until all were answered, and the processor seconds among them."""
    clock = asyncio.get_running_loop().time
    gate = asyncio.Semaphore(in_flight)

    async def one() -> None:
        async with gate:
            await ask()

    await asyncio.gather(*(ask() for _ in range(2)))
    started, processor = clock(), time.process_time()
    await asyncio.gather(*(one() for _ in range(questions)))
    return clock() - started, time.process_time() - processor


async def memory(ask: Ask, questions: int) -> float:
    """Return the kibibytes that one question in flight holds, at the most."""
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    await asyncio.gather(*(ask() for _ in range(questions)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return (peak - before) / questions / 1024


def main(questions: int, in_flight: int, delay: float) -> None:
    """Print both graphs, and the share of the ideal."""
    model = WaitingModel(delay=delay)
    waits = in_flight / (2 * delay)
    print(f"{in_flight} questions in flight, two model calls of {delay:g} s each in sequence")
    print(f"bound by the waits alone: {waits:.0f} questions/s")
    reached, processor = _measured(bare(model), questions, in_flight)
    print(f"bare LangGraph: {reached:.0f} questions/s, {1000 * processor:.1f} ms of processor each")
    reached, processor = _measured(corrective(model), questions, in_flight)
    share = reached / min(waits, 1 / processor)
    print(
        f"this graph:     {reached:.0f} questions/s, {1000 * processor:.1f} ms of processor each "
        f"(bound by it: {1 / processor:.0f}/s)\n"
        f"share of the ideal: {share:.2f}, bar {BAR:g}: {'ok' if share >= BAR else 'MISSED'}"
    )
    held = run_quietly(memory(corrective(model), in_flight))
    print(f"memory of one question in flight: {held:.0f} KiB")


def _measured(ask: Ask, questions: int, in_flight: int) -> tuple[float, float]:
    """Return questions a second, and processor seconds of a question."""
    seconds, processor = run_quietly(measure(ask, questions, in_flight))
    return questions / seconds, processor / questions


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--questions", type=int, default=1000)
    parser.add_argument("--in-flight", type=int, default=200)
    parser.add_argument("--delay", type=float, default=0.2)
    options = parser.parse_args()
    main(options.questions, options.in_flight, options.delay)
