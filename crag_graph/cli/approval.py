"""Asking the person at the terminal before a search is sent."""

import sys
from collections.abc import Mapping
from typing import Any

from crag_graph.cli.streams import say
from crag_graph.errors import InputError


def require_terminal() -> None:
    """Refuse a run that would have to ask where nobody can answer.

    Raises:
        InputError: stdin is no terminal.
    """
    if not sys.stdin.isatty():
        raise InputError(
            "approve_searches asks before it searches, which needs a terminal: leave it off here"
        )


def ask_for_approval(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the run is resumed with: approve, refuse, or other queries.

    Args:
        asked: What the run was interrupted with: `queries`, `provider`.
    """
    say(f"Search the web ({asked.get('provider', '')}) for:")
    for query in asked.get("queries", ()):
        say(f"  {query}")
    say("Enter to search, n to go on without, or type another query:")
    answer = sys.stdin.readline()
    word = answer.strip()
    if not answer or word.lower() in ("n", "no"):  # the end of input is no consent
        return {"action": "refuse"}
    if word.lower() in ("", "y", "yes"):
        return {"action": "approve"}
    return {"action": "edit", "queries": [word]}
