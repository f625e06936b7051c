"""The real `langgraph dev`, offline, in a process and a folder of its own."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import httpx

ROOT = Path(__file__).parents[2]
_READY_SECONDS = 90.0
# What a developer may have set, and the server must not see.
_NOT_PASSED_ON = (
    "CRAG_",
    "LANGSMITH_",
    "LANGCHAIN_",
    "OPENAI_",
    "TAVILY_",
    "QDRANT_",
    "LANGGRAPH_",
)


class LangGraphServer:
    """The server with the graphs of langgraph.json, and further ones that a test adds.

    Args:
        folder: Where it runs and keeps its threads.
        variables: Its environment, beside what every program needs.
        graphs: Further graphs by name, as langgraph.json has them.
        jobs: How many runs it works on at once.

    Attributes:
        url: Its address on loopback.
        ready_after: Seconds from its start to its first answer.
    """

    def __init__(
        self,
        folder: Path,
        *,
        variables: Mapping[str, str],
        graphs: Mapping[str, Any] | None = None,
        jobs: int = 50,
    ) -> None:
        self._folder = folder
        self._variables = variables
        self._graphs = graphs or {}
        self._jobs = jobs
        self._log = folder / "server.log"
        self.ready_after = 0.0
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = int(free.getsockname()[1])
        self.url = f"http://127.0.0.1:{self._port}"

    @property
    def log(self) -> str:
        """Everything that it wrote so far, one JSON object a line."""
        return self._log.read_text(errors="replace")

    def __enter__(self) -> Self:
        config = json.loads((ROOT / "langgraph.json").read_text())
        config["dependencies"] = [str(ROOT)]
        config["graphs"] |= self._graphs
        (self._folder / "langgraph.json").write_text(json.dumps(config))
        passed = {
            name: value for name, value in os.environ.items() if not name.startswith(_NOT_PASSED_ON)
        }
        environment = passed | {
            "LANGGRAPH_NO_VERSION_CHECK": "true",
            "LANGGRAPH_CLI_NO_ANALYTICS": "1",
            "LANGSMITH_TRACING": "false",
            "LOG_JSON": "true",
            **self._variables,
        }
        options = ["--no-browser", "--no-reload", "--port", str(self._port)]
        options += ["--n-jobs-per-worker", str(self._jobs)]
        started = time.monotonic()
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "langgraph_cli", "dev", *options],
                cwd=self._folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            self._wait_until_it_answers(started)
        except BaseException:
            self._stop()
            raise
        self.ready_after = time.monotonic() - started
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def _wait_until_it_answers(self, started: float) -> None:
        while time.monotonic() - started < _READY_SECONDS:
            if self._process.poll() is not None:
                raise RuntimeError(f"the server ended by itself:\n{self.log[-4000:]}")
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(f"{self.url}/ok", timeout=5).status_code == 200:
                    return
            time.sleep(0.1)
        raise RuntimeError(f"the server was not ready in time:\n{self.log[-4000:]}")

    def _stop(self) -> None:
        """End the server and all that it started: the group that it leads."""
        for sign in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, sign)
            try:
                self._process.wait(15)
            except subprocess.TimeoutExpired:
                continue
            return
