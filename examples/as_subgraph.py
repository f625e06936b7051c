"""The graph as a node of a parent graph, with its settings in the parent's own context.

python examples/as_subgraph.py ["a question"]
"""

import dataclasses
import sys

from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from typing_extensions import TypedDict

from crag_graph import Services, Settings, build_graph
from crag_graph.models.local.embeddings import LocalEmbeddings

NOTES = [
    Document(
        "The ferry to the island leaves at 9:15 and at 14:40. It does not run in storms.",
        metadata={"source": "ferry.md", "title": "Timetable"},
    ),
]


class State(TypedDict, total=False):
    """What the parent keeps: of the graph's output only the keys that are named here."""

    question: str
    answer: str
    status: str
    reply: str


@dataclasses.dataclass
class Context:
    """The parent's context; `crag` holds the settings of the graph inside."""

    signature: str = "the harbour office"
    crag: Settings = dataclasses.field(default_factory=lambda: Settings(top_k=3))


def sign(state: State) -> State:
    """Return the reply that goes out."""
    apology = "" if state["status"] == "answered" else "Sorry. "
    return {"reply": f"{apology}{state['answer']}"}


def build() -> CompiledStateGraph[State, Context, State, State]:
    """Return the parent: the graph first, then a node of its own."""
    store = InMemoryVectorStore.from_documents(NOTES, LocalEmbeddings())
    parent = StateGraph(State, context_schema=Context)
    parent.add_node("crag", build_graph(Services.from_env(retriever=store.as_retriever())))
    parent.add_node("sign", sign)
    parent.add_edge(START, "crag")
    parent.add_edge("crag", "sign")
    parent.add_edge("sign", END)
    return parent.compile()


if __name__ == "__main__":
    asked = " ".join(sys.argv[1:]) or "When does the ferry to the island leave?"
    print(build().invoke({"question": asked}, context=Context())["reply"])
