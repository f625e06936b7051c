"""`crag ingest` on real files, the real embedded store and the real local embeddings."""

import contextlib
import json
from pathlib import Path

import pytest

from crag_graph.cli import ingesting
from crag_graph.cli.entry import run
from crag_graph.errors import StoreFullError
from crag_graph.ingestion.ingest import IngestProgress


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    monkeypatch.setenv("CRAG_HOME", str(home))
    for name in ("CRAG_COLLECTION", "CRAG_EMBEDDINGS", "QDRANT_URL"):
        monkeypatch.delenv(name, raising=False)
    return home


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "ferry.md").write_text("# Ferry\n\nIt leaves at nine.\n", encoding="utf-8")
    (folder / "pump.txt").write_text("The inlet valve closes first.\n", encoding="utf-8")
    return folder


def ingest_json(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict:
    assert run(["ingest", *arguments, "--json"]) == code
    report = json.loads(capsys.readouterr().out)
    assert isinstance(report, dict)
    return report


def test_a_person_is_told_what_was_done(home: Path, folder: Path, capsys):
    assert run(["ingest", str(folder)]) == 0
    out, err = capsys.readouterr()
    assert "Indexed into the collection 'default'" in out
    assert "2 added, 0 changed, 0 unchanged · 2 chunks" in out
    assert err == ""


@pytest.mark.case(76)
def test_again_changes_nothing_and_pruning_removes_what_is_gone(home: Path, folder: Path, capsys):
    ingest_json(capsys, str(folder))
    again = ingest_json(capsys, str(folder))
    assert (again["added"], again["unchanged"], again["chunks"]) == (0, 2, 0)
    (folder / "pump.txt").unlink()
    assert ingest_json(capsys, str(folder))["pruned"] == 0
    assert ingest_json(capsys, str(folder), "--prune")["pruned"] == 1
    assert run(["status", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["collections"][0]["documents"] == 1


def test_a_dry_run_leaves_nothing_behind(home: Path, folder: Path, capsys):
    report = ingest_json(capsys, str(folder), "--dry-run")
    assert (report["dry_run"], report["added"], report["chunks"]) == (True, 2, 2)
    assert not home.exists()
    ingest_json(capsys, str(folder))
    (folder / "new.txt").write_text("Something new.", encoding="utf-8")
    report = ingest_json(capsys, str(folder), "--dry-run")
    assert (report["added"], report["unchanged"]) == (1, 2)
    assert ingest_json(capsys, str(folder))["added"] == 1


@pytest.mark.case(89)
def test_one_broken_file_does_not_keep_the_good_ones_out(home: Path, folder: Path, capsys):
    (folder / "scan.pdf").write_bytes(b"%PDF-1.4 nothing of a PDF in here")
    (folder / "broken.docx").write_bytes(b"PK nothing of a document")
    (folder / "empty.md").write_bytes(b"")
    (folder / "photo.xyz").write_bytes(b"\x00\x01")
    report = ingest_json(capsys, str(folder), code=1)
    assert (report["ok"], report["added"], report["skipped"]) == (False, 2, 1)
    assert {Path(item["path"]).name for item in report["failed"]} == {"scan.pdf", "broken.docx"}
    assert report["empty"] == [str(folder / "empty.md")]
    assert run(["ingest", str(folder)]) == 1
    out, err = capsys.readouterr()
    assert "! " in out
    assert "scan.pdf:" in out
    assert err == "crag: 2 of 5 files could not be indexed\n"


def test_empty_files_are_counted_and_no_failure(home: Path, folder: Path, capsys):
    for name in ("todo.md", "data.csv", "__init__.py", "rows.jsonl"):
        (folder / name).write_bytes(b"\n" if name == "data.csv" else b"")
    assert run(["ingest", str(folder)]) == 0
    out, err = capsys.readouterr()
    assert "4 files without text: __init__.py, data.csv, rows.jsonl, todo.md" in out
    assert (err, "! " in out) == ("", False)
    (folder / "ferry.md").write_bytes(b"")  # the index still answers from it
    assert run(["ingest", str(folder)]) == 1
    assert "stays indexed" in capsys.readouterr().out


def test_a_missing_path_makes_nothing_even_beside_a_good_one(home: Path, folder: Path, capsys):
    assert run(["ingest", str(folder), str(folder / "nowhere")]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f"crag: {folder / 'nowhere'} cannot be ingested: no such file or directory\n"
    assert not home.exists()


def test_no_path_is_bad_usage(capsys):
    assert run(["ingest"]) == 2
    assert capsys.readouterr().err.startswith("crag ingest: missing argument")


def test_a_folder_without_documents_says_so(home: Path, tmp_path: Path, capsys):
    empty = tmp_path / "empty"
    empty.mkdir()
    assert run(["ingest", str(empty)]) == 0
    assert "No file of a known format was found." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--chunker", "magic"], "'magic' is not known"),
        (["--chunk-size", "3"], "chunk size 3 is too small"),
        (["--chunk-overlap", "150"], "chunk overlap 150 must be between"),
        (["--chunk-size", "many"], "--chunk-size"),
        (["-c", "../up"], "collection '../up'"),
    ],
)
def test_options_that_cannot_be_used_are_bad_usage(home, folder, capsys, options, said):
    assert run(["ingest", str(folder), *options]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1


def test_the_chunker_is_chosen(home: Path, folder: Path, capsys):
    text = "\n\n".join(f"# Part {number}\n\nAbout number {number}." for number in range(4))
    (folder / "parts.md").write_text(text, encoding="utf-8")
    assert ingest_json(capsys, str(folder), "-c", "a", "--chunker", "recursive")["chunks"] == 3
    assert ingest_json(capsys, str(folder), "-c", "b", "--chunker", "markdown")["chunks"] == 6


@pytest.mark.case(70)
def test_another_embedding_model_is_refused_and_nothing_deleted(home, folder, capsys, monkeypatch):
    ingest_json(capsys, str(folder))

    class Other:
        name = "other-model"
        dimension = 8

    monkeypatch.setattr(ingesting, "load_embeddings", lambda environment: Other())
    assert run(["ingest", str(folder)]) == 1
    err = capsys.readouterr().err
    assert "'default' holds vectors of all-MiniLM-L6-v2 (384 components)" in err
    assert "other-model (8 components)" in err
    assert err.count("\n") == 1
    monkeypatch.undo()
    monkeypatch.setenv("CRAG_HOME", str(home))
    assert ingest_json(capsys, str(folder))["unchanged"] == 2


def test_a_full_disk_is_said_before_it_can_kill_the_process(home, folder, capsys, monkeypatch):
    def full(*args: object, **kwargs: object) -> None:
        raise StoreFullError("the disk of /data has 3 MiB free, but 256 MiB are needed")

    monkeypatch.setattr("crag_graph.retrieval.edge.setup.require_free", full)
    assert run(["ingest", str(folder)]) == 1
    assert capsys.readouterr().err.startswith("crag: the disk of /data has 3 MiB free")


@pytest.mark.case(69)
def test_a_store_that_another_process_holds_is_one_sentence(home, folder, capsys, hold):
    ingest_json(capsys, str(folder))
    (folder / "new.txt").write_text("Something new.", encoding="utf-8")
    with hold(home, "default"):
        for command in (["ingest", str(folder)], ["ask", "Which valve closes first?"]):
            assert run(command) == 1
            out, err = capsys.readouterr()
            assert out == ""
            assert "another process" in err
            assert err.count("\n") == 1
        assert run(["status"]) == 0
        assert "default" in capsys.readouterr().out
    assert ingest_json(capsys, str(folder))["added"] == 1


def test_an_interrupt_keeps_what_was_stored_and_says_how_to_go_on(
    home: Path, folder: Path, capsys, monkeypatch
):
    @contextlib.contextmanager
    def interrupting():
        def tell(at: IngestProgress) -> None:
            if at.chunks:
                raise KeyboardInterrupt

        yield tell

    with monkeypatch.context() as patched:
        patched.setattr(ingesting, "_progress", interrupting)
        assert run(["ingest", str(folder), "--json"]) == 130
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "what was stored so far is kept; run the same command again to go on",
        "interrupted",
    ]
    report = ingest_json(capsys, str(folder))
    assert (report["added"], report["unchanged"]) == (0, 2)
