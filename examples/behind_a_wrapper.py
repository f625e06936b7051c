"""The graph inside a parent whose keys are called differently: one function translates.

python examples/behind_a_wrapper.py ["a question"]
"""

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
        "Bread rises best at 26 degrees. In the cold cellar it takes until the next morning.",
        metadata={"source": "bread.md", "title": "Bread"},
    ),
]


class State(TypedDict, total=False):
    """The parent's own keys; none of them is one of the graph's."""

    query: str
    reply: str
    evidence: list[str]


def build() -> CompiledStateGraph[State, None, State, State]:
    """Return the parent with the wrapped graph as its only node."""
    store = InMemoryVectorStore.from_documents(NOTES, LocalEmbeddings())
    graph = build_graph(Services.from_env(retriever=store.as_retriever()))

    def look_up(state: State) -> State:
        run = graph.invoke({"question": state["query"]}, context=Settings(top_k=2))
        return {"reply": run["answer"], "evidence": [item["quote"] for item in run["citations"]]}

    parent = StateGraph(State)
    parent.add_node("look_up", look_up)
    parent.add_edge(START, "look_up")
    parent.add_edge("look_up", END)
    return parent.compile()


if __name__ == "__main__":
    asked = " ".join(sys.argv[1:]) or "At how many degrees does bread rise best?"
    result = build().invoke({"query": asked})
    print(result["reply"])
    print("evidence:", result["evidence"])
