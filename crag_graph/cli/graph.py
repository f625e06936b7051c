"""`crag graph`: the graph as Mermaid."""

import sys


def graph() -> None:
    """Print the graph as a Mermaid diagram. Needs no key, no index and no network."""
    from crag_graph.graph import graph as compiled

    sys.stdout.write(compiled.get_graph().draw_mermaid())
