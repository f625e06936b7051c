"""Speed and memory of retrieval from the embedded store.

    python -m benchmarks.retrieval_speed [--chunks 50000] [--processes 3] [--no-optimize]

One process builds a collection of synthetic chunks, optimising included: clustered vectors of 384
components, texts of about 700 characters whose words follow Zipf's law. Then fresh processes open
it and ask hybrid questions through the retriever, with embeddings that cost nothing, and report the
median time of a question, the time until the collection was open and verified, and the most memory
that was ever resident. Exits with 1 when a bound is passed.
"""

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from langchain_core.embeddings import Embeddings

from crag_graph.retrieval.edge.disk import size_on_disk
from crag_graph.retrieval.index import CollectionSchema, Point
from crag_graph.retrieval.manifest import DocumentRecord, Manifest
from crag_graph.retrieval.retriever import HybridRetriever
from crag_graph.retrieval.store import collection_folder, manifest_path, open_index
from crag_graph.settings import Settings

QUERY_BOUND = 15.0  # ms
MEMORY_BOUND = 700.0  # MB
OPEN_BOUND = 2.0  # seconds

DIMENSION = 384
SCHEMA = CollectionSchema(name="speed", embedding_model="synthetic", dimension=DIMENSION)
_CHUNKS_A_DOCUMENT = 20
_QUESTIONS = 200
_BATCH = 1024

_random = random.Random(0)
_LETTERS = "bcdfgklmnprstv"
_VOCABULARY = [
    "".join(_random.choice(_LETTERS) + _random.choice("aeiou") for _ in range(3)) + str(rank)
    for rank in range(20_000)
]
_FREQUENCIES = [1 / (rank + 5) for rank in range(len(_VOCABULARY))]


class SyntheticEmbeddings(Embeddings):
    """Vectors near those of the chunks, made beforehand."""

    name = SCHEMA.embedding_model
    dimension = DIMENSION

    def __init__(self, vectors: list[list[float]]) -> None:
        self._vectors = iter(vectors)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the next vectors, whatever the texts."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Return the next vector, whatever the text."""
        del text
        return next(self._vectors)


