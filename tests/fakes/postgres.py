"""A PostgreSQL server of one's own, in a temporary folder, reached through a socket file."""

import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Self

_HOW_TO_GET_IT = (
    "initdb, pg_ctl and postgres are not installed: run .ci/install-postgres, or install Debian's "
    "package postgresql"
)


def programs() -> Path | None:
    """Return the folder that holds the server's programs, or None where there is none."""
    found = shutil.which("pg_ctl")
    candidates = [Path(found).resolve().parent] if found else []
    candidates += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for folder in candidates:
        if all((folder / name).is_file() for name in ("initdb", "pg_ctl", "postgres")):
            return folder
    return None


class PostgresServer:
    """A fresh server between `__enter__` and `__exit__`; `url` is what psycopg connects to."""

    def __enter__(self) -> Self:
        folder = programs()
        if folder is None:
            raise RuntimeError(_HOW_TO_GET_IT)
        self._programs = folder
        # Short: the path of a socket file may have about a hundred characters.
        self._folder = Path(tempfile.mkdtemp(prefix="crag-pg-"))
        self._data = self._folder / "data"
        self._user = _not_root()
        if self._user is not None:
            shutil.chown(self._folder, self._user)
        try:
            trust = ["--auth=trust", "--username=crag", "--encoding=UTF8", "--no-sync"]
            self._run("initdb", f"--pgdata={self._data}", *trust)
            options = f"-F -c listen_addresses= -c unix_socket_directories={self._folder}"
            log = f"--log={self._folder / 'log'}"
            self._run("pg_ctl", "start", "--wait", f"--pgdata={self._data}", log, "-o", options)
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise
        self.url = f"postgresql://crag@/postgres?host={self._folder}"
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._run("pg_ctl", "stop", "--mode=immediate", f"--pgdata={self._data}")
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [str(self._programs / program), *arguments],
            user=self._user,
            stdout=subprocess.DEVNULL,  # the server inherits it: a pipe would never end
            stderr=subprocess.DEVNULL,
            cwd=self._folder,
            check=False,
        )
        if done.returncode:
            log = self._folder / "log"
            said = log.read_text() if log.is_file() else ""
            raise RuntimeError(f"{program} failed with {done.returncode}: {said}")


def _not_root() -> str | None:
    """Return who is to run the server, which refuses root; None for whoever runs this."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    raise RuntimeError("PostgreSQL refuses to run as root, and there is no other user")
