"""The `crag` command. `main` is its entry point."""

from crag_graph.cli.entry import main

__all__ = ["main"]
