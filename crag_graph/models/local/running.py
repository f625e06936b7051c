"""How ONNX models run on the processor: threads, sessions, and batches of like length."""

import os
from collections.abc import Iterator, Sequence
from typing import Any

from crag_graph.errors import ConfigurationError

_THREADS, _MOST_THREADS = "CRAG_SCORER_THREADS", 256
_DEFAULT_MOST = 8


def processors() -> int:
    """Return how many threads a local model takes: `CRAG_SCORER_THREADS`, else the processors.

    Without the variable those that this process may use count, at most 8. It is read here and not
    with the other variables: the process has one encoder, whoever asks it first.

    Raises:
        ConfigurationError: The variable is not a whole number from 1 to 256.
    """
    asked = os.environ.get(_THREADS, "").strip()
    if asked:
        if not asked.isascii() or not asked.isdigit() or not 1 <= int(asked) <= _MOST_THREADS:
            raise ConfigurationError(
                f"{_THREADS} must be a whole number from 1 to {_MOST_THREADS}, not {asked!r}"
            )
        return int(asked)
    usable = (
        os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    )
    return min(_DEFAULT_MOST, len(usable))


def open_session(model: bytes | str, *, threads: int) -> Any:
    """Return an onnxruntime session for `model`, its bytes or its file's path.

    Raises:
        Exception: Whatever onnxruntime raises at a model that it cannot load.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Waiting threads sleep: spinning ones take the processor from whoever shares it.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def batches_of_like_length(lengths: Sequence[int], *, most_tokens: int) -> Iterator[list[int]]:
    """Yield indices, texts of like length together, so that little is padding.

    Args:
        lengths: The number of tokens of each text.
        most_tokens: How many a batch holds at most, padding included; a longer text is alone.
    """
    batch: list[int] = []
    for row in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and lengths[row] * (len(batch) + 1) > most_tokens:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch
