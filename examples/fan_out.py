"""A parent that asks three sub-questions at once and puts the answers together.

    python examples/fan_out.py

It has keys of its own under names that the graph uses too (`documents`, `messages`), its own
context, and its own checkpointer; nothing of it is mixed up.
"""

import asyncio
import dataclasses
import operator
from typing import Annotated, Any

from langchain_core.documents import Document
from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.vectorstores import InMemoryVectorStore
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.runtime import Runtime
from langgraph.types import Send
from typing_extensions import TypedDict

from crag_graph import Services, Settings, build_graph
from crag_graph.models.local.embeddings import LocalEmbeddings

NOTES = [
    Document("The dam was built in 1931.", metadata={"source": "dam.md", "title": "The dam"}),
    Document("The dam was paid for by the city.", metadata={"source": "money.md"}),
    Document("The dam is open to visitors on Sundays.", metadata={"source": "visits.md"}),
]


class State(TypedDict, total=False):
    """The parent's state. Its `documents` are titles, and nothing of the graph's."""

    messages: Annotated[list[AnyMessage], add_messages]
    documents: list[str]
    parts: list[str]
    findings: Annotated[list[tuple[str, str]], operator.add]


@dataclasses.dataclass
class Context:
    """The parent's context."""

    language: str = "en"
    crag: Settings = dataclasses.field(default_factory=lambda: Settings(top_k=2))


class Part(TypedDict):
    """What one branch is given."""

    part: str


def build() -> Any:
    """Return the parent: split → ask (once for each part, at the same time) → join."""
    store = InMemoryVectorStore.from_documents(NOTES, LocalEmbeddings())
    graph = build_graph(Services.from_env(retriever=store.as_retriever()))

    def split(state: State) -> State:
        asked = str(state["messages"][-1].content)
        return {"parts": [f"{part.strip()}?" for part in asked.split("?") if part.strip()]}

    def each(state: State) -> list[Send]:
        return [Send("ask", {"part": part}) for part in state["parts"]]

    async def ask(state: Part, runtime: Runtime[Context]) -> State:
        run = await graph.ainvoke({"question": state["part"]}, context=runtime.context.crag)
        return {"findings": [(state["part"], run["answer"])]}

    def join(state: State) -> State:
        answers = [f"{part}\n{answer}" for part, answer in state["findings"]]
        return {"messages": [AIMessage("\n\n".join(answers))], "documents": [*state["parts"]]}

    parent = StateGraph(State, context_schema=Context)
    parent.add_node("split", split)
    parent.add_node("ask", ask)
    parent.add_node("join", join)
    parent.add_edge(START, "split")
    parent.add_conditional_edges("split", each, ["ask"])
    parent.add_edge("ask", "join")
    parent.add_edge("join", END)
    return parent.compile(checkpointer=InMemorySaver())


async def main() -> None:
    """Ask one question of three parts."""
    asked = "When was the dam built? Who paid for the dam? When is the dam open to visitors?"
    result = await build().ainvoke(
        {"messages": [{"role": "user", "content": asked}]},
        {"configurable": {"thread_id": "one"}},
        context=Context(),
    )
    print(result["messages"][-1].content)


if __name__ == "__main__":
    asyncio.run(main())
