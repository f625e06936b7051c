"""A loopback server that speaks OpenAI's embeddings, for the real client."""

import base64
import hashlib
import json
import struct
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


def letters(text: str) -> list[float]:
    """Return a vector of 8 components that follows from the text."""
    return [1.0 + byte for byte in hashlib.sha256(text.encode()).digest()[:8]]


class EmbeddingsServer:
    """The server, running between `__enter__` and `__exit__`.

    Args:
        vector: What each text is answered with.
        status: HTTP status of every answer; from 400 up an error in OpenAI's form.
        message: The error's message.
        headers: Further headers.
        body: The whole body in place of vectors.

    Attributes:
        requests: The JSON bodies, in the order of arrival.
        keys: The Authorization headers, likewise.
    """

    def __init__(
        self,
        vector: Callable[[str], list[Any]] = letters,
        *,
        status: int = 200,
        message: str = "",
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> None:
        self.vector, self.status, self.message = vector, status, message
        self.headers, self.body = dict(headers or {}), body
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def url(self) -> str:
        """The base URL for an OpenAI client."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    @property
    def texts(self) -> list[str]:
        """Every text that was sent, in the order of arrival."""
        return [text for request in self.requests for text in _as_list(request["input"])]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(fake) -> type[BaseHTTPRequestHandler]:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["content-length"])))
                fake.requests.append(request)
                fake.keys.append(self.headers["authorization"])
                status, body = fake._answer(self.path, request)
                self.send_response(status)
                for name, value in fake.headers.items():
                    self.send_header(name, value)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        return Handler

    def _answer(self, path: str, request: dict[str, Any]) -> tuple[int, bytes]:
        if path != "/v1/embeddings":
            return 404, _error(f"no such path: {path}")
        if self.status >= 400:
            return self.status, _error(self.message)
        if self.body is not None:
            return 200, self.body
        texts = _as_list(request["input"])
        if not all(isinstance(text, str) and text.strip() for text in texts):
            return 400, _error("input must be text that is not blank")  # as llama.cpp and others do
        data = [
            {"object": "embedding", "index": at, "embedding": _coded(self.vector(text), request)}
            for at, text in enumerate(texts)
        ]
        usage = {"prompt_tokens": len(texts), "total_tokens": len(texts)}
        answer = {"object": "list", "data": data, "model": request["model"], "usage": usage}
        return 200, json.dumps(answer).encode()


def _as_list(given: Any) -> list[Any]:
    return given if isinstance(given, list) else [given]


def _coded(vector: list[Any], request: dict[str, Any]) -> Any:
    if request.get("encoding_format") != "base64":
        return vector
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def _error(message: str) -> bytes:
    return json.dumps({"error": {"message": message, "type": "error", "code": None}}).encode()
