"""Ask the graph from Python: documents of your own in any LangChain vector store, no key needed.

python examples/ask_from_python.py ["a question"]
"""

import sys

from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore

from crag_graph import Services, Settings, build_graph
from crag_graph.models.local.embeddings import LocalEmbeddings

NOTES = [
    Document(
        "The inlet valve closes first. The drain valve closes ten seconds later, so that the line "
        "can empty.",
        metadata={"source": "valves.md", "title": "Shutdown order"},
    ),
    Document(
        "The pump house was built in 1931 and is open to visitors on Sundays.",
        metadata={"source": "history.md", "title": "History"},
    ),
]


def main(question: str) -> None:
    """Ask `question`, and show the answer, where it comes from, and why it was given."""
    store = InMemoryVectorStore.from_documents(NOTES, LocalEmbeddings())
    graph = build_graph(Services.from_env(retriever=store.as_retriever()))
    result = graph.invoke({"question": question}, context=Settings(top_k=4))
    print(result["answer"])
    for citation in result["citations"]:
        print(f"[{citation['number']}] {citation['title']} ({citation['source']})")
    decision = result["decision"]
    print(f"{result['action']}, {result['status']}: {decision['reason']}")


if __name__ == "__main__":
    main(" ".join(sys.argv[1:]) or "Which valve closes first?")
