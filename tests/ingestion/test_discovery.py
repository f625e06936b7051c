import os
from pathlib import Path

import pytest

from crag_graph.errors import InputError
from crag_graph.ingestion.discovery import Discovery, discover, source_of
from crag_graph.ingestion.loaders import is_supported


def write(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)


def names(found: Discovery, folder: Path) -> list[str]:
    return [file.path.relative_to(folder).as_posix() for file in found.files]


def test_files_are_found_at_any_depth_in_a_fixed_order(tmp_path: Path) -> None:
    write(tmp_path, "b.md", "a.txt", "sub/z.md", "sub/deep/er/a.md", "z.md")
    assert names(discover([tmp_path]), tmp_path) == [
        "a.txt",
        "b.md",
        "z.md",
        "sub/z.md",
        "sub/deep/er/a.md",
    ]


def test_what_no_person_wrote_is_left_out(tmp_path: Path) -> None:
    write(tmp_path, ".git/a.md", ".hidden.md", ".venv/x/a.py", "node_modules/x/README.md")
    write(tmp_path, "__pycache__/a.py", "CVS/a.txt", "kept.md")
    found = discover([tmp_path])
    assert names(found, tmp_path) == ["kept.md"]
    assert found.skipped == 0


def test_a_path_that_is_given_is_taken_whatever_its_name(tmp_path: Path) -> None:
    write(tmp_path, ".notes/a.md", "a.png")
    assert names(discover([tmp_path / ".notes"]), tmp_path) == [".notes/a.md"]
    assert names(discover([tmp_path / "a.png"]), tmp_path) == ["a.png"]


def test_formats_without_a_loader_are_counted(tmp_path: Path) -> None:
    write(tmp_path, "a.png", "b.exe", "sub/c.bin", "d.md")
    found = discover([tmp_path])
    assert names(found, tmp_path) == ["d.md"]
    assert found.skipped == 3


def test_links_are_followed_and_loops_end(tmp_path: Path) -> None:
    write(tmp_path, "root/a.md", "elsewhere/b.md")
    (tmp_path / "root/loop").symlink_to(tmp_path / "root")
    (tmp_path / "root/linked").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "root/again.md").symlink_to(tmp_path / "root/a.md")
    (tmp_path / "elsewhere/back").symlink_to(tmp_path / "root")
    found = discover([tmp_path / "root"])
    assert [Path(file.source).name for file in found.files] == ["a.md", "b.md"]


def test_a_link_that_leads_nowhere_is_reported(tmp_path: Path) -> None:
    (tmp_path / "gone.md").symlink_to(tmp_path / "nothing.md")
    (tmp_path / "self.md").symlink_to(tmp_path / "self.md")
    (tmp_path / "gone.png").symlink_to(tmp_path / "nothing.png")
    reasons = discover([tmp_path]).unreadable
    assert [Path(path).name for path, _ in reasons] == ["gone.md", "self.md"]
    assert {reason for _, reason in reasons} == {"a link that leads nowhere"}


def test_a_folder_that_must_not_be_read_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "a.md", "locked/b.md")
    scandir = os.scandir

    def refuse(path: Path) -> object:
        if Path(path).name == "locked":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)  # root, as whom tests may run, may read everything
    found = discover([tmp_path])
    assert names(found, tmp_path) == ["a.md"]
    assert found.unreadable == ((str(tmp_path / "locked"), "permission denied"),)


def test_a_missing_path_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone cannot be ingested: no such file"):
        discover([tmp_path / "gone"])
    with pytest.raises(InputError, match="cannot be ingested"):
        discover([Path("a\x00b")])
    with pytest.raises(InputError, match="no path to ingest"):
        discover([])


def test_the_same_file_is_one_document_however_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "docs/a.md")
    monkeypatch.chdir(tmp_path / "docs")
    paths = [Path("a.md"), Path("../docs/a.md"), tmp_path / "docs" / "a.md", tmp_path]
    (file,) = discover(paths).files
    assert file.source == (tmp_path / "docs/a.md").resolve().as_posix()
    assert discover([tmp_path]).files[0].document_id == file.document_id


def test_another_path_is_another_document(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "b.md")
    first, second = discover([tmp_path]).files
    assert first.document_id != second.document_id


@pytest.mark.case(56)
def test_names_that_are_not_utf8_are_ingested_under_a_printable_one(tmp_path: Path) -> None:
    for raw in (b"caf\xe9.md", b"caf\xe8.md"):
        (Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + raw))).write_text("x")
    sources = [file.source for file in discover([tmp_path]).files]
    assert [source.rpartition("/")[2] for source in sources] == [r"caf\xe8.md", r"caf\xe9.md"]


def test_a_path_covers_itself_and_what_is_below_it(tmp_path: Path) -> None:
    write(tmp_path, "docs/a.md", "docs2/b.md")
    found = discover([tmp_path / "docs"])
    root = source_of(tmp_path)
    assert found.covers(f"{root}/docs/deep/x.md")
    assert found.covers(f"{root}/docs")
    assert not found.covers(f"{root}/docs2/b.md")
    everything = Discovery(files=(), roots=("/",), skipped=0, unreadable=())
    assert everything.covers("/etc/x.md")


def test_a_file_of_environment_variables_is_not_indexed(tmp_path: Path) -> None:
    # Such files hold keys, which would be found, quoted and sent to a model.
    path = tmp_path / "prod.env"
    path.write_text("API_KEY=abc\n")
    assert not is_supported(path)
