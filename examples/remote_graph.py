"""The graph on a server, used like a local one.

langgraph dev --no-browser          # in another terminal
python examples/remote_graph.py http://127.0.0.1:2024 ["a question"]
"""

import sys
from typing import Any

from langgraph.pregel.remote import RemoteGraph
from langgraph_sdk import get_sync_client


def main(url: str, question: str) -> None:
    """Ask the server at `url`, and show the answer and where it comes from."""
    given: Any = {"question": question}
    with get_sync_client(url=url) as client:
        result = RemoteGraph("crag", sync_client=client).invoke(given)
    print(result["answer"])
    for citation in result["citations"]:
        print(f"[{citation['number']}] {citation['source']}")
    print(f"{result['action']}, {result['status']}")


if __name__ == "__main__":
    address = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:2024"
    main(address, " ".join(sys.argv[2:]) or "What is a knowledge strip?")
