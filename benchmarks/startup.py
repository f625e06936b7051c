"""Startup: what `import crag_graph` adds to importing langgraph, and how long `crag --help` takes.

    python -m benchmarks.startup

Each figure is the median of several fresh processes. Exits with 1 when a bound is passed.
"""

import argparse
import statistics
import subprocess
import sys
import time

IMPORT_BOUND = 0.3  # seconds beyond importing langgraph
HELP_BOUND = 1.5  # seconds

_LANGGRAPH = "import langgraph.graph, langgraph.runtime"
_OURS = f"{_LANGGRAPH}; import crag_graph; crag_graph.build_graph; crag_graph.Settings"
_HELP = "from crag_graph.cli import main; import sys; sys.argv = ['crag', '--help']; main()"


def seconds(code: str) -> float:
    """Return the wall time of a fresh interpreter that runs `code`."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def main() -> int:
    """Print the figures beside their bounds; return 0 when all of them hold."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=7, help="processes for each figure")
    runs = parser.parse_args().runs
    seconds(_OURS), seconds(_HELP)  # byte code is written and files are cached
    # Alternating, so that a busy machine slows both alike.
    pairs = [(seconds(_LANGGRAPH), seconds(_OURS)) for _ in range(runs)]
    langgraph = statistics.median(base for base, _ in pairs)
    added = statistics.median(ours - base for base, ours in pairs)
    shown = statistics.median(seconds(_HELP) for _ in range(runs))
    print(f"import langgraph                 {langgraph:6.3f} s")
    print(f"import crag_graph adds           {added:6.3f} s   bound {IMPORT_BOUND} s")
    print(f"crag --help                      {shown:6.3f} s   bound {HELP_BOUND} s")
    return int(added >= IMPORT_BOUND or shown >= HELP_BOUND)


if __name__ == "__main__":
    sys.exit(main())
