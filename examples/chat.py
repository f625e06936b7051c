"""A conversation: follow-ups are understood, thanks cost nothing, each answer has its sources.

python examples/chat.py ["a message" …]
"""

import sys
from typing import Any

from langchain_core.documents import Document
from langchain_core.messages import HumanMessage
from langchain_core.vectorstores import InMemoryVectorStore
from langgraph.checkpoint.memory import InMemorySaver

from crag_graph import Services
from crag_graph.agents.chat import build_chat_graph
from crag_graph.models.local.embeddings import LocalEmbeddings

NOTES = [
    Document("The ferry to Lund costs 10 euros.", metadata={"source": "prices.md"}),
    Document("With a bike the ferry to Lund costs 12 euros.", metadata={"source": "bikes.md"}),
]


def main(messages: list[str]) -> None:
    """Say `messages` one after the other on one thread, and show what comes back."""
    store = InMemoryVectorStore.from_documents(NOTES, LocalEmbeddings())
    services = Services.from_env(retriever=store.as_retriever())
    chat = build_chat_graph(services, checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "one"}}
    for message in messages:
        turn = chat.invoke({"messages": [HumanMessage(message)]}, thread)
        print(f"> {message}\n{turn['messages'][-1].content}\n(asked: {turn['question']})\n")


if __name__ == "__main__":
    main(sys.argv[1:] or ["What does the ferry to Lund cost?", "And with a bike?", "Thanks!"])
