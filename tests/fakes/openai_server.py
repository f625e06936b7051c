"""A loopback server that speaks OpenAI's chat completions, scripted by each test.

The real client runs against it. A script is a sequence of replies, one a request, or a callable
from the request to a reply. Requests are recorded as they arrived.
"""

import asyncio
import dataclasses
import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

_REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 429: "Too Many Requests"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Reply:
    """What the server answers.

    Attributes:
        content: The message's content: text, a list of blocks, or None.
        tool_arguments: Arguments of a call to the first tool offered, verbatim; None = no call.
        refusal: The refusal field of the message.
        reasoning: The `reasoning_content` field that some servers add.
        finish_reason: As the protocol names it.
        usage: Tokens in and out; None leaves the field out.
        status: HTTP status; from 400 up `body` is sent as it is.
        body: The whole body in place of a completion: bytes, text, or JSON.
        headers: Further headers.
        delay: Seconds before the first byte.
        piece_delay: Seconds between two events of a stream.
        pieces: How many events the content is streamed in.
        cut: Close the connection after so many bytes of the body.
        drop: Close the connection without any answer.
    """

    content: Any = ""
    tool_arguments: str | None = None
    refusal: str | None = None
    reasoning: str | None = None
    finish_reason: str | None = None
    usage: tuple[int, int] | None = (11, 7)
    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    delay: float = 0.0
    piece_delay: float = 0.0
    pieces: int = 3
    cut: int | None = None
    drop: bool = False


