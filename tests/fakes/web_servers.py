"""A loopback server for search providers, scripted by each test: the real clients ask it."""

import dataclasses
import http.server
import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit


@dataclasses.dataclass(frozen=True, kw_only=True)
class Reply:
    """What the server answers.

    Attributes:
        body: Bytes or text as they are; anything else as JSON.
        status: HTTP status.
        headers: Further headers.
        delay: Seconds before the first byte.
        drip: Seconds between two bytes of the body.
        cut: Close the connection after so many bytes of the body.
        drop: Close the connection without any answer.
    """

    body: Any = ""
    status: int = 200
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    delay: float = 0.0
    drip: float = 0.0
    cut: int | None = None
    drop: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request:
    """One recorded request: `params` of the URL or of a form, `body` the JSON that was posted."""

    method: str
    path: str
    params: Mapping[str, str]
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    at: float


Script = Callable[[Request], Reply]


class WebServer:
    """The server, running in threads of its own between `__enter__` and `__exit__`.

    Attributes:
        requests: Every request, in the order of arrival.
    """

    def __init__(self, script: Script | Iterable[Reply] | Reply = ()) -> None:
        self.requests: list[Request] = []
        self._over = threading.Event()
        self._asked = threading.Event()
        self.script(script)
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )

    def script(self, script: Script | Iterable[Reply] | Reply) -> None:
        """Replace what the server answers from now on; a single reply is given for ever."""
        if isinstance(script, Reply):
            self._script: Script = lambda _: script
        elif callable(script):
            self._script = script
        else:
            queue = list(script)
            self._script = lambda _: queue.pop(0) if queue else Reply(status=599)

    @property
    def url(self) -> str:
        """The base URL for a client."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, request: Request) -> Reply:
        """Record the request and return what the script makes of it."""
        self.requests.append(request)
        self._asked.set()
        return self._script(request)

    def wait_for_request(self) -> None:
        """Return once the first request is there."""
        assert self._asked.wait(20)

    def pause(self, seconds: float) -> bool:
        """Wait; return whether the server is to go on."""
        return not self._over.wait(seconds)


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that went away."""


def _handler(server: WebServer) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._answer(b"")

        def do_POST(self) -> None:
            self._answer(self.rfile.read(int(self.headers.get("content-length", 0))))

        def _answer(self, raw: bytes) -> None:
            reply = server.answer(self._request(raw))
            self.close_connection = reply.drop or reply.cut is not None
            if server.pause(reply.delay) and not reply.drop:
                self._send(reply)

        def _request(self, raw: bytes) -> Request:
            url = urlsplit(self.path)
            kind = self.headers.get("content-type", "")
            query = raw.decode() if "urlencoded" in kind else url.query
            return Request(
                method=self.command,
                path=url.path,
                params={key: values[-1] for key, values in parse_qs(query).items()},
                headers={name.lower(): value for name, value in self.headers.items()},
                body=json.loads(raw) if "json" in kind and raw else {},
                at=time.monotonic(),
            )

        def _send(self, reply: Reply) -> None:
            body = reply.body
            if not isinstance(body, str | bytes):
                body = json.dumps(body)
            data = body.encode() if isinstance(body, str) else body
            html = data.lstrip()[:1] == b"<"
            self.send_response(reply.status)
            self.send_header("content-type", "text/html" if html else "application/json")
            self.send_header("content-length", str(len(data)))
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.end_headers()
            if not reply.drip:
                self.wfile.write(data[: reply.cut])
                return
            for byte in data[: reply.cut]:
                self.wfile.write(bytes([byte]))
                if not server.pause(reply.drip):
                    return

        def log_message(self, format: str, *args: Any) -> None:
            """Keep quiet."""

    return Handler
