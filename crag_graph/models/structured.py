"""Structured output from any chat model: a ladder of methods, lenient reading, one repair.

The ladder is json_schema → tool call → json_object → text. A method that the endpoint refuses is
left, and the one that it takes is remembered for the endpoint and model as long as the process
lives. Whatever the method, a reply is read from its tool call or from its text: through fences,
reasoning blocks and content blocks. Bounds are not sent; what is read is checked here.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import Runnable

from crag_graph.errors import BudgetExceededError, ModelError
from crag_graph.models.asking import Asker
from crag_graph.models.endpoint import Endpoint
from crag_graph.models.failures import EndpointError, cut_off
from crag_graph.models.forms import Form
from crag_graph.models.meter import Meter
from crag_graph.models.methods import METHODS, bound
from crag_graph.models.plan import Plan
from crag_graph.models.reply import (
    ending,
    json_values,
    refusal_text,
    text_blocks,
    tool_arguments,
    visible_text,
)

T = TypeVar("T")

_LONGEST_SHOWN = 2000
_LONGEST_QUOTED = 160


class Ladder:
    """Remembers which methods an endpoint refused. Shared by all evaluators of the process."""

    def __init__(self) -> None:
        self._lowest: dict[Endpoint, int] = {}

    def methods(self, endpoint: Endpoint) -> tuple[str, ...]:
        """Return the methods worth trying, the best first."""
        return METHODS[self._lowest.get(endpoint, 0) :]

    def remember(self, endpoint: Endpoint, method: str) -> None:
        """Begin with `method` from now on."""
        self._lowest[endpoint] = METHODS.index(method)

    def forget(self) -> None:
        """Begin anew with every endpoint."""
        self._lowest.clear()


LADDER = Ladder()


def structured(
    asker: Asker,
    messages: Sequence[BaseMessage],
    form: Form[T],
    *,
    meter: Meter,
    repair: bool = True,
    ladder: Ladder = LADDER,
) -> Plan[T]:
    """Return what the model filled the form with.

    Args:
        asker: The model.
        messages: The prompt; the form's own instruction is added to its last message.
        form: What is asked for.
        meter: Counts each call.
        repair: Whether it is asked once more, with the error, when the reply is not readable.
        ladder: What is known of endpoints.

    Raises:
        ModelError: There is no usable reply; `reason` says why.
        BudgetExceededError: The budget forbids the first call.
    """
    prompt = _extended(messages, form.instruction)
    refused: EndpointError | None = None
    model = yield from asker.model()
    for method in ladder.methods(asker.endpoint):
        runnable = bound(model, form, method, name=asker.endpoint.model)
        if runnable is None:
            continue
        try:
            reply = yield from asker.ask(prompt, meter=meter, runnable=runnable)
        except EndpointError as failure:
            if not failure.about_format:
                raise
            refused = refused or failure
            continue
        ladder.remember(asker.endpoint, method)
        if not repair:
            return _reading(reply, form, asker.endpoint)
        return (yield from _repaired(asker, prompt, reply, form, runnable, meter))
    raise refused or EndpointError(
        f"{asker.endpoint.label} takes no request for structured output", reason="request"
    )


def _repaired(
    asker: Asker,
    prompt: Sequence[BaseMessage],
    reply: AIMessage,
    form: Form[T],
    runnable: Runnable[Any, Any],
    meter: Meter,
) -> Plan[T]:
    try:
        return _reading(reply, form, asker.endpoint)
    except _UnreadableError as unreadable:
        failure = unreadable
    correction = f"That could not be used: {failure.complaint}. Do not explain. {form.instruction}"
    try:
        second = yield from asker.ask(
            _answered(prompt, reply, correction), meter=meter, runnable=runnable
        )
    except BudgetExceededError:
        raise failure from None
    meter.note(f"{asker.endpoint.label} was asked once more for a reply in the right form")
    return _reading(second, form, asker.endpoint)


class _UnreadableError(ModelError):
    """The reply is not the form. `complaint` is what the model is told."""

    def __init__(self, message: str, complaint: str) -> None:
        super().__init__(message, reason="parse")
        self.complaint = complaint


def _reading(reply: AIMessage, form: Form[T], endpoint: Endpoint) -> T:
    end = ending(reply)
    if end == "refusal":
        said = refusal_text(reply)[:_LONGEST_QUOTED]
        raise ModelError(f"{endpoint.label} refused: {said}", reason="refusal")
    complaint = ""
    for value in _candidates(reply):
        try:
            return form.read(value)
        except ValueError as error:
            complaint = str(error)
    text = visible_text(reply)
    if not complaint:  # prose is read as such only where it holds no JSON
        try:
            return form.read_text(text)
        except ValueError as error:
            complaint = str(error)
    if end == "length":
        raise EndpointError(cut_off(endpoint), reason="length", started=bool(text))
    if end == "filter":
        raise ModelError(f"{endpoint.label} stopped at its content filter", reason="filter")
    shown = " ".join(text.split())[:_LONGEST_QUOTED] or "nothing"
    raise _UnreadableError(
        f"{endpoint.label} gave no answer in the form asked for ({complaint}); it said: {shown}",
        complaint,
    )


def _candidates(reply: AIMessage) -> Iterator[Any]:
    yield from tool_arguments(reply)
    yield from json_values(visible_text(reply))


def _extended(messages: Sequence[BaseMessage], text: str) -> list[BaseMessage]:
    *head, last = messages
    return [*head, HumanMessage(f"{text_blocks(last.content)}\n\n{text}")]


def _answered(
    prompt: Sequence[BaseMessage], reply: AIMessage, correction: str
) -> list[BaseMessage]:
    """Return the prompt with the bad reply and the correction; an empty reply is left out."""
    arguments = "".join(json.dumps(call["args"]) for call in reply.tool_calls)
    said = (visible_text(reply) or arguments)[:_LONGEST_SHOWN]
    if not said:
        return _extended(prompt, correction)
    return [*prompt, AIMessage(said), HumanMessage(correction)]
