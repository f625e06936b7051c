import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from crag_graph.errors import EmbeddingError, StoreUnavailableError
from crag_graph.ingestion.chunking import Chunker
from crag_graph.ingestion.ingest import IngestReport, ingest
from crag_graph.ingestion.loaders import load
from crag_graph.retrieval.edge.index import EdgeIndex
from crag_graph.retrieval.index import CollectionSchema, Point
from crag_graph.retrieval.manifest import MANIFEST_FILE, Manifest
from tests.fakes.embeddings import NANS, ZEROS, StubEmbeddings
from tests.fakes.memory_index import MemoryIndex

SCHEMA = CollectionSchema(name="memory", embedding_model="stub", dimension=4)


class Store:
    """A collection in memory; a new one over the same data is what a new process sees."""

    def __init__(self, folder: Path) -> None:
        self.docs = folder / "docs"
        self.docs.mkdir()
        for n in range(12):
            (self.docs / f"d{n:02}.txt").write_text(f"Valve {n} closes. {'It is old. ' * n}")
        self.index = MemoryIndex(SCHEMA)
        self.manifest = Manifest.create(folder / "manifest.sqlite", SCHEMA)
        self.embeddings = StubEmbeddings()

    def ingest(self) -> IngestReport:
        self.embeddings.calls.clear()
        return ingest(
            [self.docs],
            index=self.index,
            manifest=self.manifest,
            embeddings=self.embeddings,
            batch_size=4,
        )

    def states(self) -> dict[str, str]:
        return {Path(record.source).stem: record.state for record in self.manifest.records()}

    def consistent(self) -> bool:
        return self.manifest.expected_chunks <= self.index.count()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path)
    yield store
    store.manifest.close()


@pytest.mark.case(82)
@pytest.mark.parametrize("vector", [ZEROS, NANS])
def test_a_chunk_without_a_vector_is_reported_and_not_stored(
    store: Store, vector: list[float]
) -> None:
    text = (store.docs / "d00.txt").read_text().strip()
    store.embeddings.broken[text] = vector
    report = store.ingest()
    assert report.added == 11
    ((path, reason),) = report.failed
    assert path == str(store.docs / "d00.txt")
    assert reason.startswith("chunk 1: ")
    assert text not in {hit.text for hit in store.index.scroll()}
    assert store.states()["d00"] == "pending"
    store.embeddings.broken.clear()
    assert store.ingest().ok
    assert store.embeddings.texts == [text]
    assert set(store.states().values()) == {"done"}


@pytest.mark.case(82)
def test_the_other_chunks_of_the_document_are_stored(store: Store) -> None:
    (store.docs / "d00.txt").write_text(
        "\n\n".join(f"Part {n}. {'Words. ' * 90}" for n in range(5))
    )
    chunks = Chunker().chunk(load(store.docs / "d00.txt"))
    (bad,) = (chunk.text for chunk in chunks if "Part 3" in chunk.text)
    store.embeddings.broken[bad] = ZEROS
    report = store.ingest()
    ((_, reason),) = report.failed
    assert re.match(r"chunk \d+: the embedding model stub gave a vector of zeros", reason)
    assert report.added == 12
    assert bad not in {hit.text for hit in store.index.scroll()}
    store.embeddings.broken.clear()
    report = store.ingest()
    assert report.ok
    assert store.embeddings.texts == [bad]  # the others were kept


def test_a_text_that_the_model_refuses_costs_itself_alone(store: Store) -> None:
    def refuse(texts: list[str]) -> None:
        if any("Valve 7" in text for text in texts):
            raise ValueError("bad input")

    store.embeddings.fault = refuse
    report = store.ingest()
    assert report.added == 11
    assert [Path(path).stem for path, _ in report.failed] == ["d07"]
    assert len(store.embeddings.calls) <= 3 + 2 * 2 + 1


def test_an_older_version_stays_where_the_new_one_cannot_be_embedded(store: Store) -> None:
    store.ingest()
    old = (store.docs / "d00.txt").read_text().strip()
    (store.docs / "d00.txt").write_text("A text without a vector.")
    store.embeddings.broken["A text without a vector."] = ZEROS
    report = store.ingest()
    assert len(report.failed) == 1
    assert report.changed == 0
    assert old in {hit.text for hit in store.index.scroll()}


class AuthenticationError(Exception):
    status_code = 401


@pytest.mark.parametrize(
    "error", [ConnectionError("refused"), TimeoutError(), AuthenticationError()]
)
def test_a_failure_of_the_service_is_raised_at_once(store: Store, error: Exception) -> None:
    def fail(_: list[str]) -> None:
        raise error

    store.embeddings.fault = fail
    with pytest.raises(EmbeddingError):
        store.ingest()
    assert len(store.embeddings.calls) == 1


def test_a_model_that_fails_on_everything_is_not_asked_for_every_text(store: Store) -> None:
    def fail(_: list[str]) -> None:
        raise ValueError("no such model")

    store.embeddings.fault = fail
    with pytest.raises(EmbeddingError, match="no such model"):
        store.ingest()
    assert len(store.embeddings.calls) < 10


