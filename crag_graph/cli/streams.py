"""The standard streams: any console encoding, closed pipes, exact JSON."""

import contextlib
import json
import os
import sys
from typing import IO, TYPE_CHECKING, Any

from crag_graph.text.clean import clean_text

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress


def prepare_streams() -> None:
    """Make the standard streams replace what their encoding lacks instead of raising."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


def quiet_pipe() -> None:
    """Point stdout away from a closed pipe, so that nothing is raised when the process ends."""
    with contextlib.suppress(OSError, ValueError):
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, sys.stdout.fileno())
        os.close(sink)


def say(sentence: str) -> None:
    """Write one line to stderr; a closed stderr is not worth failing for."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"{clean_text(sentence)}\n")
        sys.stderr.flush()


def stdout_console(*, width: int | None = None) -> "Console":
    """Return a console on stdout that shows text as it is: no markup, emoji codes or guessing."""
    return _console(sys.stdout, width=width)


def stderr_console() -> "Console":
    """Return a console on stderr, for progress; it draws nothing where that is no terminal."""
    return _console(sys.stderr)


def progress_bar(console: "Console") -> "Progress":
    """Return a bar with count, time and what is at hand, which goes away in the end.

    The second time is what is left.
    """
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return Progress(
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("+"),
        TimeRemainingColumn(),
        TextColumn("{task.description}", markup=False),
        console=console,
        transient=True,
    )


def _console(stream: IO[str], *, width: int | None = None) -> "Console":
    from rich.console import Console

    return Console(file=stream, width=width, highlight=False, emoji=False, markup=False)


def write_json(value: Any) -> None:
    """Write `value` as one line of JSON to stdout, in UTF-8 whatever the console's encoding is.

    The value is plain already (`crag_graph.state.plain`), so it holds no NaN or lone surrogate.
    """
    line = json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n"
    sys.stdout.flush()
    binary = getattr(sys.stdout, "buffer", None)
    if binary is None:  # a stream of text only, such as a notebook's
        sys.stdout.write(line)
    else:
        binary.write(line.encode("utf-8"))
        binary.flush()
