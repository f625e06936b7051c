"""A full disk: refused before the engine touches a page that has no room."""

import errno
import os
import shutil
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from crag_graph.errors import StoreError, StoreFullError
from crag_graph.retrieval.edge.disk import OPEN_BYTES, WRITE_BYTES, require_free, size_on_disk
from tests.fakes.stores import Backend, chunk, vector_of


def leave(monkeypatch: pytest.MonkeyPatch, free: int) -> None:
    usage = SimpleNamespace(total=10**12, used=10**12 - free, free=free)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)


def test_creating_needs_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leave(monkeypatch, WRITE_BYTES - 1)
    with pytest.raises(StoreFullError, match=r"256 MiB are needed: free some space"):
        Backend(tmp_path).make()
    assert list(tmp_path.rglob("*")) == []


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.ENOENT])
def test_a_folder_that_cannot_be_written_is_told_from_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    leave(monkeypatch, 0)
    monkeypatch.setattr(tempfile, "mkdtemp", refuse)
    with pytest.raises(StoreError, match=r"cannot be written .*: set CRAG_HOME to") as caught:
        Backend(tmp_path).make()
    assert os.strerror(number).lower() in caught.value.message
    assert "MiB" not in caught.value.message
    number = errno.ENOSPC  # what `refuse` raises from here on
    with pytest.raises(StoreFullError, match="0 MiB free"):
        Backend(tmp_path).make()


def test_opening_needs_a_little_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Backend(tmp_path)
    backend.make().upsert([chunk("a", "x")])
    backend.close()
    leave(monkeypatch, OPEN_BYTES - 1)
    with pytest.raises(StoreFullError, match="MiB free"):
        backend.open()
    leave(monkeypatch, OPEN_BYTES)
    assert backend.open().count() == 1
    backend.close()


def test_storing_stops_before_the_disk_is_full_and_goes_on_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = Backend(tmp_path)
    index = backend.make()
    free = iter([WRITE_BYTES * 2, WRITE_BYTES])
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=next(free)))
    points = [chunk(f"c{n}", f"chunk {n}") for n in range(200)]
    with pytest.raises(StoreFullError):
        index.upsert(points)
    monkeypatch.undo()
    assert index.count() == 128, "the batch before was stored"
    index.upsert(points)
    assert index.count() == 200
    backend.close()


def test_a_full_disk_does_not_stop_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Backend(tmp_path)
    index = backend.make()
    index.upsert([chunk("a", "x", lang="en"), chunk("b", "y", lang="de")])
    leave(monkeypatch, 0)
    assert len(index.search_dense(vector_of("x"), limit=5, where={"lang": "en"})) == 1
    with pytest.raises(StoreFullError):
        index.optimize()
    with pytest.raises(StoreFullError):
        index.delete_document("a")
    backend.close()


def test_free_space_is_that_of_the_disk_where_the_folder_will_be(tmp_path: Path) -> None:
    require_free(tmp_path / "not" / "yet" / "there", needed=1)
    with pytest.raises(StoreFullError, match="there has"):
        require_free(tmp_path / "not" / "yet" / "there", needed=2**80)


def test_sparse_files_count_for_what_they_take(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(2**30)
    (tmp_path / "dense").write_bytes(b"x" * 10_000)
    assert 10_000 <= size_on_disk(tmp_path) < 2**20
