"""Model calls and sequential round trips per branch, and the time to the first answer token.

    python -m benchmarks.llm_calls [--delay 0.2] [--rounds 20]

The graph runs against a server on loopback through the real OpenAI client; calls are counted there.
Every reply takes `--delay` seconds, and so does a web search. Two requests are in sequence when one
came after the other was answered; round trips are the longest chain of such requests.

The bars: fused at most 2 calls and 2 round trips on every branch, staged 3 / 3 / 4 calls with
ambiguous no longer in sequence than incorrect, and a first token no later than 20 ms after the
evaluator's round trip and the generator's own first token. The last is also measured on a clock
that other programs on the machine do not stretch (benchmarks/quiet_loop.py), and held to that.
"""

import argparse
import asyncio
import statistics
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from langchain_core.messages import HumanMessage

from benchmarks.llm_stage import (
    BRANCHES,
    QUESTION,
    Branch,
    WaitingModel,
    Web,
    chat,
    graph_with,
    passages_for,
    reply,
)
from benchmarks.quiet_loop import run_quietly
from crag_graph.graph import CRAGGraph
from crag_graph.settings import EvaluationMode, Settings
from tests.fakes.openai_server import OpenAIServer

INPUT: Any = {"question": QUESTION}
MODES: tuple[EvaluationMode, ...] = ("fused", "staged")
BARS = {
    ("fused", "correct"): (2, 2),
    ("fused", "incorrect"): (2, 2),
    ("fused", "ambiguous"): (2, 2),
    ("staged", "correct"): (3, 3),
    ("staged", "incorrect"): (3, 3),
    ("staged", "ambiguous"): (4, 3),
}
FIRST_TOKEN_BAR = 0.020


def chain(spans: list[tuple[float, float]]) -> int:
    """Return the length of the longest chain of spans of which each begins after the one before."""
    longest: list[tuple[float, int]] = []
    for begin, end in sorted(spans):
        before = [length for ended, length in longest if ended <= begin]
        longest.append((end, 1 + max(before, default=0)))
    return max((length for _, length in longest), default=0)


async def count(mode: EvaluationMode, branch: Branch, delay: float) -> tuple[int, int, int, str]:
    """Return calls, round trips, searches and the action of one question on `branch`."""
    web = Web(delay)
    with OpenAIServer(lambda request: reply(request, delay=delay)) as server:
        graph = graph_with(chat(server), passages_for(branch), web=web)
        settings = Settings(evaluation_mode=mode)
        state = await graph.ainvoke(INPUT, context=settings)
        # Half of the delay in place of all of it: clocks and scheduling may not join two spans.
        spans = [(request.at, request.at + 0.5 * delay) for request in server.requests]
        return len(server.requests), chain(spans), len(web.spans), str(state.get("action"))


async def over_the_wire(delay: float, rounds: int) -> list[float]:
    """Return, for each round, how much later the first token came than from the models alone.

    The models alone are the same two requests through the same client, one after the other, in the
    same round: the grading one and the streaming one up to its first token.
    """
    excess: list[float] = []
    with OpenAIServer(lambda request: reply(request, delay=delay)) as server:
        model = chat(server)
        graph = graph_with(model, passages_for("correct"))
        for number in range(rounds + 1):
            with_graph = await _until_first(_answer(graph))
            grading, answering = (request.body["messages"] for request in server.requests[-2:])
            started = time.perf_counter()
            await model.ainvoke(grading)
            alone = time.perf_counter() - started
            alone += await _until_first(model.astream(answering))
            if number:  # the first question pays for imports and connections
                excess.append(with_graph - alone)
    return excess


async def on_a_quiet_clock(delay: float, rounds: int) -> list[float]:
    """Return the same for a model in the process, on a clock that other programs do not stretch."""
    excess: list[float] = []
    model = WaitingModel(delay=delay)
    graph = graph_with(model, passages_for("correct"))
    clock = asyncio.get_running_loop().time
    prompt = [HumanMessage("<passage->")]
    for number in range(rounds + 1):
        with_graph = await _until_first(_answer(graph), clock)
        started = clock()
        await model.ainvoke(prompt)
        alone = clock() - started
        alone += await _until_first(model.astream(prompt), clock)
        if number:
            excess.append(with_graph - alone)
    return excess


async def _answer(graph: CRAGGraph) -> AsyncIterator[Any]:
    async for part, _ in graph.astream(INPUT, stream_mode="messages"):
        yield part


async def _until_first(
    parts: AsyncIterator[Any], clock: Callable[[], float] = time.perf_counter
) -> float:
    started = clock()
    seconds = 0.0
    async for part in parts:
        if part.content and not seconds:
            seconds = clock() - started
    return seconds


async def calls(delay: float) -> None:
    """Print the table of calls."""
    print("mode    branch      action      calls  round trips  searches  bar")
    for mode in MODES:
        for branch in BRANCHES:
            asked, trips, searches, action = await count(mode, branch, delay)
            most_calls, most_trips = BARS[mode, branch]
            verdict = "ok" if asked <= most_calls and trips <= most_trips else "MISSED"
            print(
                f"{mode:<7} {branch:<11} {action:<11} {asked:>5} {trips:>12} {searches:>9}  "
                f"{verdict}"
            )


def main(delay: float, rounds: int) -> None:
    """Print both."""
    asyncio.run(calls(delay))
    wire = asyncio.run(over_the_wire(delay, rounds))
    quiet = run_quietly(on_a_quiet_clock(delay, rounds))
    verdict = "ok" if statistics.median(quiet) <= FIRST_TOKEN_BAR else "MISSED"
    print("first answer token, milliseconds after the models' own time:")
    print(f"  over the wire, wall time: {_shown(wire)}")
    print(
        f"  on a processor of its own: {_shown(quiet)}, bar {1000 * FIRST_TOKEN_BAR:.0f}: {verdict}"
    )


def _shown(seconds: list[float]) -> str:
    middle, best = 1000 * statistics.median(seconds), 1000 * min(seconds)
    return f"median {middle:.1f}, best {best:.1f}, of {len(seconds)}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--delay", type=float, default=0.2)
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    main(options.delay, options.rounds)
