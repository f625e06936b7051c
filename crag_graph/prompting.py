"""Prompts: Markdown files with $variables, overridable by a folder and by the settings of a run.

A file has a header comment that tells its variables, the text for the system message, a line
`<!-- user -->`, and the text for the user message. `$$` stands for a dollar sign; what is not one
of the variables stays as it is. Values are put in once and never searched for variables, so
braces and dollar signs in questions and passages mean nothing.
"""

import dataclasses
import hashlib
import math
import string
import time
from collections.abc import Mapping
from pathlib import Path

import regex
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from crag_graph.errors import ConfigurationError

NAMES: dict[str, tuple[str, ...]] = {
    "evaluate": ("question", "passages"),
    "grade": ("question", "passages"),
    "grade_passage": ("question", "passages"),
    "refine": ("question", "passages"),
    "rewrite": ("question",),
    "answer_correct": ("question", "evidence"),
    "answer_incorrect": ("question", "evidence"),
    "answer_ambiguous": ("question", "evidence"),
    "standalone": ("question", "history"),
}
"""The prompts, and the variables that each must have somewhere."""

_HEADER = regex.compile(r"\A\s*<!--.*?-->\s*", regex.S)
_USER = regex.compile(r"^[ \t]*<!--[ \t]*user[ \t]*-->[ \t]*$", regex.M | regex.I)
_HASH_CHARACTERS = 12
_FRESH_SECONDS = 1.0
_MOST_LOADED = 100


@dataclasses.dataclass(frozen=True, kw_only=True)
class Prompt:
    """A prompt with its variables still in it.

    Attributes:
        name: One of `NAMES`.
        system: The template of the system message.
        user: The template of the user message.
    """

    name: str
    system: str
    user: str

    @property
    def hash(self) -> str:
        """Twelve hexadecimal digits that follow from both texts; part of cache keys."""
        text = f"{self.system}\0{self.user}".encode("utf-8", "replace")
        return hashlib.sha256(text).hexdigest()[:_HASH_CHARACTERS]

    def render(self, **values: str) -> list[BaseMessage]:
        """Return the system and the user message with `values` in place of the variables.

        A system text that is empty gives no system message.
        """
        system = string.Template(self.system).safe_substitute(values).strip()
        user = string.Template(self.user).safe_substitute(values).strip()
        return [*([SystemMessage(system)] if system else []), HumanMessage(user)]


@dataclasses.dataclass(frozen=True)
class Prompts:
    """Where prompts come from: a folder of one's own, then the files of the package.

    Files are read as they are needed, so that an edit takes effect without a restart. Reading is
    work for a thread, not for an event loop; `fresh` spares it for a second.

    Attributes:
        folder: A folder with some or all of the files, or None.
    """

    folder: Path | None = None
    _loaded: dict[tuple[str, str], tuple[float, Prompt]] = dataclasses.field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> "Prompts":
        """Return the prompts of the folder that `CRAG_PROMPTS` names, if it names one."""
        folder = environ.get("CRAG_PROMPTS", "").strip()
        return cls(Path(folder).expanduser() if folder else None)

    def fresh(self, name: str, *, override: str = "") -> Prompt | None:
        """Return a prompt that was loaded within the last second, else None. Reads no file."""
        loaded_at, prompt = self._loaded.get((name, override), (-math.inf, None))
        return prompt if time.monotonic() - loaded_at < _FRESH_SECONDS else None

    def load(self, name: str, *, override: str = "") -> Prompt:
        """Return a prompt, read now.

        Args:
            name: One of `NAMES`.
            override: The text of this run in place of the file. Without a line `<!-- user -->` it
                replaces the system text alone.

        Raises:
            ConfigurationError: The folder does not exist, a file cannot be read, or a variable
                that the prompt needs is missing.
        """
        system, user = _parts(self._text(name))
        if override.strip():
            own_system, own_user = _parts(override)
            system, user = own_system, own_user or user
        prompt = Prompt(name=name, system=system, user=user or "")
        used = {
            *string.Template(prompt.system).get_identifiers(),
            *string.Template(prompt.user).get_identifiers(),
        }
        for variable in NAMES[name]:
            if variable not in used:
                raise ConfigurationError(
                    f"the prompt {name!r} lacks the variable ${variable}: put it where the "
                    f"{variable} belongs"
                )
        if len(self._loaded) >= _MOST_LOADED:
            self._loaded.clear()
        self._loaded[name, override] = time.monotonic(), prompt
        return prompt

    def _text(self, name: str) -> str:
        if self.folder is not None:
            if not self.folder.is_dir():
                raise ConfigurationError(
                    f"CRAG_PROMPTS is {str(self.folder)!r}, which is not a folder"
                )
            own = self.folder / f"{name}.md"
            if own.is_file():
                return _read(own)
        return _read(packaged_folder() / f"{name}.md")


def packaged_folder() -> Path:
    """Return the folder of the prompts that come with the package.

    In an installed wheel it lies inside the package, in a checkout beside it.
    """
    inside = Path(__file__).parent / "prompts"
    return inside if inside.is_dir() else Path(__file__).parent.parent / "prompts"


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigurationError(f"the prompt {str(path)!r} cannot be read: {reason}") from None


def _parts(text: str) -> tuple[str, str | None]:
    """Return the system part, and the user part or None where there is none."""
    match = _USER.search(text)
    if match is None:
        return _HEADER.sub("", text).strip(), None
    system = _HEADER.sub("", text[: match.start()])
    return system.strip(), text[match.end() :].strip()
