"""The graph as a tool for an agent: the answer for the model, the whole run as the artifact.

python examples/as_tool.py ["a question"]
"""

import sys
from typing import Any

from langchain_core.documents import Document
from langchain_core.tools import BaseTool, tool
from langchain_core.vectorstores import InMemoryVectorStore

from crag_graph import Services, build_graph
from crag_graph.models.local.embeddings import LocalEmbeddings

NOTES = [
    Document(
        "Staff may carry five days of leave into the next year. They lapse at the end of March.",
        metadata={"source": "leave.md", "title": "Annual leave"},
    ),
]


def handbook_tool() -> BaseTool:
    """Return a tool that answers from the notes, and says so when they do not hold the answer."""
    store = InMemoryVectorStore.from_documents(NOTES, LocalEmbeddings())
    graph = build_graph(Services.from_env(retriever=store.as_retriever()))

    @tool(response_format="content_and_artifact")
    def ask_handbook(question: str) -> tuple[str, dict[str, Any]]:
        """Answer a question about the staff handbook, with the sources of each statement."""
        run: dict[str, Any] = graph.invoke({"question": question})
        sources = [f"[{item['number']}] {item['source']}" for item in run["citations"]]
        return "\n".join([run["answer"], *sources]), run

    return ask_handbook


if __name__ == "__main__":
    asked = " ".join(sys.argv[1:]) or "How many days of leave can be carried into the next year?"
    call = {"name": "ask_handbook", "args": {"question": asked}, "id": "1", "type": "tool_call"}
    message = handbook_tool().invoke(call)
    print(message.content)
    print("action:", message.artifact["action"])
