"""What a client of the server may ingest: what lies below one folder, links followed."""

from collections.abc import Sequence
from pathlib import Path

from crag_graph.errors import ConfigurationError, InputError
from crag_graph.ingestion.discovery import discover

ROOT_VARIABLE = "CRAG_INGEST_ROOT"


def allowed_paths(paths: Sequence[str], *, root: str) -> list[Path]:
    """Return `paths` as paths that may be read; relative ones are taken from `root`.

    Every file that would be found is looked at: a link below the root may lead out of it.

    Args:
        paths: What the client named.
        root: What `CRAG_INGEST_ROOT` says.

    Raises:
        ConfigurationError: There is no root, or it is no folder.
        InputError: No path is named, one does not exist, or one leads out of the root.
    """
    if not root.strip():
        raise ConfigurationError(
            f"ingestion over the server is off: set {ROOT_VARIABLE} to the folder that clients "
            "may ingest from"
        )
    base = Path(root).expanduser().resolve()
    if not base.is_dir():
        raise ConfigurationError(f"{ROOT_VARIABLE} is {root!r}, which is not a folder")
    allowed = [_below(base, path) for path in paths]
    for file in discover(allowed).files:
        if not Path(file.source).is_relative_to(base):
            raise InputError(f"{file.path} leads out of the folder that {ROOT_VARIABLE} allows")
    return allowed


def _below(base: Path, path: str) -> Path:
    try:
        found = (base / path).resolve()
    except (OSError, ValueError, TypeError):
        raise InputError(f"{path!r} is no path: name files and folders as text") from None
    if not found.is_relative_to(base):
        # Whether it exists is nobody's business, so nothing is said of it.
        raise InputError(f"{path!r} is not below the folder that {ROOT_VARIABLE} allows")
    return found