def vectors(count: int, *, chunks: int, seed: int) -> np.ndarray:
    """Return vectors around one of `chunks / 100` centres each; the centres are always the same."""
    centres = np.random.default_rng(1).standard_normal((max(1, chunks // 100), DIMENSION))
    noise = np.random.default_rng(seed)
    chosen = noise.integers(len(centres), size=count)
    return centres[chosen] + 0.5 * noise.standard_normal((count, DIMENSION))


def words(count: int, *, seed: int) -> str:
    """Return a text of words by their frequency."""
    return " ".join(random.Random(seed).choices(_VOCABULARY, _FREQUENCIES, k=count))


def points(chunks: int) -> Iterator[list[Point]]:
    """Yield the chunks in batches."""
    for start in range(0, chunks, _BATCH):
        numbers = range(start, min(start + _BATCH, chunks))
        made = vectors(len(numbers), chunks=chunks, seed=start + 2)
        yield [
            Point(
                id=str(number),
                vector=vector,
                text=words(85, seed=number),
                payload={
                    "document_id": f"document-{number // _CHUNKS_A_DOCUMENT}",
                    "source": f"handbook/part-{number // _CHUNKS_A_DOCUMENT}.md",
                    "title": "A synthetic chunk",
                    "version": "1",
                },
            )
            for number, vector in zip(numbers, made.tolist(), strict=True)
        ]


def build(home: Path, *, chunks: int, optimize: bool) -> None:
    """Make the collection and its manifest; print what it took."""
    index = open_index(home=home, collection=SCHEMA.name, create=SCHEMA)
    started = time.perf_counter()
    for batch in points(chunks):
        index.upsert(batch)
    index.flush()
    stored = time.perf_counter()
    if optimize:
        index.optimize()
    optimised = time.perf_counter()
    index.close()
    with Manifest.open(manifest_path(home=home, collection=SCHEMA.name)) as manifest:
        manifest.put(
            DocumentRecord(
                document_id="all",
                source="synthetic",
                digest="",
                version="1",
                chunks=chunks,
                state="done",
            )
        )
    size = size_on_disk(collection_folder(home=home, collection=SCHEMA.name)) / 1e6
    print(f"made and stored in {stored - started:.1f} s, optimised in {optimised - stored:.1f} s")
    print(f"size on disk {size:.0f} MB", flush=True)


def ask(home: Path, *, chunks: int) -> None:
    """Open the collection, ask, and print the figures as JSON."""
    given = vectors(_QUESTIONS, chunks=chunks, seed=-1 % 2**32).tolist()
    questions = [words(8, seed=-1 - number) for number in range(_QUESTIONS)]
    settings = Settings()
    started = time.perf_counter()
    index = open_index(home=home, collection=SCHEMA.name)
    opened = time.perf_counter() - started
    retriever = HybridRetriever(embeddings=SyntheticEmbeddings(given), index=index)
    times = []
    for question in questions:
        started = time.perf_counter()
        found = retriever.retrieve(question, settings=settings)
        times.append((time.perf_counter() - started) * 1000)
        if len(found) != settings.top_k:
            raise SystemExit(f"{len(found)} passages instead of {settings.top_k}")
    index.close()
    figures = {"open": opened, "first": times[0], "times": times[1:], "memory": resident()}
    print(json.dumps(figures))


def resident() -> float:
    """Return the most memory that this process ever held resident, in MB."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024 / 1e6
    import resource  # where there is no /proc

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def child(task: str, home: Path, arguments: argparse.Namespace) -> str:
    """Return what this script prints in a process of its own, so that no memory is carried over."""
    command = [sys.executable, __file__, "--task", task, "--home", str(home)]
    command += ["--chunks", str(arguments.chunks)]
    command += [] if arguments.optimize else ["--no-optimize"]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def report(home: Path, arguments: argparse.Namespace) -> int:
    """Print the figures beside their bounds; return 0 when all of them hold."""
    runs = [json.loads(child("ask", home, arguments)) for _ in range(arguments.processes)]
    query = statistics.median(statistics.median(run["times"]) for run in runs)
    slow = statistics.median(sorted(run["times"])[int(len(run["times"]) * 0.95)] for run in runs)
    first = statistics.median(run["first"] for run in runs)
    opened = statistics.median(run["open"] for run in runs)
    memory = max(run["memory"] for run in runs)
    print(f"hybrid question, p50   {query:8.2f} ms   bound {QUERY_BOUND:g} ms")
    print(f"hybrid question, p95   {slow:8.2f} ms")
    print(f"first question         {first:8.2f} ms")
    print(f"reopening, verified    {opened:8.2f} s    bound {OPEN_BOUND:g} s")
    print(f"resident memory, most  {memory:8.0f} MB   bound {MEMORY_BOUND:g} MB")
    return int(query >= QUERY_BOUND or opened >= OPEN_BOUND or memory >= MEMORY_BOUND)


def main() -> int:
    """Build a collection in a folder that goes away afterwards, and measure it."""
    parser = argparse.ArgumentParser(description="Speed and memory of retrieval.")
    parser.add_argument("--chunks", type=int, default=50_000)
    parser.add_argument("--processes", type=int, default=3, help="fresh processes that ask")
    parser.add_argument("--optimize", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--task", choices=("build", "ask"), help=argparse.SUPPRESS)
    parser.add_argument("--home", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.task == "build":
        build(arguments.home, chunks=arguments.chunks, optimize=arguments.optimize)
        return 0
    if arguments.task == "ask":
        ask(arguments.home, chunks=arguments.chunks)
        return 0
    with tempfile.TemporaryDirectory(prefix="crag-speed-") as folder:
        home = Path(folder)
        print(f"{arguments.chunks} chunks, {DIMENSION} components")
        print(child("build", home, arguments), end="")
        return report(home, arguments)


if __name__ == "__main__":
    sys.exit(main())
