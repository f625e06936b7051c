"""The graph as a tool of an agent: the answer for the model, the whole run as the artifact.

    python examples/as_tool.py ["a question"]

The agent's model is scripted here, so that no key is needed. With one, pass "openai:gpt-4o-mini".
"""

import sys
from typing import Any

from langchain.agents import create_agent
from langchain_core.documents import Document
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.vectorstores import InMemoryVectorStore

from crag_graph import Services, Settings
from crag_graph.agents.tool import crag_tool
from crag_graph.models.local.embeddings import LocalEmbeddings

NOTES = [
    Document(
        "Staff may carry five days of leave into the next year. They lapse at the end of March.",
        metadata={"source": "leave.md", "title": "Annual leave"},
    ),
]


class Scripted(GenericFakeChatModel):
    """Calls the tool once, then says that it is done."""

    def bind_tools(self, *_: Any, **__: Any) -> Any:
        """Return itself: the script knows the tool."""
        return self


def build(question: str) -> Any:
    """Return an agent with the tool, and a model that asks it `question`."""
    store = InMemoryVectorStore.from_documents(NOTES, LocalEmbeddings())
    tool = crag_tool(
        Services.from_env(retriever=store.as_retriever()),
        name="ask_handbook",
        description="Answers questions about the staff handbook, with sources.",
        settings=Settings(top_k=3),
    )
    call = {"name": "ask_handbook", "args": {"question": question}, "id": "1", "type": "tool_call"}
    script = [AIMessage("", tool_calls=[call]), AIMessage("That is what the handbook says.")]
    return create_agent(Scripted(messages=iter(script)), [tool])


if __name__ == "__main__":
    asked = " ".join(sys.argv[1:]) or "How many days of leave can be carried into the next year?"
    state = build(asked).invoke({"messages": [{"role": "user", "content": asked}]})
    (found,) = [message for message in state["messages"] if isinstance(message, ToolMessage)]
    print(found.content)
    print(state["messages"][-1].content)
    print("action:", found.artifact["action"])
