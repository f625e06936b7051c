"""A web on loopback for benchmarks: answers queries in Tavily's wire format."""

import http.server
import json
import threading
from collections.abc import Callable, Sequence
from typing import Any, Self

Result = dict[str, str]


class LoopbackWeb:
    """Serves what a function finds for a query, between `__enter__` and `__exit__`.

    Args:
        find: Query → results with `url`, `title` and `text`, best first.
    """

    def __init__(self, find: Callable[[str], Sequence[Result]]) -> None:
        self.searches = 0
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler(find))
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        """The base URL for a client."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(
        self, find: Callable[[str], Sequence[Result]]
    ) -> type[http.server.BaseHTTPRequestHandler]:
        web = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                web.searches += 1
                asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
                found = list(find(asked["query"]))[: asked["max_results"]]
                body = json.dumps({"results": [_item(result) for result in found]}).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Keep quiet."""
                del format, args

        return Handler


def _item(result: Result) -> Result:
    return {
        "url": result["url"],
        "title": result["title"],
        "content": result["text"][:200],
        "raw_content": result["text"],
    }
