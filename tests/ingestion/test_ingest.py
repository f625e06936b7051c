import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from crag_graph.errors import CollectionMismatchError
from crag_graph.ingestion import run as ingest_run
from crag_graph.ingestion.chunking import Chunker
from crag_graph.ingestion.ingest import IngestProgress, IngestReport, ingest
from crag_graph.retrieval.index import Point
from crag_graph.retrieval.manifest import Manifest
from tests.fakes.documents import pdf_bytes
from tests.fakes.embeddings import StubEmbeddings
from tests.fakes.memory_index import MemoryIndex

PROSE = " ".join(f"Valve {n} of the pump house closes at {n} bar." for n in range(1, 61))


class Store:
    """A collection in memory with its manifest and a model, and a folder to ingest."""

    def __init__(self, folder: Path) -> None:
        self.home = folder
        self.docs = folder / "docs"
        self.docs.mkdir()
        self.index = MemoryIndex()
        self.manifest = Manifest.create(folder / "manifest.sqlite", self.index.schema)
        self.embeddings = StubEmbeddings()

    def write(self, **files: str) -> None:
        for name, text in files.items():
            path = self.docs / f"{name.replace('__', '/')}.md"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def ingest(self, *paths: Path, **options: Any) -> IngestReport:
        self.embeddings.calls.clear()
        self.index.calls.clear()
        return ingest(
            list(paths) or [self.docs],
            index=self.index,
            manifest=self.manifest,
            embeddings=self.embeddings,
            **options,
        )

    def texts(self, name: str | None = None) -> list[str]:
        hits = sorted(self.index.scroll(), key=lambda hit: hit.payload["position"])
        return [
            hit.text
            for hit in hits
            if name is None or hit.payload["source"].endswith(f"/{name}.md")
        ]

    def payloads(self) -> list[dict[str, Any]]:
        hits = sorted(
            self.index.scroll(), key=lambda hit: (hit.payload["source"], hit.payload["position"])
        )
        return [dict(hit.payload) for hit in hits]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path)
    yield store
    store.manifest.close()


def test_a_folder_becomes_chunks_that_know_where_they_come_from(store: Store) -> None:
    store.write(a="---\ntitle: Pump manual\ndate: 2024-01-02\n---\n# Pumps\n\nTwo of them.")
    store.write(b=PROSE)
    report = store.ingest()
    assert report.ok
    assert (report.added, report.changed, report.unchanged) == (2, 0, 0)
    assert report.chunks == store.index.count() == len(store.embeddings.texts)
    first, *rest = store.payloads()
    assert first == {
        "title": "Pump manual",
        "published": "2024-01-02",
        "heading": "Pumps",
        "document_id": first["document_id"],
        "version": first["digest"][:16],
        "digest": first["digest"],
        "source": (store.docs / "a.md").resolve().as_posix(),
        "position": 0,
        "part": 0,
        "start": first["start"],
        "end": first["end"],
    }
    assert {payload["title"] for payload in rest} == {"b"}  # the file's name, for want of another
    assert [payload["position"] for payload in rest] == list(range(len(rest)))


def test_the_report_is_plain_json(store: Store) -> None:
    store.write(a="Text.", b=" ")
    (store.docs / "x.png").write_bytes(b"x")
    fields = json.loads(json.dumps(store.ingest().as_dict()))
    assert fields.pop("seconds") >= 0
    assert fields == {
        "ok": True,
        "added": 1,
        "changed": 0,
        "unchanged": 0,
        "pruned": 0,
        "skipped": 1,
        "empty": [str(store.docs / "b.md")],
        "failed": [],
        "chunks": 1,
        "dry_run": False,
    }


@pytest.mark.case(74)
@pytest.mark.case(76)
def test_ingesting_again_changes_nothing_and_embeds_nothing(store: Store) -> None:
    store.write(a=PROSE, b="Two.")
    store.ingest()
    points = dict(store.index.points)
    for _ in range(2):
        report = store.ingest()
        assert (report.added, report.changed, report.unchanged) == (0, 0, 2)
        assert store.embeddings.calls == []
        assert store.index.calls == []
    assert store.index.points == points


@pytest.mark.case(76)
def test_another_chunk_size_cuts_again_and_leaves_nothing_stale(store: Store) -> None:
    store.write(a=PROSE)
    store.ingest(chunker=Chunker(size=200))
    before = store.index.count()
    report = store.ingest(chunker=Chunker(size=60))
    assert report.changed == 1
    assert store.index.count() == report.chunks > before
    assert store.ingest(chunker=Chunker(size=200)).changed == 1
    assert store.index.count() == before


