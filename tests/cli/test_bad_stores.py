"""What `crag ask` says about a store that cannot be asked, on the real embedded store."""

import json
import shutil
from pathlib import Path

import pytest

from crag_graph.cli.entry import run
from crag_graph.retrieval.edge.index import EdgeIndex
from crag_graph.retrieval.index import CollectionSchema
from crag_graph.retrieval.store import collection_folder, manifest_path

QUESTION = "Which valve closes first?"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CRAG_HOME", str(tmp_path / "home"))
    for name in ("CRAG_COLLECTION", "CRAG_EMBEDDINGS", "CRAG_EVALUATOR", "QDRANT_URL"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "home"


def make(home: Path, *, model: str = "all-MiniLM-L6-v2", dimension: int = 384) -> None:
    schema = CollectionSchema(name="default", embedding_model=model, dimension=dimension)
    EdgeIndex.create(collection_folder(home=home, collection="default"), schema).close()


def refusal_of(capsys: pytest.CaptureFixture[str], *options: str, code: int = 1) -> str:
    """Return the one sentence on stderr with which a question was turned down."""
    assert run(["ask", QUESTION, *options]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("crag: ")
    return err


@pytest.mark.case(81)
def test_a_missing_collection_is_named_with_what_to_do(home: Path, capsys):
    said = refusal_of(capsys, "--collection", "papers")
    assert "there is no collection 'papers'" in said
    assert "crag ingest" in said
    assert not home.exists()


def test_a_name_that_leads_elsewhere_is_bad_input(home: Path, capsys):
    assert "collection '../../etc'" in refusal_of(capsys, "-c", "../../etc", code=2)


@pytest.mark.case(71)
def test_another_model_of_the_same_size_is_refused(home: Path, capsys):
    make(home, model="other-model")
    said = refusal_of(capsys)
    assert "other-model" in said
    assert "all-MiniLM-L6-v2" in said


@pytest.mark.case(70)
def test_another_size_is_refused(home: Path, capsys):
    make(home, model="other-model", dimension=8)
    said = refusal_of(capsys)
    assert "8 components" in said
    assert "384 components" in said


def test_a_store_that_lost_its_chunks_is_damaged(home: Path, tmp_path: Path, capsys):
    note = tmp_path / "note.txt"
    note.write_text("The inlet valve closes first.", encoding="utf-8")
    assert run(["ingest", str(note)]) == 0
    capsys.readouterr()
    folder = collection_folder(home=home, collection="default")
    make_empty = home / "other"
    schema = CollectionSchema(name="default", embedding_model="all-MiniLM-L6-v2", dimension=384)
    EdgeIndex.create(make_empty, schema).close()
    shutil.rmtree(folder / "edge")
    shutil.copytree(make_empty / "edge", folder / "edge")
    assert "damaged" in refusal_of(capsys)


def test_a_manifest_that_is_none_is_damaged(home: Path, capsys):
    make(home)
    manifest_path(home=home, collection="default").write_bytes(b"not a database at all, but text")
    assert "manifest" in refusal_of(capsys)


def test_a_store_without_its_engine_is_damaged(home: Path, capsys):
    make(home)
    shutil.rmtree(collection_folder(home=home, collection="default") / "edge")
    assert "the folder is missing" in refusal_of(capsys)


@pytest.mark.case(129)
def test_an_empty_collection_is_a_refusal_that_suggests_ingesting(home: Path, capsys):
    make(home)
    assert run(["ask", QUESTION, "--json"]) == 0
    output = json.loads(capsys.readouterr().out)
    assert (output["status"], output["decision"]["grading"]) == ("refused", "empty")
    assert output["decision"]["stages"]["retrieve"]["decided"] == "empty collection"
    assert "crag ingest" in output["answer"]
    assert any("crag ingest" in warning for warning in output["warnings"])


@pytest.mark.case(128)
def test_an_unreachable_server_is_told_apart_from_finding_nothing(home, capsys, monkeypatch):
    monkeypatch.setenv("QDRANT_URL", "http://127.0.0.1:9")
    assert run(["ask", QUESTION, "--json"]) == 0
    output = json.loads(capsys.readouterr().out)
    assert output["status"] == "refused"
    assert "the corpus could not be searched" in output["answer"]
    assert output["decision"]["stages"]["retrieve"]["decided"] == "unavailable"
    assert any("http://127.0.0.1:9" in warning for warning in output["warnings"])


@pytest.mark.case(123)
def test_credentials_in_a_servers_address_are_never_shown(home, capsys, monkeypatch):
    monkeypatch.setenv("QDRANT_URL", "http://user:TESTLEAK@127.0.0.1:9")
    run(["ask", QUESTION, "--json"])
    run(["ask", QUESTION])
    captured = capsys.readouterr()
    assert "TESTLEAK" not in captured.out + captured.err
