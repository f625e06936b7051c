"""A llama.cpp server on loopback that serves a GGUF file, in a process of its own.

    python -m benchmarks.model_server FILE

Needs the package xllamacpp, which carries llama.cpp (MIT). One thread that does not spin: on a
machine whose cores are shared, a second thread makes it slower, since each waits for the other.
"""

import argparse
import contextlib
import dataclasses
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MODEL_NAME = "qwen"
RUNTIME = "xllamacpp==2026.10.11549"
_CONTEXT_TOKENS = 8192
_PREFIX = "listening at "
_START_SECONDS = 300.0


class ModelServerError(Exception):
    """The server did not start; the message says what to do."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Served:
    """A running server.

    Attributes:
        url: The base URL for an OpenAI client.
        log: What it writes.
        process: Itself.
    """

    url: str
    log: Path
    process: "subprocess.Popen[bytes]"

    def requests(self) -> int:
        """Return how many requests the model has begun to work on.

        Raises:
            ModelServerError: The server has died: what failed is not the graph.
        """
        written = self.log.read_text(errors="replace")
        if (code := self.process.poll()) is not None:
            raise ModelServerError(f"the server died with code {code}: {written.strip()[-500:]}")
        return written.count("| processing task")


def serve(file: Path) -> None:
    """Serve `file` until the process is ended; the first line printed says where.

    Raises:
        ImportError: xllamacpp is not installed.
    """
    llama: Any = __import__("xllamacpp")
    parameters = llama.CommonParams()
    parameters.model.path = str(file)
    parameters.model_alias = {MODEL_NAME}
    parameters.n_ctx = _CONTEXT_TOKENS
    parameters.n_parallel = 1
    parameters.n_threads_http = 2
    parameters.warmup = False
    parameters.ui = False
    for threads in (parameters.cpuparams, parameters.cpuparams_batch):
        threads.n_threads = 1
        threads.poll = 0
    server = llama.Server(parameters)  # port 0: a free one; loopback is the default
    print(f"{_PREFIX}{server.listening_address}", flush=True)
    sys.stdin.read()  # until the parent goes away or closes it


@contextlib.contextmanager
def running(file: Path) -> Iterator[Served]:
    """Give a server for `file` that lives as long as the block.

    Raises:
        ModelServerError: It did not start; its own last words are in the message.
    """
    with tempfile.TemporaryDirectory(prefix="model-server-") as place:
        log = Path(place) / "log"
        with log.open("wb") as sink:
            command = [sys.executable, "-m", "benchmarks.model_server", str(file)]
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=sink, stderr=subprocess.STDOUT
            )
            try:
                yield Served(url=f"{_wait(process, log)}/v1", log=log, process=process)
            finally:
                assert process.stdin is not None
                process.stdin.close()
                process.terminate()
                process.wait()


def _wait(process: "subprocess.Popen[bytes]", log: Path) -> str:
    """Return the address of the server once it answers."""
    over = time.monotonic() + _START_SECONDS
    while time.monotonic() < over and process.poll() is None:
        for line in log.read_text(errors="replace").splitlines():
            address = line.removeprefix(_PREFIX)
            if address != line and _healthy(address):
                return address
        time.sleep(0.2)
    words = log.read_text(errors="replace").strip()[-500:]
    hint = f"; run `pip install {RUNTIME}`" if "No module named 'xllamacpp'" in words else ""
    raise ModelServerError(f"the model's server did not start{hint}: {words}")


def _healthy(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/health", timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file", type=Path)
    serve(parser.parse_args().file)
