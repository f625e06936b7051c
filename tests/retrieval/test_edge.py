"""The embedded store between processes: locks, kills, forks, exits."""

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from crag_graph.errors import StoreError, StoreLockedError
from crag_graph.retrieval.edge.index import EdgeIndex
from crag_graph.retrieval.manifest import Manifest
from crag_graph.retrieval.store import collection_folder, list_collections, open_index
from tests.fakes.stores import SCHEMA, Backend, chunk, vector_of

SPAWN = multiprocessing.get_context("spawn")


def run(script: str, *arguments: object) -> "subprocess.CompletedProcess[str]":
    """Run a script in a process of its own, as a user would, with every warning shown."""
    return subprocess.run(
        [sys.executable, "-W", "always", "-c", textwrap.dedent(script), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=Path(__file__).parents[2],
        check=False,
    )


def _hold(home: str, told: Connection) -> None:
    index = Backend(Path(home)).open()
    told.send(index.count())
    told.recv()
    index.close()


@pytest.mark.case(69)
def test_a_store_that_another_process_holds_is_refused_until_it_lets_go(tmp_path: Path) -> None:
    backend = Backend(tmp_path)
    backend.make().upsert([chunk("a", "x")])
    backend.close()
    ours, theirs = SPAWN.Pipe()
    other = SPAWN.Process(target=_hold, args=(str(tmp_path), theirs))
    other.start()
    assert ours.recv() == 1
    with pytest.raises(StoreLockedError, match="in use by another process: close it or set QDRANT"):
        backend.open()
    with pytest.raises(StoreLockedError):
        backend.make()
    summary = list_collections(tmp_path)["papers"]
    assert not isinstance(summary, Exception)
    assert summary.schema == SCHEMA
    ours.send("let go")
    other.join()
    assert backend.open().count() == 1
    backend.close()


@pytest.mark.case(69)
def test_one_process_may_open_a_store_twice(tmp_path: Path) -> None:
    first = Backend(tmp_path).make()
    (tmp_path / "link").symlink_to(tmp_path)
    second = open_index(home=tmp_path / "link", collection="papers")
    first.upsert([chunk("a", "x")])
    assert second.count() == 1
    first.close()
    assert second.count() == 1
    second.upsert([chunk("b", "y")])
    second.close()
    with pytest.raises(StoreError, match="closed"):
        first.count()
    again = Backend(tmp_path).open()
    assert again.count() == 2
    again.close()


def _ingest_until_killed(home: str, told: Connection) -> None:
    index = Backend(Path(home)).open()
    batch = 0
    while True:
        index.upsert([chunk(f"{batch}-{n}", f"batch {batch} chunk {n}") for n in range(64)])
        told.send(batch)
        batch += 1


@pytest.mark.parametrize("batches", [3, 40])
def test_kill_9_loses_nothing_that_was_acknowledged(tmp_path: Path, batches: int) -> None:
    backend = Backend(tmp_path)
    backend.make()
    backend.close()
    ours, theirs = SPAWN.Pipe()
    writer = SPAWN.Process(target=_ingest_until_killed, args=(str(tmp_path), theirs))
    writer.start()
    theirs.close()
    last = -1
    while last < batches:
        last = ours.recv()
    assert writer.pid is not None
    os.kill(writer.pid, signal.SIGKILL)
    writer.join()
    try:
        while ours.poll():
            last = ours.recv()
    except EOFError:
        pass
    index = backend.open()
    count = index.count()
    assert 64 * (last + 1) <= count <= 64 * (last + 2)
    assert count % 64 == 0, "a batch is stored whole or not"
    found = index.search_sparse(f"batch {last} chunk 63", limit=1)
    assert found[0].text == f"batch {last} chunk 63"
    index.upsert([chunk("after", "the crash")])
    assert index.count() == count + 1
    backend.close()


def test_a_fork_after_opening_is_told_instead_of_hanging(tmp_path: Path) -> None:
    done = run(
        """
        import os, sys
        from pathlib import Path
        from crag_graph.errors import StoreError
        from tests.fakes.stores import Backend, vector_of
        backend = Backend(Path(sys.argv[1]))
        index = backend.make()
        child = os.fork()
        if child == 0:
            for call in (index.count, lambda: index.search_dense(vector_of("x"), limit=1)):
                try:
                    call()
                except StoreError as error:
                    print(error, flush=True)
            index.close()
            os._exit(0)
        os.waitpid(child, 0)
        print(index.count())
        index.close()
        """,
        tmp_path,
    )
    told, again, count = done.stdout.splitlines()
    assert told == again
    assert "forked" in told
    assert "spawn" in told
    assert count == "0"


@pytest.mark.case(84)
@pytest.mark.parametrize("close", ["index.close()", "pass"])
def test_a_process_ends_without_noise(tmp_path: Path, close: str) -> None:
    done = run(
        f"""
        import sys
        from pathlib import Path
        from tests.fakes.stores import Backend, chunk
        index = Backend(Path(sys.argv[1])).make()
        index.upsert([chunk("a", "x")])
        {close}
        sys.exit(3)
        """,
        tmp_path,
    )
    assert (done.returncode, done.stderr) == (3, "")
    backend = Backend(tmp_path)
    assert backend.open().count() == 1
    backend.close()


def test_optimising_changes_no_answer(tmp_path: Path) -> None:
    index = Backend(tmp_path).make()
    index.upsert([chunk(f"c{n}", f"chunk {n} of {n % 7}") for n in range(500)])
    index.delete_document("c3")
    before = index.search_dense(vector_of("q"), limit=20), index.search_sparse("chunk 5", limit=20)
    index.optimize()
    after = index.search_dense(vector_of("q"), limit=20), index.search_sparse("chunk 5", limit=20)
    assert [hit.id for hit in after[0]] == [hit.id for hit in before[0]]
    assert [hit.id for hit in after[1]] == [hit.id for hit in before[1]]
    index.close()


@pytest.mark.case(83)
def test_beyond_twenty_thousand_chunks_nothing_changes(tmp_path: Path) -> None:
    backend = Backend(tmp_path)
    index = backend.make()
    for start in range(0, 21_000, 3_000):
        index.upsert([chunk(f"c{n}", f"number{n} tide") for n in range(start, start + 3_000)])
    backend.close()
    index = backend.open()  # warnings are errors here
    assert index.count() == 21_000
    for number in (0, 20_999):
        text = f"number{number} tide"
        assert index.search_sparse(text, limit=1)[0].text == text
        assert index.search_dense(vector_of(text), limit=1)[0].text == text
    backend.close()


def test_a_killed_creation_leaves_no_collection(tmp_path: Path) -> None:
    done = run(
        """
        import os, sys
        from pathlib import Path
        from crag_graph.retrieval.edge import setup as edge_setup
        from tests.fakes.stores import Backend
        edge_setup.Manifest.create = lambda *_: os.kill(os.getpid(), 9)
        Backend(Path(sys.argv[1])).make()
        """,
        tmp_path,
    )
    assert done.returncode == -signal.SIGKILL
    assert list_collections(tmp_path) == {}
    backend = Backend(tmp_path)
    assert backend.make().count() == 0
    backend.close()


def test_what_a_killed_creation_left_is_swept_a_day_later(tmp_path: Path) -> None:
    collections = tmp_path / "collections"
    for name, age in ((".old-1-aa.new", 2 * 24 * 3600), (".young-2-bb.new", 60)):
        (collections / name).mkdir(parents=True)
        moment = collections.stat().st_mtime - age
        os.utime(collections / name, (moment, moment))
    backend = Backend(tmp_path)
    backend.make()
    backend.close()
    assert sorted(entry.name for entry in collections.iterdir()) == [".young-2-bb.new", "papers"]


def test_whoever_is_slower_in_making_a_collection_gets_the_other_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = collection_folder(home=tmp_path, collection="papers")
    create = Manifest.create

    def beaten(path: Path, schema: object) -> Manifest:
        monkeypatch.undo()
        other = EdgeIndex.create(folder, SCHEMA)
        other.upsert([chunk("a", "x")])
        other.close()
        return create(path, SCHEMA)

    monkeypatch.setattr(Manifest, "create", beaten)
    index = EdgeIndex.create(folder, SCHEMA)
    assert index.count() == 1
    index.close()
    assert [entry.name for entry in folder.parent.iterdir()] == ["papers"]
