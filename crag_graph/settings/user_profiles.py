"""A user's own threshold profiles: one TOML file each, beside the built-in ones.

```toml
upper = 0.62
lower = 0.31

[provenance]              # all of it optional; `crag calibrate` writes it
evaluator = "local"       # whose scores the thresholds were calibrated on
```
"""

import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

from crag_graph.errors import ConfigurationError
from crag_graph.lazy import Lazy
from crag_graph.naming import is_name
from crag_graph.settings.profiles import PROFILES, Aggregate, Profile, Scale

FOLDER = "profiles"
"""Below `CRAG_HOME`."""
SUFFIX = ".toml"

_FIELDS = ("name", "upper", "lower", "scale", "aggregate", "min_relevant_docs", "provenance")
_MOST_DOCUMENTS = 50  # as the setting `min_relevant_docs`
_Stamp = tuple[int, int, int]


class UserProfiles(Mapping[str, Profile]):
    """The built-in profiles by name, and with them those of a folder, read as they are asked for.

    A file is read once and kept; `refresh` looks whether it has changed since. Built-in names
    cannot be taken, and a name that is no file name, such as one with a slash, is never looked up.

    Args:
        folder: Where the files are; it need not exist.
    """

    def __init__(self, folder: Path | Lazy[Path]) -> None:
        self._folder: Lazy[Path] = folder if isinstance(folder, Lazy) else Lazy.of(folder)
        self._known: dict[str, tuple[_Stamp, Profile]] = {}

    def __getitem__(self, name: str) -> Profile:
        """Return the profile; one of the folder as it was when it was last read.

        Raises:
            KeyError: There is none of that name.
            ConfigurationError: Its file is damaged.
        """
        if name in PROFILES:
            return PROFILES[name]
        if name not in self._known:
            self.refresh(name)
        return self._known[name][1]

    def __iter__(self) -> Iterator[str]:
        """Yield the built-in names, then those in the folder, in order."""
        yield from PROFILES
        found = self._folder.get().glob(f"*{SUFFIX}")
        yield from sorted(
            path.stem for path in found if is_name(path.stem) and path.stem not in PROFILES
        )

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def is_loaded(self, name: str) -> bool:
        """Return whether the profile is at hand without reading a file."""
        return name in PROFILES or name in self._known

    def refresh(self, name: str) -> bool:
        """Return whether the profile is another than before, once its file was looked at.

        Raises:
            ConfigurationError: The file is damaged.
        """
        if name in PROFILES or not is_name(name):
            return False
        path = self._folder.get() / f"{name}{SUFFIX}"
        try:
            status = os.stat(path)  # noqa: PTH116  # as it is called most, once a run
        except OSError:
            return self._known.pop(name, None) is not None
        stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
        known = self._known.get(name)
        if known is not None and known[0] == stamp:
            return False
        self._known[name] = (stamp, read_profile(path))
        return True


def read_profile(path: Path) -> Profile:
    """Return the profile that a file holds; its name is the file's.

    Raises:
        ConfigurationError: The file cannot be read, or a field is missing, unknown, of the wrong
            type or impossible; file and field are named.
    """
    try:
        fields = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigurationError(f"profile {path}: cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"profile {path}: not TOML ({error})") from None
    for field in fields:
        if field not in _FIELDS:
            known = ", ".join(_FIELDS)
            raise _bad(path, field, f"there is no such field; there are {known}")
    if fields.get("name", path.stem) != path.stem:
        raise _bad(path, "name", f"it is {fields['name']!r}, but the file is named {path.stem!r}")
    origin = fields.get("provenance", {})
    if not isinstance(origin, dict | str):
        raise _bad(path, "provenance", "a table or a text is needed")
    table = origin if isinstance(origin, dict) else {}
    try:
        return Profile(
            name=path.stem,
            upper=_number(path, fields, "upper"),
            lower=_number(path, fields, "lower"),
            scale=_word(path, fields, "scale", get_args(Scale), "unit"),
            aggregate=_word(path, fields, "aggregate", get_args(Aggregate), "max"),
            min_relevant_docs=_count(path, fields),
            provenance=origin if isinstance(origin, str) else _told(path, table),
            labels=_whole(table.get("labels")),
            evaluator=_text(path, table, "evaluator"),
            fingerprint=_text(path, table, "fingerprint"),
        )
    except ConfigurationError as error:
        what = error.message.removeprefix(f"profile {path.stem!r}: ")
        if what == error.message:
            raise
        raise ConfigurationError(f"profile {path}: {what}") from None


def _bad(path: Path, field: str, why: str) -> ConfigurationError:
    return ConfigurationError(f"profile {path}: {field}: {why}")


def _number(path: Path, fields: Mapping[str, Any], name: str) -> float:
    value = fields.get(name)
    if value is None:
        raise _bad(path, name, "it is missing")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _bad(path, name, f"a number is needed, not {value!r}")
    return float(value)


def _word(
    path: Path, fields: Mapping[str, Any], name: str, words: tuple[str, ...], default: str
) -> Any:
    value = fields.get(name, default)
    if value not in words:
        raise _bad(path, name, f"it must be one of {', '.join(words)}, not {value!r}")
    return value


def _count(path: Path, fields: Mapping[str, Any]) -> int:
    value = fields.get("min_relevant_docs", 1)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MOST_DOCUMENTS:
        why = f"a whole number from 1 to {_MOST_DOCUMENTS} is needed, not {value!r}"
        raise _bad(path, "min_relevant_docs", why)
    return value


def _text(path: Path, table: Mapping[str, Any], name: str) -> str:
    value = table.get(name, "")
    if not isinstance(value, str):
        raise _bad(path, f"provenance.{name}", f"a text is needed, not {value!r}")
    return value


def _whole(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _told(path: Path, table: Mapping[str, Any]) -> str:
    """Return where the numbers come from, in one line for the decision card."""
    if not table:
        return f"own profile, {path.name}"
    if not table.get("labels"):
        return str(table.get("note", f"own profile, {path.name}"))
    parts = [f"calibrated on {table['labels']} labels"]
    if table.get("labels_file"):
        parts[0] += f" of {table['labels_file']}"
    parts += [str(table[key]) for key in ("evaluator", "objective", "date") if table.get(key)]
    if table.get("separable") is False:
        parts.append("although they did not separate")
    return ", ".join(parts)
