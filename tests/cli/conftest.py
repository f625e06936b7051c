import contextlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

_HOLDER = """
import pathlib, sys
from crag_graph.retrieval.store import open_index
index = open_index(home=pathlib.Path(sys.argv[1]), collection=sys.argv[2])
print("held", flush=True)
sys.stdin.read()
index.close()
"""


@contextlib.contextmanager
def _hold(home: Path, collection: str) -> Iterator[None]:
    with subprocess.Popen(
        [sys.executable, "-c", _HOLDER, home, collection],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        yield
        holder.communicate()


@pytest.fixture
def hold() -> Callable[[Path, str], AbstractContextManager[None]]:
    """Lets another process hold an embedded collection for a while."""
    return _hold
