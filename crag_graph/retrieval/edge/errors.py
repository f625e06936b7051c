"""What the embedded engine raises, as this package's own errors.

The engine raises bare `Exception` with a text, and on damaged files a panic that is not even an
`Exception`. Its texts are thus all there is to tell them apart.
"""

from pathlib import Path

from crag_graph.errors import (
    CollectionMismatchError,
    StoreDamagedError,
    StoreError,
    StoreFullError,
    StoreLockedError,
    StoreRequestError,
)

_MISMATCH = ("Vector dimension error", "Not existing vector name")
_FULL = ("No space left", "os error 28", "StorageFull")
_REFUSED = ("os error 13", "os error 24", "os error 30", "os error 12", "Permission denied")


def is_engine_error(error: BaseException) -> bool:
    """Return whether `error` came from the engine, a panic included, and is not our own."""
    is_panic = type(error).__name__ == "PanicException"
    return is_panic or (isinstance(error, Exception) and not isinstance(error, StoreError))


def as_store_error(error: BaseException, *, path: Path, loading: bool) -> StoreError:
    """Return the error that stands for `error`.

    Args:
        error: What the engine raised.
        path: The store.
        loading: While a store is loaded, whatever is not known means that it is damaged.
    """
    said = " ".join(str(error).split())[:300] or type(error).__name__
    if "WouldBlock" in said:
        return locked(path)
    if any(sign in said for sign in _FULL):
        return StoreFullError(f"the disk of {path} is full: free some space and try again")
    if any(sign in said for sign in _REFUSED):
        return StoreError(f"the system refuses access to {path} ({said}): check its permissions")
    if any(sign in said for sign in _MISMATCH):
        return CollectionMismatchError(
            f"the store {path} was made for other vectors ({said}): ingest into another collection"
        )
    if "not initialized" in said:
        return closed(path)
    if isinstance(error, ValueError | TypeError):
        return StoreRequestError(f"the store {path} refuses the request ({said})")
    if loading or type(error).__name__ == "PanicException" or "Service runtime error" in said:
        return damaged(path, said)
    return StoreError(f"the store {path} failed ({said})")


def locked(path: Path) -> StoreLockedError:
    """Return the error for a store that another process holds."""
    return StoreLockedError(
        f"the store {path} is in use by another process: close it or set QDRANT_URL"
    )


def closed(path: Path) -> StoreError:
    """Return the error for a call after `close`."""
    return StoreError(f"the store {path} was closed before this call: open it again")


def damaged(path: Path, why: str) -> StoreDamagedError:
    """Return the error for a store that does not hold what it should."""
    return StoreDamagedError(
        f"the store {path} is damaged ({why}): move the collection's folder away and run "
        "`crag ingest` again"
    )
