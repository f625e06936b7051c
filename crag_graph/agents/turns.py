"""understand: what the last message of a conversation asks for."""

import dataclasses
import uuid
from collections.abc import Sequence
from typing import Any, cast

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage
from pydantic import ConfigDict, Field

from crag_graph.agents.conversation import (
    Reply,
    Turn,
    about_the_conversation,
    needs_the_whole,
    small_talk,
)
from crag_graph.agents.sources import without_sources
from crag_graph.agents.standalone import Rewriter, Standalone
from crag_graph.errors import InputError
from crag_graph.lazy import Lazy
from crag_graph.models.reply import text_blocks
from crag_graph.nodes.base import Node, Update, budget_of, emit
from crag_graph.nodes.retrieve import cleared
from crag_graph.services import Services
from crag_graph.settings import Settings
from crag_graph.state import CRAGState
from crag_graph.text.clean import clean_question

_ROLES = {"human": "user", "ai": "assistant"}
_BARE = (
    "I cannot tell what this refers to: nothing was asked before it. Please ask the whole question."
)


class ChatSettings(Settings):
    """The knobs of one turn: those of the graph, and two for the conversation."""

    model_config = ConfigDict(title="CRAG chat settings")

    history_messages: int = Field(
        default=12,
        title="Earlier messages",
        description="How many earlier messages a follow-up is understood by.",
        ge=0,
        le=100,
        json_schema_extra={"langgraph_nodes": ["understand"]},
    )
    prompt_standalone: str = Field(
        default="",
        title="Prompt: follow-ups",
        description="In place of prompts/standalone.md, which tells its variables; empty: that "
        "file.",
        max_length=50_000,
        json_schema_extra={"langgraph_nodes": ["understand"], "langgraph_type": "prompt"},
    )


@dataclasses.dataclass(frozen=True)
class _Turn:
    """The message at hand, and what was said before it."""

    message: str
    history: list[Turn]

    @property
    def reply(self) -> Reply | None:
        """What it is answered with where nothing is to be looked up."""
        reply = small_talk(self.message) or about_the_conversation(self.message, self.history)
        if reply is None and not self.history and needs_the_whole(self.message):
            return Reply(_BARE)
        return reply


class UnderstandNode(Node):
    """Reads the last message: answers small talk, makes everything else a question of its own.

    Begins a new run on the state. Where nothing is to be looked up, what an earlier turn left is
    cleared, so that no source is shown that was not used.
    """

    key = "understand"

    def __init__(self, services: Services, rewriter: Lazy[Rewriter]) -> None:
        super().__init__(services)
        self._rewriter = rewriter

    def run(self, state: CRAGState, settings: Settings) -> Update:
        """Return the question, or the reply."""
        turn = _turn(state, settings)
        if (reply := turn.reply) is not None:
            return self._replied(state, turn, reply)
        made = self._rewriter.get().rewrite(
            turn.message,
            turn.history,
            budget=budget_of({}, settings),
            prompt=_chat(settings).prompt_standalone,
        )
        return self._asked(turn, made)

    async def arun(self, state: CRAGState, settings: Settings) -> Update:
        """Return the question, or the reply."""
        turn = _turn(state, settings)
        if (reply := turn.reply) is not None:
            return self._replied(state, turn, reply)
        rewriter = await self._rewriter.aget()
        made = await rewriter.arewrite(
            turn.message,
            turn.history,
            budget=budget_of({}, settings),
            prompt=_chat(settings).prompt_standalone,
        )
        return self._asked(turn, made)

    def _replied(self, state: CRAGState, turn: _Turn, reply: Reply) -> Update:
        update = self._report("replied", "the message asks for nothing that could be looked up")
        message = AIMessage(reply.text, id=uuid.uuid4().hex)
        return (
            update
            | cleared(state)
            | {
                "documents": [],
                "question": turn.message,
                "answer": reply.text,
                "messages": [message],
                "history": None,
                "filter": None,
            }
        )

    def _asked(self, turn: _Turn, made: Standalone) -> Update:
        emit("understood", question=made.question)
        changed = made.question != turn.message
        why = f"the follow-up became “{made.question}”" if changed else "it stands by itself"
        update = self._report(made.by, why, made)
        return update | {"question": made.question, "history": turn.history}

    def _report(self, decided: str, why: str, made: Standalone | None = None) -> Update:
        fresh: CRAGState = {"usage": {"run_id": uuid.uuid4().hex}}
        return self.report(
            fresh,
            decided=decided,
            why=why,
            usage=made.usage if made else None,
            fallbacks=made.notes if made else (),
        )


def _turn(state: CRAGState, settings: Settings) -> _Turn:
    messages: Sequence[AnyMessage] = cast(Any, state).get("messages") or []
    if not messages or messages[-1].type != "human":
        raise InputError("the last message must be the user's: send one with the role user")
    most = _chat(settings).history_messages
    earlier = [turn for message in messages[:-1] if (turn := _said(message))]
    return _Turn(clean_question(messages[-1].content), earlier[-most:] if most else [])


def _said(message: BaseMessage) -> Turn | None:
    """Return a message as a turn of the history; None for tools, systems and empty messages."""
    role = _ROLES.get(message.type)
    text = without_sources(text_blocks(message.content)).strip()
    return {"role": role, "content": text} if role and text else None


def _chat(settings: Settings) -> ChatSettings:
    """Return the knobs of the conversation; a run without a context has plain settings."""
    return settings if isinstance(settings, ChatSettings) else _DEFAULTS


_DEFAULTS = ChatSettings()
