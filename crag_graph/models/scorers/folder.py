"""A model's folder: what is known of it from its small files, and what tells it from another."""

import dataclasses
import hashlib
import json
import tomllib
from pathlib import Path
from typing import Any, Self, get_args

from crag_graph.errors import ConfigurationError
from crag_graph.models.scorers.base import Calibration, ScaleName, ScoreScale, finite

OWN_FILE = "scorer.toml"
_DEFAULT_TOKENS = 512
# Tokenizers without a limit of their own say so with an enormous number.
_NO_LIMIT = 100_000
# What roberta and its kin reserve of their positions.
_RESERVED = {"roberta": 2, "xlm-roberta": 2, "camembert": 2}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Facts:
    """What the small files of a folder say. Each of them may be missing.

    Attributes:
        scale: The scale of the scores: `scorer.toml`'s, else log-odds.
        max_tokens: The smallest of the limits that are named, else 512.
        labels: Output → label, from `config.json`.
        label: The label that means an answer, from `scorer.toml`.
    """

    scale: ScoreScale
    max_tokens: int
    labels: dict[int, str]
    label: str

    @classmethod
    def read(cls, folder: Path, *, scale: ScaleName = "logit") -> Self:
        """Return what `folder` says.

        Args:
            folder: Holds `config.json`, `tokenizer_config.json` and `scorer.toml`, or some of them.
            scale: The scale of the scores where `scorer.toml` names none.

        Raises:
            ConfigurationError: A file cannot be read; its name is told.
        """
        config, tokenizer = (_json(folder / name) for name in ("config.json", _TOKENIZER))
        own = _own(folder / OWN_FILE)
        positions = finite(config.get("max_position_embeddings"))
        if positions is not None:
            positions -= _RESERVED.get(str(config.get("model_type")), 0)
        limits = [finite(tokenizer.get("model_max_length")), positions]
        known = [int(limit) for limit in limits if limit is not None and 8 <= limit < _NO_LIMIT]
        labels = config.get("id2label")
        return cls(
            scale=ScoreScale(
                name=own.get("scale", scale), calibration=_calibration(own, folder / OWN_FILE)
            ),
            max_tokens=own.get("max_tokens") or min(known, default=_DEFAULT_TOKENS),
            labels={int(key): str(name) for key, name in labels.items()}
            if isinstance(labels, dict) and all(str(key).isdigit() for key in labels)
            else {},
            label=own.get("label", ""),
        )


_TOKENIZER = "tokenizer_config.json"


def content_hash(folder: Path) -> str:
    """Return a hash of all that a model's folder holds, hidden files and their folders left out."""
    found = hashlib.sha256()
    files = [path for path in folder.rglob("*") if path.is_file()]
    for path in sorted(files):
        name = path.relative_to(folder)
        if not any(part.startswith(".") for part in name.parts):
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            found.update(f"{name.as_posix()}\0{digest}\n".encode())
    return found.hexdigest()[:32]


def as_folder(name: str) -> Path | None:
    """Return the folder that `name` means; None where it is the name of a model.

    Raises:
        ConfigurationError: It is written like a path, and there is no such folder.
    """
    path = Path(name).expanduser()
    if path.is_dir():
        return path
    if path.exists():
        raise ConfigurationError(f"{name} is not a folder with a model in it")
    # A model's name on the hub has one slash at most.
    if path.is_absolute() or name.startswith((".", "~")) or "\\" in name or name.count("/") > 1:
        raise ConfigurationError(
            f"{name} does not exist: name a folder with a model in it, or a model as OWNER/NAME"
        )
    return None


def read_facts(name: str, *, scale: ScaleName = "logit") -> tuple[Path | None, Facts | None]:
    """Return the folder that `name` means, with what its files say; None for a model's name.

    Raises:
        ConfigurationError: There is no such folder, no model in it, or a file cannot be read.
    """
    folder = as_folder(name)
    if folder is None:
        return None, None
    if not (folder / "config.json").is_file():
        raise ConfigurationError(f"{folder} holds no model: there is no config.json in it")
    return folder, Facts.read(folder, scale=scale)


def _json(path: Path) -> dict[str, Any]:
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{path} cannot be read ({error})") from None
    return fields if isinstance(fields, dict) else {}


def _own(path: Path) -> dict[str, Any]:
    """Return the fields of `scorer.toml`, checked."""
    try:
        fields = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{path} cannot be read ({error})") from None
    known = {"scale", "max_tokens", "label", "calibration"}
    for name in fields.keys() - known:
        raise ConfigurationError(f"{path}: {name}: there is no such field")
    if fields.get("scale", "logit") not in get_args(ScaleName):
        raise ConfigurationError(f"{path}: scale: one of {', '.join(get_args(ScaleName))} is meant")
    tokens = fields.get("max_tokens", _DEFAULT_TOKENS)
    if isinstance(tokens, bool) or not isinstance(tokens, int) or not 8 <= tokens < _NO_LIMIT:
        raise ConfigurationError(f"{path}: max_tokens: a whole number from 8 is meant")
    if not isinstance(fields.get("label", ""), str):
        raise ConfigurationError(f"{path}: label: the name of a label is meant")
    return fields


def _calibration(own: dict[str, Any], path: Path) -> Calibration | None:
    given = own.get("calibration")
    if given is None:
        return None
    fields = given if isinstance(given, dict) else {}
    slope, intercept = finite(fields.get("slope")), finite(fields.get("intercept"))
    if slope is None or intercept is None or slope <= 0 or fields.keys() - {"slope", "intercept"}:
        raise ConfigurationError(
            f"{path}: calibration: a slope above 0 and an intercept are meant, and nothing else"
        )
    return Calibration(slope=slope, intercept=intercept)
