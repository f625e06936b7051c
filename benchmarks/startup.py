"""Startup: what `import crag_graph` adds to importing langgraph, and how long `crag --help` takes.

    python -m benchmarks.startup

Each figure is the median of several fresh processes, in seconds of wall time and of processor time.
On a busy machine only the second tells something. Exits with 1 when one in wall time is not below
its bound.
"""

import argparse
import dataclasses
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence

IMPORT_BOUND = 0.3  # seconds beyond importing langgraph
HELP_BOUND = 1.5  # seconds

_LANGGRAPH = "import langgraph.graph, langgraph.runtime"
# The names are loaded when they are first used, so they are used.
_OURS = f"{_LANGGRAPH}; import crag_graph; crag_graph.build_graph; crag_graph.Settings"
_HELP = "from crag_graph.cli import main; import sys; sys.argv = ['crag', '--help']; main()"


@dataclasses.dataclass(frozen=True)
class Seconds:
    """How long something took."""

    wall: float
    processor: float

    def __sub__(self, other: "Seconds") -> "Seconds":
        return Seconds(self.wall - other.wall, self.processor - other.processor)


def seconds(code: str) -> Seconds:
    """Return what a fresh interpreter takes to run `code`."""
    before, started = os.times(), time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    processor = (after.children_user + after.children_system) - (
        before.children_user + before.children_system
    )
    return Seconds(time.perf_counter() - started, processor)


def median(figures: Sequence[Seconds]) -> Seconds:
    """Return the medians of both times."""
    return Seconds(
        statistics.median(figure.wall for figure in figures),
        statistics.median(figure.processor for figure in figures),
    )


def main() -> int:
    """Print the figures beside their bounds; return 0 when all of them hold."""
    parser = argparse.ArgumentParser(description="What importing and `crag --help` take.")
    parser.add_argument("--runs", type=int, default=7, help="processes for each figure")
    runs = parser.parse_args().runs
    for code in (_OURS, _HELP):  # byte code is written and files are cached
        seconds(code)
    # Alternating, so that a busy machine slows both alike.
    pairs = [(seconds(_LANGGRAPH), seconds(_OURS)) for _ in range(runs)]
    langgraph = median([base for base, _ in pairs])
    added = median([ours - base for base, ours in pairs])
    shown = median([seconds(_HELP) for _ in range(runs)])
    print(f"{'':24}{'wall':>8}{'processor':>11}")
    for name, figure, bound in (
        ("import langgraph", langgraph, None),
        ("import crag_graph adds", added, IMPORT_BOUND),
        ("crag --help", shown, HELP_BOUND),
    ):
        limit = "" if bound is None else f"   below {bound} s"
        print(f"{name:24}{figure.wall:8.3f}{figure.processor:11.3f}{limit}")
    return int(added.wall >= IMPORT_BOUND or shown.wall >= HELP_BOUND)


if __name__ == "__main__":
    sys.exit(main())
