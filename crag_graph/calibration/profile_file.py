"""A calibration as a profile: a TOML file with where its numbers come from."""

import dataclasses
import datetime
import json
import os
import re
import tempfile
import unicodedata
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from crag_graph.calibration.result import Calibration
from crag_graph.errors import InputError, StoreError
from crag_graph.naming import RULE, is_name
from crag_graph.settings import PROFILES
from crag_graph.settings.user_profiles import FOLDER, SUFFIX, read_profile
from crag_graph.text.clean import clean_text

_LONGEST_DEFAULT = 60
_DECIMALS = 4


def default_name(labels: Path) -> str:
    """Return the name of a profile after a labels file: `Support tickets.csv` → `support-tickets`.

    Letters with marks lose them; what has no ASCII form at all makes the name `calibrated`.
    """
    plain = unicodedata.normalize("NFKD", labels.stem).encode("ascii", "ignore").decode()
    name = re.sub(r"[^A-Za-z0-9_]+", "-", plain).strip("-").lower()[:_LONGEST_DEFAULT].strip("-")
    return name if is_name(name) and name not in PROFILES else "calibrated"


def profile_path(home: Path, name: str) -> Path:
    """Return where the profile `name` is kept below the data folder.

    Raises:
        InputError: It is no name, or that of a built-in profile.
    """
    if not is_name(name):
        raise InputError(f"--name {str(name)[:100]!r}: {RULE}")
    if name in PROFILES:
        raise InputError(f"--name {name}: that is a built-in profile; choose another name")
    return home / FOLDER / f"{name}{SUFFIX}"


def check_free(path: Path, *, force: bool) -> None:
    """Refuse to overwrite a profile.

    Raises:
        InputError: There is one of that name.
    """
    if path.exists() and not force:
        raise InputError(
            f"the profile {path.stem} exists already ({path}): choose another --name, or --force"
        )


def write_profile(calibration: Calibration, path: Path) -> None:
    """Write the profile, wholly or not at all; it is read back before it takes its place.

    Raises:
        StoreError: The folder cannot be written.
    """
    text = render_profile(calibration, path.stem)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".new-") as folder:
            draft = Path(folder) / path.name
            with draft.open("w", encoding="utf-8", newline="\n") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            read_profile(draft)
            draft.replace(path)
    except OSError as error:
        raise StoreError(
            f"the profile {path} cannot be written ({error.strerror}): check disk and rights"
        ) from None


def render_profile(calibration: Calibration, name: str) -> str:
    """Return the text of the profile's file."""
    labels, sample = calibration.labels, calibration.sample
    figures = {
        "achieved": _figures(calibration.achieved),
        "held_out": _figures(calibration.held_out),
    }
    origin = {
        "labels": labels.labels,
        "questions": len(labels.questions),
        "labels_file": clean_text(labels.path.name),
        "labels_sha256": labels.digest,
        "unit": sample.unit,
        **{f"wanted_{action}": count for action, count in sample.counts.items()},
        "passages_median": sample.passages,
        "evaluator": calibration.evaluator,
        "fingerprint": calibration.fingerprint,
        "objective": calibration.objective.describe(),
        "separable": calibration.separable,
        "auc": _triple(calibration.auc),
        "p_value": round(calibration.p_value, _DECIMALS),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "version": version("crag-graph"),
    }
    intervals = {
        "upper": _triple(calibration.upper)[1:],
        "lower": _triple(calibration.lower)[1:],
    }
    parts = [
        "# Written by `crag calibrate`. The thresholds may be edited; the provenance tells,",
        "# and its evaluator and fingerprint let a run see whether the thresholds are its own.",
        _table(
            {
                "name": name,
                "upper": calibration.upper.value,
                "lower": calibration.lower.value,
                "scale": "unit",
                "aggregate": calibration.rule.aggregate,
                "min_relevant_docs": calibration.rule.k,
            }
        ),
        "\n[provenance]",
        _table(origin),
        "\n[provenance.intervals]  # 95 %, by bootstrap over questions",
        _table(intervals),
    ]
    for title, values in figures.items():
        parts += [f"\n[provenance.{title}]  # value, and its 95 % interval", _table(values)]
    return "\n".join(parts) + "\n"


def _figures(figures: Any) -> dict[str, list[float]]:
    return {
        field.name: _triple(getattr(figures, field.name)) for field in dataclasses.fields(figures)
    }


def _triple(figure: Any) -> list[float]:
    return [round(number, _DECIMALS) for number in (figure.value, figure.low, figure.high)]


def _table(values: Mapping[str, Any]) -> str:
    # JSON's strings, numbers, booleans and lists of numbers are TOML's.
    return "\n".join(
        f"{key} = {json.dumps(value, ensure_ascii=True)}" for key, value in values.items()
    )
