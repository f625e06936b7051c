import json
import sqlite3
from pathlib import Path

import pytest

from crag_graph.cli.entry import run
from crag_graph.retrieval.edge.index import EdgeIndex
from crag_graph.retrieval.index import CollectionSchema
from crag_graph.retrieval.manifest import DocumentRecord, DocumentState, Manifest
from crag_graph.retrieval.server.index import ServerIndex
from crag_graph.retrieval.store import collection_folder, manifest_path
from tests.fakes.qdrant_facade import QdrantFacade

SCHEMA = CollectionSchema(name="papers", embedding_model="stub-model", dimension=4)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CRAG_HOME", str(tmp_path))
    for name in ("CRAG_COLLECTION", "QDRANT_URL"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def record(name: str, *, chunks: int, state: DocumentState = "done") -> DocumentRecord:
    return DocumentRecord(
        document_id=name, source=name, digest="d", version="v", chunks=chunks, state=state
    )


def make(home: Path, name: str) -> Manifest:
    schema = CollectionSchema(name=name, embedding_model="stub-model", dimension=4)
    return Manifest.create(manifest_path(home=home, collection=name), schema)


def test_a_fresh_machine_is_told_what_to_do(home: Path, capsys):
    assert run(["status"]) == 0
    assert "Nothing is indexed yet: run `crag ingest PATH`" in capsys.readouterr().out
    assert run(["status", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "home": str(home),
        "collection": "default",
        "store": "embedded",
        "collections": [],
        "server_problem": "",
    }


def test_collections_are_counted(home: Path, capsys):
    with make(home, "papers") as manifest:
        manifest.put(record("a.md", chunks=1200))
        manifest.put(record("b.md", chunks=34))
        manifest.put(record("c.md", chunks=5, state="pending"))
    make(home, "notes").close()
    assert run(["status", "--json"]) == 0
    notes, papers = json.loads(capsys.readouterr().out)["collections"]
    assert papers | {"bytes": 0} == {
        "name": "papers",
        "store": "embedded",
        "documents": 3,
        "pending": 1,
        "chunks": 1234,
        "embedding_model": "stub-model",
        "dimension": 4,
        "bytes": 0,
        "problem": "",
    }
    assert papers["bytes"] > 0
    assert (notes["name"], notes["documents"]) == ("notes", 0)
    assert run(["status"]) == 0
    out = capsys.readouterr().out
    assert "1,234" in out
    assert "papers: 1 unfinished document; ingest again" in out


@pytest.mark.case(69)
def test_it_works_while_another_holds_the_store(home: Path, capsys):
    index = EdgeIndex.create(collection_folder(home=home, collection="papers"), SCHEMA)
    try:
        assert run(["status", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["collections"][0]["problem"] == ""
    finally:
        index.close()


def test_a_damaged_manifest_does_not_hide_the_other_collections(home: Path, capsys):
    make(home, "good").close()
    bad = manifest_path(home=home, collection="bad")
    bad.parent.mkdir(parents=True)
    with sqlite3.connect(bad) as connection:
        connection.execute("CREATE TABLE other (x)")
    connection.close()
    assert run(["status"]) == 0
    out = capsys.readouterr().out
    assert "unreadable" in out
    assert "good" in out
    assert run(["status", "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)["collections"]
    assert (first["name"], second["name"]) == ("bad", "good")
    assert first["problem"]


def test_a_server_is_asked_what_it_holds(home: Path, tmp_path: Path, capsys, monkeypatch):
    with QdrantFacade(tmp_path / "server") as facade:
        monkeypatch.setenv("QDRANT_URL", facade.url)
        ServerIndex.open(facade.url, "papers", create=SCHEMA).close()
        path = manifest_path(home=home, collection="papers", url=facade.url)
        with Manifest.create(path, SCHEMA) as manifest:
            manifest.put(record("a.md", chunks=3))
        other = CollectionSchema(name="theirs", embedding_model="stub-model", dimension=4)
        ServerIndex.open(facade.url, "theirs", create=other).close()
        assert run(["status", "--json"]) == 0
        said = json.loads(capsys.readouterr().out)
        assert run(["status"]) == 0
        out = capsys.readouterr().out
    assert (said["store"], said["server_problem"]) == ("server", "")
    papers, theirs = said["collections"]
    assert (papers["name"], papers["documents"], papers["chunks"]) == ("papers", 1, 0)
    assert (theirs["name"], theirs["documents"], theirs["embedding_model"]) == (
        "theirs",
        None,
        "stub-model",
    )
    assert "theirs (server)" in out
    assert "?" in out


def test_a_server_that_is_down_is_told_in_a_sentence(
    home: Path, tmp_path: Path, capsys, monkeypatch
):
    with QdrantFacade(tmp_path / "server") as facade:
        url = facade.url
    monkeypatch.setenv("QDRANT_URL", url)
    with Manifest.create(manifest_path(home=home, collection="papers", url=url), SCHEMA) as known:
        known.put(record("a.md", chunks=3))
    assert run(["status"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert f"! {url} cannot be reached" in out
    assert "what this machine ingested there" in out
    assert "papers (server)" in out
    assert run(["status", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert "cannot be reached" in said["server_problem"]
    assert said["collections"][0]["chunks"] == 3
