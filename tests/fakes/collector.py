"""A loopback server that takes whatever is posted to it: LangSmith's and OpenTelemetry's traces."""

import gzip
import http.server
import threading
from typing import Self

import zstandard


class Collector:
    """The server, between `__enter__` and `__exit__`.

    Attributes:
        received: The bodies that were posted, unpacked, in the order of arrival.
    """

    def __init__(self) -> None:
        self.received: list[bytes] = []
        handler = type("Handler", (_Handler,), {"received": self.received})
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    @property
    def everything(self) -> bytes:
        """All that was received so far."""
        return b"\n".join(self.received)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Handler(http.server.BaseHTTPRequestHandler):
    received: list[bytes]

    def do_GET(self) -> None:
        self._answer(b"{}")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        encoding = self.headers.get("Content-Encoding")
        if encoding == "zstd":
            body = zstandard.ZstdDecompressor().decompressobj().decompress(body)
        elif encoding == "gzip":
            body = gzip.decompress(body)
        self.received.append(body)
        self._answer(b"{}", 200)

    do_PATCH = do_POST

    def _answer(self, body: bytes, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass
