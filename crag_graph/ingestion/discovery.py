"""Finding the files to ingest below the paths that were given."""

import dataclasses
import os
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

from crag_graph.errors import InputError
from crag_graph.ingestion.loaders import is_supported

# Kept by version control and package managers: not what a person wrote. Hidden ones are left out
# anyway.
_IGNORED_FOLDERS = frozenset(("CVS", "_darcs", "__pycache__", "node_modules"))
# Any namespace would do, as long as it never changes: ids must come out the same in every run.
_NAMESPACE = uuid.UUID("2b0b5f0c-8a46-4a4e-9d57-3f9d1f6f2b5e")


@dataclasses.dataclass(frozen=True, kw_only=True)
class FoundFile:
    """A file to ingest.

    Attributes:
        path: Where it was found.
        source: Its absolute path without links, with `/`; what citations show.
        document_id: A UUID that follows from `source`. A file that is moved is another document: it
            is ingested under its new path, and the old one goes when pruning.
    """

    path: Path
    source: str
    document_id: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Discovery:
    """What lies below the given paths.

    Attributes:
        files: In order, each once, however many links lead to it.
        roots: The given paths as absolute paths without links, with `/`.
        skipped: How many files have a format that cannot be loaded.
        unreadable: Folders and links that cannot be followed: (path, reason).
    """

    files: tuple[FoundFile, ...]
    roots: tuple[str, ...]
    skipped: int
    unreadable: tuple[tuple[str, str], ...]

    def covers(self, source: str) -> bool:
        """Return whether `source` is one of the given paths or lies below one."""
        return any(
            source == root or source.startswith(f"{root.rstrip('/')}/") for root in self.roots
        )


def discover(paths: Sequence[Path]) -> Discovery:
    """Return the files at and below `paths`.

    Folders are searched to any depth, through links too, each folder once, so that loops end.
    Hidden files and folders, those of version control and of package managers are left out; a path
    that is given itself is always taken.

    Raises:
        InputError: No path is given, or one does not exist.
    """
    if not paths:
        raise InputError("no path to ingest: name files or folders")
    walk = _Walk()
    for path in paths:
        try:
            path.stat()
        except (OSError, ValueError) as error:  # a NUL in the name is a ValueError
            reason = (getattr(error, "strerror", None) or str(error)).lower()
            raise InputError(f"{path} cannot be ingested: {reason}") from error
        if path.is_dir():
            walk.folder(path)
        else:
            walk.add(path)
    return Discovery(
        files=tuple(walk.files.values()),
        roots=tuple(source_of(path) for path in paths),
        skipped=walk.skipped,
        unreadable=tuple(walk.unreadable),
    )


def source_of(path: Path) -> str:
    """Return the absolute path without links, with `/`; bytes that are not UTF-8 are escaped."""
    resolved = Path(os.path.realpath(path)).as_posix()
    return resolved.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


class _Walk:
    def __init__(self) -> None:
        self.files: dict[str, FoundFile] = {}
        self.skipped = 0
        self.unreadable: list[tuple[str, str]] = []
        self._seen: set[str] = set()

    def add(self, path: Path) -> None:
        source = source_of(path)
        document_id = str(uuid.uuid5(_NAMESPACE, source))
        self.files.setdefault(source, FoundFile(path=path, source=source, document_id=document_id))

    def folder(self, root: Path) -> None:
        """Add what is below `root`: files of a folder first, then its folders, both sorted."""
        waiting = [root]
        while waiting:
            folder = waiting.pop()
            real = os.path.realpath(folder)
            if real in self._seen:
                continue
            self._seen.add(real)
            waiting.extend(reversed(list(self._files_of(folder))))

    def _files_of(self, folder: Path) -> Iterator[Path]:
        """Add the files of a folder, and yield its folders."""
        try:
            with os.scandir(folder) as entries:
                ordered = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            self.unreadable.append((str(folder), (error.strerror or str(error)).lower()))
            return
        for entry in ordered:
            path = folder / entry.name
            if entry.name.startswith("."):
                continue
            # Not the entry's own methods: these raise for a link to itself.
            if path.is_dir():
                if entry.name not in _IGNORED_FOLDERS:
                    yield path
            elif path.is_file():
                if is_supported(path):
                    self.add(path)
                else:
                    self.skipped += 1
            elif entry.is_symlink() and is_supported(path):
                self.unreadable.append((str(path), "a link that leads nowhere"))
