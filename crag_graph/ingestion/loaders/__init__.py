"""Loading documents: bytes of a known format to clean text that knows where it comes from."""

import importlib
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from crag_graph.errors import EmptyDocumentError, LoadError
from crag_graph.ingestion.loaders.base import Heading, LoadedPart, PartKind, Source
from crag_graph.ingestion.loaders.formats import extensions, loader_of
from crag_graph.text.clean import clean_text, is_blank, shorten

__all__ = [
    "DEFAULT_MAX_BYTES", "LOADERS_VERSION", "Heading", "LoadedPart", "PartKind", "extensions",
    "is_supported", "is_worth_loading", "load", "parse", "read", "without_text",
]  # fmt: skip

DEFAULT_MAX_BYTES = 100 * 1024 * 1024
"""The largest file that is read: a scanned book; all of it is in memory while it is parsed."""

LOADERS_VERSION = "loaders-2"
"""Raised when a loader makes another text of the same bytes, so that documents are loaded anew."""

_LONGEST_METADATA = 300
# Loaders of formats of which a person sees no more than what is read: no picture, no script.
_OPEN = frozenset(("markdown", "notebook", "records", "tables", "text"))
_NOT_BLOCKING = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def is_supported(path: Path) -> bool:
    """Return whether there is a loader for a file of this name."""
    return loader_of(path) is not None


def is_worth_loading(path: Path, data: bytes) -> bool:
    """Return False for source files that nobody reads: minified scripts and styles.

    A folder of built documentation is full of them, and they are no mistake in it.
    """
    from crag_graph.ingestion.loaders.text import is_mere_output

    return not is_mere_output(path.suffix.lower(), data)


def load(path: Path, *, max_bytes: int = DEFAULT_MAX_BYTES) -> list[LoadedPart]:
    """Return the parts of the document at `path`, at least one, none of them blank.

    Args:
        path: A file; the extension says what it is.
        max_bytes: The largest file that is read, and the most that a container may unpack to.

    Raises:
        EmptyDocumentError: There is nothing in it to be read.
        LoadError: The file cannot be read, is not what its name says, or has no text.
    """
    return parse(path, read(path, max_bytes=max_bytes), max_bytes=max_bytes)


def read(path: Path, *, max_bytes: int = DEFAULT_MAX_BYTES) -> bytes:
    """Return the bytes of a file.

    Raises:
        LoadError: It is missing, too large, no regular file, or must not be read.
    """
    try:
        # Not blocking, so that a named pipe that nobody writes to does not hang.
        descriptor = os.open(path, os.O_RDONLY | _NOT_BLOCKING)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise LoadError(str(path), "not a regular file")
            data = file.read(max_bytes + 1)
            size = max(len(data), os.fstat(descriptor).st_size)
    except OSError as error:
        raise LoadError(str(path), (error.strerror or str(error)).lower()) from error
    if size > max_bytes:
        raise LoadError(str(path), f"too large: {size:,} bytes, the limit is {max_bytes:,}")
    return data


def parse(path: Path, data: bytes, *, max_bytes: int = DEFAULT_MAX_BYTES) -> list[LoadedPart]:
    """Return the parts of a document whose bytes are at hand, at least one, none of them blank.

    Raises:
        EmptyDocumentError: There is nothing in it to be read.
        LoadError: The bytes are not what the name says, or hold no text.
    """
    source = Source(path=path, data=data, suffix=path.suffix.lower(), max_bytes=max_bytes)
    name = loader_of(path)
    if name is None:
        raise source.error(f"no loader for {source.suffix or 'a file without an extension'}")
    if not data:
        raise EmptyDocumentError(str(path), "empty: it has no bytes")
    try:
        parts = [_cleaned(part) for part in _loader(name)(source)]
    except LoadError:
        raise
    except Exception as error:
        # What the libraries raise over damaged files has no common root: KeyError, struct.error,
        # zlib.error, RecursionError and their own. All of them mean this one file.
        raise source.error(
            f"damaged, or no {source.suffix} file ({type(error).__name__})"
        ) from error
    parts = [part for part in parts if not is_blank(part.text)]
    if not parts:
        raise without_text(path, data)
    return parts


def without_text(path: Path, data: bytes) -> LoadError:
    """Return the error of a document whose loader finds no text, to be raised or reported."""
    module = (loader_of(path) or "").partition(":")[0]
    if module in _OPEN or not data.strip():
        return EmptyDocumentError(str(path), "empty: it has no text")
    return LoadError(str(path), "it has no text (only pictures?)")


def _loader(name: str) -> Callable[[Source], Iterator[LoadedPart]]:
    module, _, function = name.partition(":")
    loader: Callable[[Source], Iterator[LoadedPart]] = getattr(
        importlib.import_module(f"crag_graph.ingestion.loaders.{module}"), function
    )
    return loader


def _cleaned(part: LoadedPart) -> LoadedPart:
    metadata = {key: _clean_value(value) for key, value in part.metadata.items()}
    text = clean_text(part.text)
    # Loaders that give headings clean before they count, so that nothing shifts here.
    return LoadedPart(
        text=text,
        kind=part.kind,
        metadata={key: value for key, value in metadata.items() if value not in (None, "")},
        headings=part.headings,
    )


def _clean_value(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return shorten(" ".join(clean_text(value).split()), _LONGEST_METADATA)