@pytest.mark.parametrize("error", [ConnectionError("refused"), KeyboardInterrupt()])
def test_what_was_stored_before_a_failure_is_kept(store: Store, error: BaseException) -> None:
    def fail(_: list[str]) -> None:
        if len(store.embeddings.calls) == 3:
            raise error

    store.embeddings.fault = fail
    with pytest.raises((EmbeddingError, KeyboardInterrupt)):
        store.ingest()
    assert store.index.count() == 8
    assert store.consistent()
    assert store.index.unflushed == set()
    assert sorted(store.states().values()) == ["done"] * 8 + ["pending"] * 4
    store.embeddings.fault = None
    report = store.ingest()
    assert report.ok
    assert (report.added, report.unchanged) == (4, 8)
    assert len(store.embeddings.texts) == 4
    assert store.index.count() == 12


def test_a_store_that_fails_is_told_as_what_it_is(store: Store) -> None:
    upsert = store.index.upsert
    calls = 0

    def fail(points: Sequence[Point]) -> None:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise StoreUnavailableError("the server went away")
        upsert(points)

    store.index.upsert = fail  # type: ignore[method-assign]
    with pytest.raises(StoreUnavailableError):
        store.ingest()
    assert store.consistent()
    store.index.upsert = upsert  # type: ignore[method-assign]
    assert store.ingest().ok
    assert store.index.count() == 12
    assert len(store.embeddings.texts) == 8  # four had made it


def test_a_document_that_is_gone_after_an_interruption_can_be_pruned(store: Store) -> None:
    def fail(_: list[str]) -> None:
        raise KeyboardInterrupt

    store.embeddings.fault = fail
    with pytest.raises(KeyboardInterrupt):
        store.ingest()
    store.embeddings.fault = None
    (store.docs / "d00.txt").unlink()
    report = ingest(
        [store.docs],
        index=store.index,
        manifest=store.manifest,
        embeddings=store.embeddings,
        prune=True,
    )
    assert (report.added, report.pruned) == (11, 1)
    assert store.index.count() == 11


CHILD = """
import os, signal, sys
from pathlib import Path
from crag_graph.ingestion import run as ingest_run
from crag_graph.retrieval.edge.index import EdgeIndex
from crag_graph.ingestion.ingest import ingest
from crag_graph.retrieval.manifest import MANIFEST_FILE, Manifest
from tests.fakes.embeddings import StubEmbeddings

home, docs, victim, method, when = Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:6]
ingest_run.WINDOW = 10
index = EdgeIndex.open(home)
manifest = Manifest.open(home / MANIFEST_FILE)
embeddings = StubEmbeddings()
target = {"index": index, "manifest": manifest, "embeddings": embeddings}[victim]
original, calls = getattr(target, method), 0

def deadly(*args, **options):
    global calls
    calls += 1
    if calls == int(when.rstrip("+")):
        if when.endswith("+"):  # when the work is done, but nobody knows
            original(*args, **options)
        os.kill(os.getpid(), signal.SIGKILL)
    return original(*args, **options)

setattr(target, method, deadly)
ingest([docs], index=index, manifest=manifest, embeddings=embeddings, batch_size=4)
"""


@pytest.mark.case(76)
@pytest.mark.parametrize(
    "moment",
    [
        "embeddings embed_documents 1",
        "embeddings embed_documents 4",
        "index upsert 2",
        "index upsert 2+",
        "index upsert 5+",
        "index flush 1",
        "index flush 2+",
        "index delete_document 1",
        "index delete_document 3+",
        "manifest put 1+",
        "manifest put 2",
        "manifest put 3+",
    ],
)
def test_a_killed_ingestion_goes_on_where_it_was(tmp_path: Path, moment: str) -> None:
    home, docs = tmp_path / "collection", tmp_path / "docs"
    docs.mkdir()
    for n in range(30):
        (docs / f"d{n:02}.txt").write_text(f"Valve {n} closes. {'It is old. ' * n}")
    EdgeIndex.create(home, SCHEMA).close()
    _ingest(home, [docs / "d00.txt", docs / "d01.txt"])
    (docs / "d00.txt").write_text("Valve 0 was replaced.")
    child = subprocess.run(
        [sys.executable, "-c", CHILD, str(home), str(docs), *moment.split()],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert child.returncode == -signal.SIGKILL, child.stderr
    report, texts = _ingest(home, [docs])
    assert report.ok
    assert sorted(texts) == sorted(path.read_text().strip() for path in docs.iterdir())
    report, again = _ingest(home, [docs])
    assert (report.unchanged, again) == (30, texts)


def _ingest(home: Path, paths: list[Path]) -> tuple[IngestReport, list[str]]:
    index = EdgeIndex.open(home)
    with Manifest.open(home / MANIFEST_FILE) as manifest:
        report = ingest(paths, index=index, manifest=manifest, embeddings=StubEmbeddings())
        assert manifest.expected_chunks == index.count()
    texts = [hit.text for hit in index.scroll()]
    index.close()
    return report, texts


def test_an_interrupt_from_the_keyboard_leaves_a_store_that_opens(tmp_path: Path) -> None:
    home, docs = tmp_path / "collection", tmp_path / "docs"
    docs.mkdir()
    for n in range(30):
        (docs / f"d{n:02}.txt").write_text(f"Valve {n} closes.")
    EdgeIndex.create(home, SCHEMA).close()
    child = subprocess.run(
        [
            sys.executable,
            "-c",
            CHILD.replace("SIGKILL", "SIGINT"),
            str(home),
            str(docs),
            "index",
            "upsert",
            "3+",
        ],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "KeyboardInterrupt" in child.stderr
    report, texts = _ingest(home, [docs])
    assert report.ok
    assert report.unchanged > 0
    assert len(texts) == 30
