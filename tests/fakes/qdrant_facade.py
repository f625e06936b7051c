"""A Qdrant server on loopback, as far as the real client can tell: its requests are parsed by the
client's own models and answered by the embedded engine, and any of them can be made to fail."""

import dataclasses
import importlib.metadata
import threading
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from pydantic import TypeAdapter
from qdrant_client import models

from tests.fakes.qdrant_engine import EngineCollection, Refused

CLIENT_VERSION = importlib.metadata.version("qdrant-client")


@dataclasses.dataclass(kw_only=True)
class Failure:
    """How a request fails: `status` with `body`, or a connection that misbehaves.

    `cut` ends an answer that is otherwise good in the middle of its JSON, `short` in the middle of
    what its length promises; `drop` closes the connection without an answer. `seconds` of silence,
    or waiting `until` an event, come before whatever else.
    """

    status: int | None = None
    body: bytes | None = None
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    seconds: float = 0.0
    until: threading.Event | None = None
    cut: bool = False
    short: bool = False
    drop: bool = False
    on: str = ""
    times: int = 1


@dataclasses.dataclass(frozen=True, kw_only=True)
class Seen:
    """A request that arrived."""

    method: str
    path: str
    headers: Mapping[str, str]
    size: int


class QdrantFacade:
    """The server, a context manager. `requests` is what arrived; `fail` spoils what comes next."""

    def __init__(
        self,
        folder: Path,
        *,
        strict: bool = False,
        api_key: str | None = None,
        version: str = CLIENT_VERSION,
        keeps_metadata: bool = True,
    ) -> None:
        self.folder = folder
        self.strict = strict
        self.api_key = api_key
        self.version = version
        self.keeps_metadata = keeps_metadata
        self.collections: dict[str, EngineCollection] = {}
        self.requests: list[Seen] = []
        self.failures: list[Failure] = []
        self._lock = threading.Lock()
        self._arrived = threading.Condition()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        # A short poll: leaving the block must not cost half a second a test.
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        for collection in self.collections.values():
            collection.shard.close()

    def fail(self, **failure: Any) -> None:
        self.failures.append(Failure(**failure))

    def see(self, seen: Seen) -> None:
        with self._arrived:
            self.requests.append(seen)
            self._arrived.notify_all()

    def wait_for(self, count: int) -> bool:
        """Wait until so many requests arrived; False where they do not come."""
        with self._arrived:
            return self._arrived.wait_for(lambda: len(self.requests) >= count, timeout=30)

    def paths(self, part: str = "") -> list[str]:
        return [f"{seen.method} {seen.path}" for seen in self.requests if part in seen.path]

    def make(self, name: str, **made_with: Any) -> EngineCollection:
        """A collection as another tool would have made it."""
        request = models.CreateCollection(**made_with)
        collection = EngineCollection(self.folder / name, request, strict=self.strict)
        self.collections[name] = collection
        return collection

    def take_failure(self, path: str) -> Failure | None:
        with self._lock:
            for failure in self.failures:
                if failure.times > 0 and failure.on in path:
                    failure.times -= 1
                    return failure
        return None

    def answer(self, method: str, path: str, body: bytes) -> Any:
        match [part for part in path.split("/") if part], method:
            case [], "GET":
                return {"title": "qdrant", "version": self.version}
            case ["collections"], "GET":
                return {"collections": [{"name": name} for name in self.collections]}
            case ["collections", name], "PUT":
                if name in self.collections:
                    raise Refused(409, f"Wrong input: Collection `{name}` already exists!")
                made_with = models.CreateCollection.model_validate_json(body)
                self.collections[name] = EngineCollection(
                    self.folder / name, made_with, strict=self.strict
                )
                return True
            case ["collections", name, "exists"], "GET":
                return {"exists": name in self.collections}
            case ["collections", name, *rest], _:
                if name not in self.collections:
                    raise Refused(404, f"Not found: Collection `{name}` doesn't exist!")
                return self._ask(self.collections[name], "/".join(rest), method, body)
        raise Refused(404, "Not found")

    def _ask(self, collection: EngineCollection, what: str, method: str, body: bytes) -> Any:
        done = {"operation_id": 1, "status": "completed"}
        match what, method:
            case "", "GET":
                return collection.info(keeps_metadata=self.keeps_metadata)
            case "index", "PUT":
                collection.index(models.CreateFieldIndex.model_validate_json(body))
                return done
            case "points", "PUT":
                collection.upsert(models.PointsList.model_validate_json(body))
                return done
            case "points", "POST":
                return collection.retrieve(models.PointRequest.model_validate_json(body))
            case "points/delete", "POST":
                collection.delete(models.FilterSelector.model_validate_json(body))
                return done
            case "points/query/batch", "POST":
                batch = models.QueryRequestBatch.model_validate_json(body)
                return [collection.query(request) for request in batch.searches]
            case "points/scroll", "POST":
                return collection.scroll(models.ScrollRequest.model_validate_json(body))
            case "points/count", "POST":
                return collection.count(models.CountRequest.model_validate_json(body))
        raise Refused(404, f"Not found: {method} {what}")

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        facade = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                pass

            def _serve(self) -> None:
                path = urlsplit(self.path).path
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                facade.see(Seen(method=self.command, path=path, headers=headers, size=len(body)))
                failure = facade.take_failure(path) or Failure()
                time.sleep(failure.seconds)
                if failure.until is not None:
                    failure.until.wait(timeout=30)
                if failure.drop:
                    self.close_connection = True
                    return
                if failure.status is not None:
                    status = failure.status
                    reason = {"status": {"error": "injected"}, "time": 0.0}
                    content = failure.body if failure.body is not None else _json(reason)
                else:
                    status, content = self._answer(path, body, headers)
                length = len(content)
                if failure.cut:
                    content = content[: len(content) // 2]
                    length = len(content)
                elif failure.short:
                    content = content[: len(content) // 2]
                    self.close_connection = True
                self._write(status, content, length, failure.headers)

            def _answer(
                self, path: str, body: bytes, headers: Mapping[str, str]
            ) -> tuple[int, bytes]:
                if facade.api_key and headers.get("api-key") != facade.api_key:
                    return 401, b"Must provide an API key or an Authorization bearer token"
                try:
                    result = facade.answer(self.command, path, body)
                except Refused as refused:
                    wrong = {"status": {"error": refused.reason}, "time": 0.0}
                    return refused.status, _json(wrong)
                if path == "/":
                    return 200, _json(result)
                return 200, _json({"result": result, "status": "ok", "time": 0.0})

            def _write(
                self, status: int, content: bytes, length: int, headers: Mapping[str, str]
            ) -> None:
                try:
                    self.send_response(status)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(length))
                    for name, value in headers.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(content)
                except ConnectionError:
                    pass  # the client gave up

            do_GET = do_PUT = do_POST = do_DELETE = _serve

        return Handler


def _json(value: Any) -> bytes:
    return TypeAdapter(Any).dump_json(value)
