import multiprocessing
import os
import signal
import sqlite3
import threading
from pathlib import Path

import pytest

from crag_graph.errors import CollectionNotFoundError, StoreDamagedError, StoreError
from crag_graph.retrieval.index import CollectionSchema
from crag_graph.retrieval.manifest import DocumentRecord, Manifest

SCHEMA = CollectionSchema(name="papers", embedding_model="stub", dimension=4)


def record(name: str, *, chunks: int = 3, state: str = "done") -> DocumentRecord:
    return DocumentRecord(
        document_id=name,
        source=f"/{name}.md",
        digest="d",
        version="v1",
        chunks=chunks,
        state=state,  # type: ignore[arg-type]
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "papers" / "manifest.sqlite"


def test_what_was_put_is_there_after_reopening(path: Path) -> None:
    with Manifest.create(path, SCHEMA) as manifest:
        manifest.put(record("b"))
        manifest.put(record("a", chunks=2))
        manifest.put(record("b", chunks=5))
    with Manifest.open(path) as manifest:
        assert manifest.schema == SCHEMA
        assert manifest.records() == [record("a", chunks=2), record("b", chunks=5)]
        assert manifest.get("b") == record("b", chunks=5)
        assert manifest.get("c") is None


def test_only_done_documents_are_expected_in_the_index(path: Path) -> None:
    with Manifest.create(path, SCHEMA) as manifest:
        assert manifest.expected_chunks == 0
        manifest.put(record("a", chunks=2))
        manifest.put(record("b", chunks=7, state="pending"))
        assert manifest.expected_chunks == 2
        manifest.put(record("b", chunks=7))
        assert manifest.expected_chunks == 9
        manifest.remove("a")
        manifest.remove("never there")
        assert manifest.expected_chunks == 7


@pytest.mark.case(56)
def test_names_that_are_not_utf8_can_be_stored_and_found(path: Path) -> None:
    with Manifest.create(path, SCHEMA) as manifest:
        manifest.put(record("caf\udce9"))
        found = manifest.get("caf\udce9")
        assert found is not None
        assert found.source == "/caf\ufffd.md"
        manifest.remove("caf\udce9")
        assert manifest.records() == []


def test_a_missing_manifest_says_to_ingest(path: Path) -> None:
    with pytest.raises(CollectionNotFoundError, match="crag ingest"):
        Manifest.open(path)


def test_an_existing_manifest_is_not_replaced(path: Path) -> None:
    with Manifest.create(path, SCHEMA) as manifest:
        manifest.put(record("a"))
    with pytest.raises(StoreError, match="exists already"):
        Manifest.create(path, SCHEMA)
    assert Manifest.peek(path).documents == 1


def test_creation_leaves_one_file_and_no_draft(path: Path) -> None:
    Manifest.create(path, SCHEMA).close()
    assert [entry.name for entry in path.parent.iterdir()] == ["manifest.sqlite"]


def test_failing_to_create_leaves_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(StoreError, match="Permission denied"):
        Manifest.create(path, SCHEMA)
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize("damage", ["empty", "garbage", "truncated", "foreign", "no schema"])
def test_a_damaged_manifest_is_named(path: Path, damage: str) -> None:
    with Manifest.create(path, SCHEMA) as manifest:
        manifest.put(*(record(f"document-{number}") for number in range(200)))
    content = path.read_bytes()
    if damage == "empty":
        path.write_bytes(b"")
    elif damage == "garbage":
        path.write_bytes(b"\x07" * len(content))
    elif damage == "truncated":
        path.write_bytes(content[: len(content) // 3])
    elif damage == "foreign":
        path.unlink()
        sqlite3.connect(path).execute("CREATE TABLE other (x)").connection.close()
    else:
        connection = sqlite3.connect(path)
        connection.execute("DELETE FROM collection")
        connection.commit()
        connection.close()
    with (
        pytest.raises(StoreDamagedError, match=r"manifest\.sqlite is damaged"),
        Manifest.open(path) as manifest,
    ):
        manifest.records()


def test_a_newer_format_is_refused_without_calling_it_damage(path: Path) -> None:
    Manifest.create(path, SCHEMA).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(StoreError, match="newer version") as caught:
        Manifest.open(path)
    assert not isinstance(caught.value, StoreDamagedError)


def test_it_can_be_peeked_at_while_another_holds_it(path: Path) -> None:
    with Manifest.create(path, SCHEMA) as manifest:
        manifest.put(record("a", chunks=2))
        manifest.put(record("b", state="pending"))
        summary = Manifest.peek(path)
        assert (summary.documents, summary.pending, summary.chunks) == (2, 1, 2)
        assert summary.schema == SCHEMA


def test_threads_share_it(path: Path) -> None:
    with Manifest.create(path, SCHEMA) as manifest:

        def write(prefix: str) -> None:
            for number in range(20):
                manifest.put(record(f"{prefix}{number}", chunks=1))

        threads = [threading.Thread(target=write, args=(prefix,)) for prefix in "abc"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert manifest.expected_chunks == 60


def test_using_it_after_close_is_a_store_error(path: Path) -> None:
    manifest = Manifest.create(path, SCHEMA)
    manifest.close()
    manifest.close()
    with pytest.raises(StoreError, match="closed"):
        manifest.records()


def _put_until_killed(path: str, told: "multiprocessing.connection.Connection") -> None:
    manifest = Manifest.open(Path(path))
    number = 0
    while True:
        manifest.put(record(f"{number:06}", chunks=1))
        told.send(number)
        number += 1


def test_kill_9_loses_nothing_that_was_acknowledged(path: Path) -> None:
    Manifest.create(path, SCHEMA).close()
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    writer = context.Process(target=_put_until_killed, args=(str(path), theirs))
    writer.start()
    theirs.close()
    last = -1
    while last < 25:
        last = ours.recv()
    assert writer.pid is not None
    os.kill(writer.pid, signal.SIGKILL)
    writer.join()
    try:
        while ours.poll():
            last = ours.recv()
    except EOFError:
        pass
    with Manifest.open(path) as manifest:
        held = [entry.document_id for entry in manifest.records()]
    assert held[: last + 1] == [f"{number:06}" for number in range(last + 1)]
    assert len(held) <= last + 2