def test_a_changed_document_is_replaced(store: Store) -> None:
    store.write(a="The ferry costs 9 euros.", b="Other.")
    store.ingest()
    store.write(a="The ferry costs 12 euros.")
    report = store.ingest()
    assert (report.added, report.changed, report.unchanged) == (0, 1, 1)
    assert store.texts("a") == ["The ferry costs 12 euros."]
    assert store.texts("b") == ["Other."]


def test_going_back_to_an_older_version_works(store: Store) -> None:
    for text in ("Nine.", "Twelve.", "Nine."):
        store.write(a=text)
        store.ingest()
        assert store.texts() == [text]


def test_at_every_moment_one_version_answers(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.write(a=PROSE)
    store.ingest()
    answering: list[int] = []
    for name in ("upsert", "delete_document", "flush"):
        method = getattr(store.index, name)

        def watched(*args: Any, _method: Callable[..., None] = method, **options: Any) -> None:
            _method(*args, **options)
            versions = {payload["version"] for payload in store.payloads()}
            answering.append(len(versions))
            if len(versions) == 1 and answering[0] == 2:
                assert store.index.unflushed == set()  # the new version survives a power cut

        monkeypatch.setattr(store.index, name, watched)
    store.write(a=PROSE.replace("Valve", "Pump"))
    store.ingest()
    assert answering == sorted(answering, reverse=True)
    assert answering[0] == 2
    assert answering[-1] == 1


def test_pruning_removes_what_is_gone_below_the_paths(store: Store) -> None:
    store.write(a="One.", sub__b="Two.", sub__c="Three.")
    (store.home / "other").mkdir()
    (store.home / "other/d.md").write_text("Four.")
    store.ingest(store.docs, store.home / "other")
    for path in (store.docs / "a.md", store.docs / "sub/b.md", store.home / "other/d.md"):
        path.unlink()
    assert store.ingest().pruned == 0
    assert len(store.texts()) == 4
    assert store.ingest(store.docs / "sub", prune=True).pruned == 1
    assert sorted(store.texts()) == ["Four.", "One.", "Three."]
    assert store.ingest(prune=True).pruned == 1
    assert sorted(store.texts()) == ["Four.", "Three."]
    assert len(store.manifest.records()) == 2


def test_pruning_spares_what_is_there_but_not_taken(store: Store) -> None:
    hidden = store.docs / ".hidden.md"
    hidden.write_text("Hidden.")
    store.write(a="One.", b="Two.")
    store.ingest(store.docs, hidden)
    store.write(b="")  # cannot be loaded any more
    report = store.ingest(prune=True)
    assert report.pruned == 0
    ((_, reason),) = report.failed
    assert reason.startswith("empty: it has no bytes, and its earlier text stays indexed")
    assert sorted(store.texts()) == ["Hidden.", "One.", "Two."]


def test_a_moved_file_is_another_document(store: Store) -> None:
    store.write(a="One.")
    store.ingest()
    (store.docs / "a.md").rename(store.docs / "b.md")
    report = store.ingest(prune=True)
    assert (report.added, report.pruned) == (1, 1)
    assert [payload["source"].rpartition("/")[2] for payload in store.payloads()] == ["b.md"]


def test_a_dry_run_says_what_would_be_done_and_does_nothing(store: Store) -> None:
    store.write(a=PROSE, b="Two.", c="Three.")
    store.ingest()
    records, points = store.manifest.records(), dict(store.index.points)
    store.write(b="Changed.", d="New.", e=" ")
    (store.docs / "c.md").unlink()
    report = store.ingest(prune=True, dry_run=True)
    assert (report.added, report.changed, report.unchanged, report.pruned) == (1, 1, 1, 1)
    assert report.chunks == 2
    assert report.dry_run
    assert report.empty == [str(store.docs / "e.md")]
    assert store.embeddings.calls == []
    assert store.index.calls == []
    assert (store.manifest.records(), store.index.points) == (records, points)


@pytest.mark.case(89)
def test_one_good_file_among_scans_is_indexed_and_the_scans_are_named(store: Store) -> None:
    store.write(good="The pump.")
    for name in ("scan1.pdf", "scan2.pdf"):
        (store.docs / name).write_bytes(pdf_bytes(["", ""]))
    report = store.ingest()
    assert not report.ok
    assert report.added == 1
    assert [Path(path).name for path, _ in report.failed] == ["scan1.pdf", "scan2.pdf"]
    assert all("no text layer (a scan?)" in reason for _, reason in report.failed)
    assert store.texts() == ["The pump."]


@pytest.mark.case(85)
def test_what_has_no_chunks_never_reaches_the_store(store: Store) -> None:
    store.write(a="---\n\n***\n", b="", c=" \n")
    report = store.ingest()
    assert report.ok
    assert len(report.empty) == 3
    assert store.embeddings.calls == []
    assert store.index.calls == []


@pytest.mark.case(87)
def test_blank_stretches_are_not_embedded(store: Store) -> None:
    store.write(a="# A\n\n\n\n# B\n", b=f"Good.\n{' ' * 900}\n\n\n{' ' * 900}\nAlso good.")

    def refuse_blanks(texts: list[str]) -> None:
        assert all(text.strip() for text in texts)

    store.embeddings.fault = refuse_blanks
    assert store.ingest().ok


@pytest.mark.case(75)
def test_large_documents_go_to_the_store_in_small_batches(store: Store) -> None:
    store.write(a="\n\n".join(f"# Section {n}\n\nValve {n} closes." for n in range(3000)))
    sizes: list[int] = []
    upsert = store.index.upsert

    def measured(points: Sequence[Point]) -> None:
        sizes.append(len(points))
        upsert(points)

    store.index.upsert = measured  # type: ignore[method-assign]
    report = store.ingest(chunker=Chunker(strategy="markdown"), batch_size=50)
    assert report.chunks == sum(sizes) == 3000
    assert max(sizes) <= 50
    assert max(map(len, store.embeddings.calls)) <= 50
    assert store.index.calls.count("flush") >= 3


@pytest.mark.case(75)
def test_the_metadata_of_a_chunk_stays_small(store: Store) -> None:
    title = "word " * 100_000
    store.write(a=f"---\ntitle: {title}\n---\n# {title}\n\n## {title}\n\nText.")
    store.ingest()
    assert max(len(json.dumps(payload)) for payload in store.payloads()) < 2000


def test_texts_of_like_length_are_embedded_together(store: Store) -> None:
    for n in range(40):
        store.write(**{f"d{n}": f"Valve {n}. " * (n % 10 + 1)})
    store.ingest(batch_size=4)
    spreads = [max(map(len, call)) - min(map(len, call)) for call in store.embeddings.calls]
    assert len(spreads) == 10
    assert max(spreads) <= 15


def test_progress_is_told(store: Store) -> None:
    store.write(a=PROSE, b="Two.", c="Three.")
    told: list[IngestProgress] = []
    store.ingest(progress=told.append, batch_size=2)
    assert [step.documents for step in told] == sorted(step.documents for step in told)
    assert [step.chunks for step in told] == sorted(step.chunks for step in told)
    assert (told[-1].documents, told[-1].total) == (3, 3)
    assert (told[-1].chunks, told[-1].waiting) == (store.index.count(), 0)
    store.ingest(progress=told.append)
    assert (told[-1].documents, told[-1].waiting) == (3, 0)


def test_files_beyond_the_limit_are_reported(store: Store) -> None:
    store.write(a="Small.", b="x" * 200)
    report = store.ingest(max_file_bytes=100)
    assert report.added == 1
    assert report.failed == [(str(store.docs / "b.md"), "too large: 200 bytes, the limit is 100")]


@pytest.mark.case(71)
def test_another_model_of_the_same_size_is_refused(store: Store) -> None:
    store.embeddings = StubEmbeddings(name="other")
    store.write(a="One.")
    with pytest.raises(CollectionMismatchError, match=r"stub.*other"):
        store.ingest()
    assert store.index.calls == []


def test_windows_do_not_tear_documents_apart(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest_run, "WINDOW", 3)
    for n in range(10):
        store.write(**{f"d{n}": f"{PROSE}\n\nThis is document {n}."})
    report = store.ingest(batch_size=2)
    assert report.added == 10
    assert report.chunks == store.index.count()
    assert all(record.state == "done" for record in store.manifest.records())
    assert store.manifest.expected_chunks == store.index.count()


def test_source_files_that_nobody_reads_are_skipped(store: Store) -> None:
    store.write(a="One.")
    (store.docs / "__init__.py").touch()
    (store.docs / "bundle.min.js").write_text("var a=1;" * 5000)
    report = store.ingest()
    assert report.ok
    assert (report.added, report.skipped) == (1, 1)
    assert report.empty == [str(store.docs / "__init__.py")]
