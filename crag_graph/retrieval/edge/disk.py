"""Free space, checked before it is needed: a full disk kills a process that maps files."""

import errno
import shutil
import tempfile
from pathlib import Path

from crag_graph.errors import StoreError, StoreFullError

OPEN_BYTES = 64 * 1024 * 1024
"""Loading maps sparse files, whose first touched pages must find room."""
WRITE_BYTES = 256 * 1024 * 1024
"""The engine preallocates sparse files (133 MB for an empty store), which fill up unasked."""


def require_free(path: Path, *, needed: int) -> None:
    """Refuse to go on unless the disk of `path` has `needed` bytes free.

    Raises:
        StoreFullError: It has not; both figures are named.
        StoreError: There is no such disk, or nothing can be written there: file systems that take
            no files, such as `/proc` or a mounted image, say that they have no room.
    """
    place = next((place for place in (path, *path.parents) if place.exists()), path)
    try:
        free = shutil.disk_usage(place).free
    except OSError as error:
        raise StoreError(f"cannot read the free space at {place}: {error.strerror}") from error
    if free < needed:
        _require_writable(place, wanted=path)
        raise StoreFullError(
            f"the disk of {path} has {free / 2**20:,.0f} MiB free, but {needed / 2**20:,.0f} MiB "
            "are needed: free some space and run the same command again"
        )


def _require_writable(place: Path, *, wanted: Path) -> None:
    """Refuse a folder in which nothing can be made for another reason than want of room."""
    try:
        # Tried rather than asked for: rights say nothing of file systems, and root has all of them.
        with tempfile.TemporaryDirectory(dir=place, prefix=".crag-"):
            pass
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return
        reason = (error.strerror or str(error)).lower()
        raise StoreError(
            f"{wanted} cannot be written ({place}: {reason}): set CRAG_HOME to a folder that you "
            "may write to"
        ) from error


def size_on_disk(folder: Path) -> int:
    """Return the bytes that the files of `folder` really take, less than sparse ones say."""
    total = 0
    for path in folder.rglob("*"):
        try:
            status = path.lstat()
        except FileNotFoundError:
            continue  # the engine merges its files meanwhile
        # Blocks are of 512 bytes whatever the file system; Windows does not count them.
        total += status.st_blocks * 512 if hasattr(status, "st_blocks") else status.st_size
    return total
