"""A parent for the server: the graph is one of its nodes, under a context of its own."""

import dataclasses
from typing import Annotated, Any

from langchain_core.messages import AIMessage, AnyMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict

from crag_graph.graph import build_graph
from crag_graph.services import shared_services


class State(TypedDict, total=False):
    """The parent's state."""

    question: str
    answer: str
    messages: Annotated[list[AnyMessage], add_messages]


@dataclasses.dataclass
class Context:
    """The parent's context."""

    user: str = "somebody"
    crag: dict[str, Any] = dataclasses.field(default_factory=dict)


def _reply(state: State) -> State:
    return {"messages": [AIMessage(f"They say: {state['answer']}")]}


_parent = StateGraph(State, context_schema=Context)
_parent.add_node("crag", build_graph(shared_services()))
_parent.add_node("reply", _reply)
_parent.add_edge(START, "crag")
_parent.add_edge("crag", "reply")
_parent.add_edge("reply", END)
graph = _parent.compile(name="parent")
