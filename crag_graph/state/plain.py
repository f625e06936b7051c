"""Plain values: what every checkpoint, Studio and JSON client can hold."""

import math
from collections.abc import Mapping
from typing import Any


def plain(value: Any) -> Any:
    """Return `value` as plain Python: str, int, float, bool, None, lists and dicts of these.

    numpy scalars and arrays become numbers and lists, sets and tuples lists, bytes their decoded
    text; anything else becomes its `str`, an integer beyond 64 bits too. NaN and infinities become
    None, lone surrogates U+FFFD, NUL characters nothing, since JSON or msgpack does not carry them.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value) if -(2**63) <= value < 2**64 else str(int(value))
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, Mapping):
        return {encodable(str(key)): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted((plain(item) for item in value), key=str)
    if isinstance(value, bytes):
        return encodable(value.decode("utf-8", "replace"))
    if hasattr(value, "tolist"):  # numpy scalars and arrays, without importing numpy
        return plain(value.tolist())
    return encodable(str(value))


def encodable(text: str) -> str:
    """Return `text` without lone surrogates and NUL characters."""
    if text.isascii():
        return text.replace("\x00", "")
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\x00", "")
