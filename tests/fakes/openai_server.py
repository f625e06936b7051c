"""A loopback server that speaks OpenAI's chat completions, scripted by each test.

The real client runs against it. A script is a sequence of replies, one a request, or a callable
from the request to a reply. Requests are recorded as they arrived.
"""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterable
from typing import Self

from tests.fakes.openai_wire import Reply, Request, as_json, completion, error, events

__all__ = ["OpenAIServer", "Reply", "Request", "Script", "as_json", "error"]

_REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 429: "Too Many Requests"}

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
        payload = reply.body if reply.body is not None else completion(reply, request)
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
        for event in (*events(reply, request), "[DONE]"):
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
