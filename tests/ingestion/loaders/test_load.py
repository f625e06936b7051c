import os
from pathlib import Path

import pytest

from crag_graph.errors import EmptyDocumentError, LoadError
from crag_graph.ingestion.loaders import extensions, is_supported, load, parse
from tests.fakes.documents import epub_bytes, pdf_bytes, write_docx, write_pptx


def write_all(folder: Path, text: str) -> dict[str, Path]:
    """Write `text` in every format of its own; control characters only where they can be said."""
    plain = text.replace("\x00", "")
    files = {
        "a.txt": text,
        "a.md": text,
        "a.html": f"<html><title>{text}</title><body><p>{text}</p></body></html>",
        "a.csv": f"name\n{text}\n",
        "a.json": f'{{"name": "{plain}\\u0000"}}',
        "a.jsonl": f'{{"name": "{plain}\\u0000"}}',
        "a.py": text,
        "a.eml": f"Subject: {plain}\n\n{text}",
        "a.ipynb": f'{{"cells": [{{"cell_type": "markdown", "source": "{plain}\\u0000"}}]}}',
    }
    for name, content in files.items():
        (folder / name).write_bytes(content.encode())
    (folder / "a.pdf").write_bytes(pdf_bytes([text], info={"Title": text}))
    (folder / "a.epub").write_bytes(epub_bytes([f"<p>{plain}</p>"], title=plain))
    write_docx(folder / "a.docx", [("Normal", plain)])
    write_pptx(folder / "a.pptx", [(plain, plain)])
    return {path.suffix: path for path in folder.iterdir()}


@pytest.mark.case(90)
def test_no_loader_lets_a_nul_through(tmp_path: Path) -> None:
    files = write_all(tmp_path, "pump\x00 house by the river, long enough to be text")
    assert len(files) == 13
    for suffix, path in files.items():
        for part in load(path):
            assert "pump house by the river" in part.text, suffix
            assert "\x00" not in part.text, suffix
            assert not any("\x00" in str(value) for value in part.metadata.values()), suffix


def test_metadata_is_of_one_line_and_a_decent_length(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_text(f"<title>a\n\nb {'word ' * 5000}</title><p>Text.</p>")
    title = load(path)[0].metadata["title"]
    assert title.startswith("a b word")
    assert len(title) <= 300


@pytest.mark.parametrize(
    "suffix", [".txt", ".md", ".pdf", ".docx", ".csv", ".json", ".epub", ".py"]
)
def test_a_file_without_bytes_is_reported(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    path.touch()
    with pytest.raises(LoadError, match="empty: it has no bytes") as caught:
        load(path)
    assert caught.value.path == str(path)


@pytest.mark.case(85)
@pytest.mark.parametrize("text", [" \n\t\n ", "\ufeff", "\u200b\u200b\n", "\x00\x00", "\u3000\n"])
def test_a_file_of_blanks_is_reported(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(LoadError, match="empty: it has no text"):
        load(path)


@pytest.mark.parametrize(
    ("name", "text", "empty"),
    [
        ("a.csv", "name,size\n", True),
        ("a.json", "[]", True),
        ("a.html", "<html><body><img src='x.png'></body></html>", False),
        ("a.html", " \n", True),
    ],
)
def test_only_what_may_hold_something_unread_is_no_empty_file(
    tmp_path: Path, name: str, text: str, empty: bool
) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(LoadError) as caught:
        load(path)
    assert isinstance(caught.value, EmptyDocumentError) is empty


def test_a_file_beyond_the_limit_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("x" * 101)
    with pytest.raises(LoadError, match="too large: 101 bytes, the limit is 100"):
        load(path, max_bytes=100)
    assert load(path, max_bytes=101)


def test_what_must_not_be_read_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt"
    path.write_text("x")

    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)  # root, as whom tests may run, may read everything
    with pytest.raises(LoadError, match="permission denied"):
        load(path)


def test_missing_files_folders_and_pipes_are_reported(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="no such file"):
        load(tmp_path / "gone.txt")
    (tmp_path / "folder.txt").mkdir()
    with pytest.raises(LoadError, match=r"is a directory|permission denied"):
        load(tmp_path / "folder.txt")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.txt")
        with pytest.raises(LoadError, match="not a regular file"):
            load(tmp_path / "pipe.txt")


@pytest.mark.parametrize("name", ["a.exe", "a.png", "unknown", "a.doc", ".gitignore"])
def test_a_format_without_a_loader_is_reported(name: str) -> None:
    assert not is_supported(Path(name))
    with pytest.raises(LoadError, match="no loader for"):
        parse(Path(name), b"text")


def test_extensions_are_found_in_either_case() -> None:
    assert is_supported(Path("A.PDF"))
    assert {
        ".txt",
        ".md",
        ".html",
        ".pdf",
        ".docx",
        ".pptx",
        ".csv",
        ".json",
        ".jsonl",
        ".epub",
    } < set(extensions())


def test_rubbish_under_any_name_is_a_load_error_or_text(tmp_path: Path) -> None:
    rubbish = bytes((at * 37 + at // 7) % 256 for at in range(5000))
    for suffix in extensions():
        with pytest.raises(LoadError):
            parse(Path(f"a{suffix}"), rubbish)