def error(
    status: int,
    message: str,
    *,
    code: str | None = None,
    param: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Reply:
    """Return an error reply in OpenAI's form."""
    detail = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return Reply(status=status, body={"error": detail}, headers=headers or {})


def as_json(value: Any, **fields: Any) -> Reply:
    """Return a reply whose content is `value` as JSON."""
    return Reply(content=json.dumps(value), **fields)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request:
    """One recorded request: when it came (monotonic seconds), its headers and its JSON body."""

    path: str
    at: float
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def prompt(self) -> str:
        """All messages' texts, joined by newlines."""
        return "\n".join(_text(message.get("content")) for message in self.body["messages"])

    @property
    def last(self) -> str:
        """The text of the last message."""
        return _text(self.body["messages"][-1].get("content"))

    @property
    def system(self) -> str:
        """The texts of the system messages, joined by newlines."""
        return "\n".join(
            _text(message.get("content"))
            for message in self.body["messages"]
            if message["role"] in ("system", "developer")
        )

    @property
    def streamed(self) -> bool:
        """Whether a stream was asked for."""
        return bool(self.body.get("stream"))

    @property
    def method(self) -> str:
        """Which way of structured output was asked for; `text` when none was."""
        if "response_format" in self.body:
            return str(self.body["response_format"]["type"])
        return "tool" if self.body.get("tools") else "text"


Script = Callable[[Request], Reply]


class OpenAIServer:
    """The server, running in a thread of its own between `__enter__` and `__exit__`.

    It closes each connection after its answer, so that no client leaves one open behind a test;
    `keep_alive` keeps them, as real servers do.

    Attributes:
        requests: Every chat completion that was asked for, in the order of arrival.
        in_flight: The most requests that were open at once.
    """

    def __init__(self, script: Script | Iterable[Reply] = (), *, keep_alive: bool = False) -> None:
        self._keep_alive = keep_alive
        self.requests: list[Request] = []
        self.in_flight = 0
        self._open = 0
        self._script = script
        self._queue: list[Reply] = []
        self._ready = threading.Event()
        self._asked = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._port = 0
        self.script(script)

    def script(self, script: Script | Iterable[Reply]) -> None:
        """Replace what the server answers from now on."""
        self._script = script
        self._queue = [] if callable(script) else list(script)

    @property
    def url(self) -> str:
        """The base URL for an OpenAI client."""
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def methods(self) -> list[str]:
        """The way of structured output of every request so far."""
        return [request.method for request in self.requests]

    def wait_for_request(self, seconds: float = 5) -> None:
        """Return as soon as a completion has been asked for."""
        assert self._asked.wait(seconds), "no request came"

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._main())
        self._loop.close()

    async def _main(self) -> None:
        self._stop = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0)
        self._port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        path = head[0].split(" ")[1]
        headers = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in head[1:] if line)
        }
        raw = await reader.readexactly(int(headers.get("content-length", 0)))
        body = json.loads(raw) if raw else {}
        request = Request(path=path, at=time.monotonic(), headers=headers, body=body)
        if not path.endswith("/chat/completions"):
            return await self._send(writer, self._other(path), request)
        self.requests.append(request)
        self._asked.set()
        self._open += 1
        self.in_flight = max(self.in_flight, self._open)
        try:
            return await self._send(writer, self._next(request), request)
        finally:
            self._open -= 1

    @staticmethod
    def _other(path: str) -> Reply:
        if path.endswith("/models"):
            return Reply(body={"object": "list", "data": [{"id": "fake", "object": "model"}]})
        return error(404, f"no such path: {path}")

    def _next(self, request: Request) -> Reply:
        if callable(self._script):
            return self._script(request)
        if not self._queue:
            return error(400, "the test's script holds no further reply", code="unscripted")
        return self._queue.pop(0)

    async def _send(self, writer: asyncio.StreamWriter, reply: Reply, request: Request) -> bool:
        if reply.delay:
            await asyncio.sleep(reply.delay)
        if reply.drop:
            return False
        if reply.body is None and reply.status == 200 and request.streamed:
            return await self._stream(writer, reply, request)
        payload = reply.body if reply.body is not None else _completion(reply, request)
        data = payload if isinstance(payload, bytes | str) else json.dumps(payload)
        raw = data.encode() if isinstance(data, str) else data
        kind = "text/html" if raw.lstrip().startswith(b"<") else "application/json"
        fields = {
            "content-type": kind,
            "content-length": str(len(raw)),
            "connection": "keep-alive" if self._keep_alive else "close",
            **reply.headers,
        }
        lines = [f"HTTP/1.1 {reply.status} {_REASONS.get(reply.status, 'Status')}"]
        lines += [f"{name}: {value}" for name, value in fields.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode("latin-1") + raw[: reply.cut])
        await writer.drain()
        return self._keep_alive and reply.cut is None

    async def _stream(self, writer: asyncio.StreamWriter, reply: Reply, request: Request) -> bool:
        lines = ["HTTP/1.1 200 OK", "content-type: text/event-stream", "connection: close"]
        lines.append("transfer-encoding: chunked")
        lines += [f"{name}: {value}" for name, value in reply.headers.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
        sent = 0
        for event in (*_events(reply, request), "[DONE]"):
            data = event if isinstance(event, str) else json.dumps(event)
            raw = f"data: {data}\n\n".encode()
            if reply.cut is not None and sent + len(raw) > reply.cut:
                writer.write(f"{len(raw):x}\r\n".encode() + raw[: reply.cut - sent])
                await writer.drain()
                return False
            sent += len(raw)
            writer.write(f"{len(raw):x}\r\n".encode() + raw + b"\r\n")
            await writer.drain()
            if reply.piece_delay:
                await asyncio.sleep(reply.piece_delay)
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return False


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(str(block.get("text", "")) for block in content)
    return content or ""


def _tool_calls(reply: Reply, request: Request) -> list[dict[str, Any]]:
    if reply.tool_arguments is None:
        return []
    tools = request.body.get("tools") or [{"function": {"name": "unknown"}}]
    function = {"name": tools[0]["function"]["name"], "arguments": reply.tool_arguments}
    return [{"id": "call_1", "type": "function", "function": function}]


def _finish(reply: Reply) -> str:
    return reply.finish_reason or ("tool_calls" if reply.tool_arguments is not None else "stop")


def _head(request: Request, kind: str) -> dict[str, Any]:
    model = request.body.get("model", "fake")
    return {"id": "chatcmpl-1", "object": kind, "created": 1_700_000_000, "model": model}


def _usage(reply: Reply) -> dict[str, int] | None:
    if reply.usage is None:
        return None
    tokens_in, tokens_out = reply.usage
    return {
        "prompt_tokens": tokens_in,
        "completion_tokens": tokens_out,
        "total_tokens": tokens_in + tokens_out,
    }


def _completion(reply: Reply, request: Request) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.content}
    message["refusal"] = reply.refusal
    if reply.reasoning is not None:
        message["reasoning_content"] = reply.reasoning
    if calls := _tool_calls(reply, request):
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "finish_reason": _finish(reply)}
    body = _head(request, "chat.completion") | {"choices": [choice]}
    return body if reply.usage is None else body | {"usage": _usage(reply)}


def _events(reply: Reply, request: Request) -> Iterable[dict[str, Any]]:
    head = _head(request, "chat.completion.chunk")

    def event(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return head | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield event({"role": "assistant", "content": ""})
    if reply.reasoning is not None:
        yield event({"reasoning_content": reply.reasoning})
    if isinstance(reply.content, str):
        size = -(-len(reply.content) // max(1, reply.pieces)) or 1
        for start in range(0, len(reply.content), size):
            yield event({"content": reply.content[start : start + size]})
    elif reply.content is not None:
        yield event({"content": reply.content})
    if reply.refusal is not None:
        yield event({"refusal": reply.refusal})
    for index, call in enumerate(_tool_calls(reply, request)):
        yield event({"tool_calls": [{"index": index, **call}]})
    yield event({}, _finish(reply))
    asked = (request.body.get("stream_options") or {}).get("include_usage")
    if asked and reply.usage is not None:
        yield head | {"choices": [], "usage": _usage(reply)}
