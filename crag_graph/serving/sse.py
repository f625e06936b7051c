"""A run as server-sent events, for the browser of a web application.

Events, in their order:

* `retrieved`, `graded`, `routed`, `searching`, `refined`, in a chat `understood` before them: what
  the nodes report, as they report it.
* `token`: `{"text": …}`, a piece of the answer as the model writes it; none without a model.
* `answer`: status, action, the checked answer, its citations, warnings. It replaces the tokens.
* `interrupt`: `{"interrupts": [{"id": …, "value": …}]}` in place of `answer`, where the run waits
  for a person.
* `error`: `{"type": …, "message": …}` in place of `answer`, where the run failed.

A comment is sent while nothing happens, so that proxies keep the connection.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any

from langchain_core.messages import AIMessageChunk
from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph

from crag_graph.errors import CRAGError
from crag_graph.models.reply import text_blocks
from crag_graph.settings import Settings

HEADERS: Mapping[str, str] = {
    "Content-Type": "text/event-stream",
    "Cache-Control": "no-cache",
    "X-Accel-Buffering": "no",
}
"""What the response should be sent with; the last keeps nginx from holding events back."""

_MODES: list[Any] = ["custom", "messages", "values"]
_ANSWER = ("question", "status", "action", "answer", "citations", "search_query", "warnings")
_KEEP_ALIVE = ": waiting\n\n"
_END = object()


async def server_sent_events(
    graph: CompiledStateGraph[Any, Any, Any, Any],
    given: Any,
    *,
    context: Settings | Mapping[str, Any] | None = None,
    config: RunnableConfig | None = None,
    keep_alive: float = 15.0,
) -> AsyncGenerator[str]:
    """Yield the events of one run, each a string that goes into the response as it is.

    When the client goes away and the iterator is closed, the run is cancelled. Errors of ours
    become an `error` event; others one that gives nothing away, and are raised after it.

    Args:
        graph: The graph, or a chat.
        given: Its input, or a `Command` that resumes an interrupted thread.
        context: The settings of the run.
        config: A thread id, callbacks and so on.
        keep_alive: Seconds of silence after which a comment is sent.
    """
    last: Mapping[str, Any] = {}
    steps = graph.astream(given, config, context=context, stream_mode=_MODES)
    try:
        async with aclosing(_with_pauses(steps, keep_alive)) as paused:
            async for step in paused:
                if step is None:
                    yield _KEEP_ALIVE
                    continue
                mode, data = step
                if mode == "values":
                    last = data
                elif mode == "custom":
                    named = dict(data)
                    yield _event(named.pop("event", "progress"), named)
                elif isinstance(data[0], AIMessageChunk) and (text := text_blocks(data[0].content)):
                    yield _event("token", {"text": text})
    except CRAGError as error:
        yield _event("error", {"type": type(error).__name__, "message": error.message})
        return
    except Exception:
        yield _event("error", {"type": "InternalError", "message": "the run failed"})
        raise
    if interrupts := last.get("__interrupt__"):
        asked = [{"id": interrupt.id, "value": interrupt.value} for interrupt in interrupts]
        yield _event("interrupt", {"interrupts": asked})
    else:
        yield _event("answer", {key: last.get(key) for key in _ANSWER if key in last})


def _event(name: str, data: Any) -> str:
    """Return one event; JSON has no line breaks, so no text can begin an event of its own."""
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False, default=str)}\n\n"


async def _with_pauses(steps: AsyncIterator[Any], seconds: float) -> AsyncGenerator[Any]:
    """Yield each step, and None after so many seconds without one. Closing it cancels `steps`.

    The steps are taken in one task of their own, since a run must not change tasks on its way.
    """
    queue: asyncio.Queue[Any] = asyncio.Queue()

    async def take() -> None:
        try:
            async for step in steps:
                queue.put_nowait(step)
        finally:
            queue.put_nowait(_END)

    taking = asyncio.create_task(take())
    try:
        while True:
            try:
                step = await asyncio.wait_for(queue.get(), seconds)
            except TimeoutError:
                yield None
                continue
            if step is _END:
                break
            yield step
        await taking
    finally:
        taking.cancel()
        await asyncio.wait({taking})
