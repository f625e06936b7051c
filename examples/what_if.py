"""Time travel: what another threshold would have done, without retrieving or grading again.

python examples/what_if.py
"""

from typing import Any

from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore
from langgraph.checkpoint.memory import InMemorySaver

from crag_graph import Services, Settings, build_graph
from crag_graph.models.local.embeddings import LocalEmbeddings

NOTES = [
    Document("The inlet valve closes first.", metadata={"source": "valves.md"}),
    Document("The pump house was built in 1931.", metadata={"source": "history.md"}),
]


def main() -> None:
    """Run once, then route the same grades by other thresholds."""
    store = InMemoryVectorStore.from_documents(NOTES, LocalEmbeddings())
    services = Services.from_env(retriever=store.as_retriever())
    graph = build_graph(services, checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "one"}}
    graph.invoke({"question": "Which valve closes first?"}, thread)
    graded = next(state for state in graph.get_state_history(thread) if state.next == ("route",))
    best = max(grade["score"] or 0.0 for grade in graded.values["grades"])
    for upper in (0.0, best, 1.0):
        run = graph.invoke(None, graded.config, context=Settings(upper=upper, lower=0.0))
        print(f"upper {upper:.2f}: {run['action']}: {run['decision']['reason']}")


if __name__ == "__main__":
    main()
