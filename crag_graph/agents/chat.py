"""The graph as a chat: messages in, one message out, follow-ups understood.

`understand` comes before the six nodes of the graph. Small talk and questions about the
conversation itself are answered there, at no cost and without sources; a follow-up becomes a
question of its own, which goes through the graph like any other. The answer is a message with its
sources in text, and as data under `additional_kwargs["artifact"]`.
"""

import uuid
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from langchain_core.messages import AIMessage, AnyMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.base import BaseStore
from langgraph.types import Checkpointer
from typing_extensions import NotRequired, TypedDict

from crag_graph.agents.sources import with_sources
from crag_graph.agents.standalone import Rewriter, RuleRewriter, load_rewriter
from crag_graph.agents.turns import ChatSettings, UnderstandNode
from crag_graph.generation.base import Evidence, Generation
from crag_graph.graph import add_steps
from crag_graph.lazy import Lazy
from crag_graph.nodes.base import Update, run_id_of
from crag_graph.nodes.generate import GenerateNode
from crag_graph.nodes.retrieve import RetrieveNode
from crag_graph.services import Services, shared_services
from crag_graph.state import Action, Citation, CRAGState, Decision, Status, Strip, Usage

Messages = Annotated[list[AnyMessage], add_messages]


class ChatInput(TypedDict):
    """What a turn is given: the new message, or the whole conversation, and a retrieval filter."""

    messages: Messages
    filter: NotRequired[dict[str, Any] | None]


class ChatOutput(TypedDict, total=False):
    """What a turn leaves. `status` and `action` are None where nothing was looked up.

    `answer` is the last message without its list of sources.
    """

    messages: Messages
    question: str
    status: Status | None
    action: Action | None
    answer: str
    citations: list[Citation]
    decision: Decision
    usage: Usage
    warnings: list[str]


class ChatState(CRAGState, total=False):
    """What the nodes share: the state of the graph, and the conversation."""

    messages: Messages


ChatGraph = CompiledStateGraph[ChatState, ChatSettings, ChatInput, ChatOutput]


def build_chat_graph(
    services: Services | None = None,
    *,
    rewriter: Rewriter | Lazy[Rewriter] | None = None,
    checkpointer: Checkpointer = None,
    store: BaseStore | None = None,
    name: str = "crag_chat",
) -> ChatGraph:
    """Return the compiled chat: understand → the six nodes of the graph, or straight to the end.

    Args:
        services: The collaborators; by default those that the environment names.
        rewriter: Makes follow-ups into questions; by default the chat model that the environment
            of `services` names, and a rule where it names none.
        checkpointer: Keeps conversations; without one the client sends all messages each time.
        store: A LangGraph store, handed through.
        name: What the graph is called in traces and as a subgraph.
    """
    services = services or Services.from_env()
    builder: StateGraph[ChatState, ChatSettings, ChatInput, ChatOutput] = StateGraph(
        ChatState, context_schema=ChatSettings, input_schema=ChatInput, output_schema=ChatOutput
    )
    understand: Any = UnderstandNode(services, _rewriter(services, rewriter))
    builder.add_node("understand", understand)
    add_steps(builder, retrieve=_RetrieveTurn(services), generate=_GenerateMessage(services))
    builder.add_edge(START, "understand")
    builder.add_conditional_edges("understand", _next, ["retrieve", END])
    return builder.compile(checkpointer=checkpointer, store=store, name=name)


def _rewriter(services: Services, given: Rewriter | Lazy[Rewriter] | None) -> Lazy[Rewriter]:
    if isinstance(given, Lazy):
        return given
    if given is not None:
        return Lazy[Rewriter].of(given)
    environment = services.environment
    if environment is None:
        return Lazy[Rewriter].of(RuleRewriter())
    return Lazy(lambda: load_rewriter(environment.get()))


def _next(state: ChatState) -> Literal["retrieve", "__end__"]:
    messages = state.get("messages") or []
    return "__end__" if messages and isinstance(messages[-1], AIMessage) else "retrieve"


class _RetrieveTurn(RetrieveNode):
    """Goes on with the run that `understand` began, so that its share of the usage counts."""

    def run_id(self, state: CRAGState) -> str:
        return run_id_of(state)


class _GenerateMessage(GenerateNode):
    """Answers with a message as well, under the id that its tokens were streamed with."""

    def _answered(
        self,
        state: CRAGState,
        strips: list[Strip],
        evidence: Sequence[Evidence],
        generation: Generation,
        generator: str,
        fallbacks: Sequence[str] = (),
    ) -> Update:
        update = super()._answered(state, strips, evidence, generation, generator, fallbacks)
        return _with_message(state, update, generation.message_id)

    def _refused(self, state: CRAGState, strips: list[Strip]) -> Update:
        return _with_message(state, super()._refused(state, strips), "")


def _with_message(state: CRAGState, update: Update, message_id: str) -> Update:
    citations: list[Citation] = update["citations"]
    artifact = {
        "question": state.get("question", ""),
        "status": update["status"],
        "action": state.get("action"),
        "sources": citations,
        "warnings": update["warnings"],
    }
    message = AIMessage(
        with_sources(update["answer"], citations),
        id=message_id or uuid.uuid4().hex,
        additional_kwargs={"artifact": artifact},
    )
    return update | {"messages": [message]}


graph = build_chat_graph(shared_services())
