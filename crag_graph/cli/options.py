"""The options that several commands share, and how `--set` becomes settings."""

import difflib
import json
import math
import typing
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from crag_graph.errors import ConfigurationError, InputError
from crag_graph.settings import Settings

CollectionOption = Annotated[
    str | None,
    typer.Option(
        "--collection",
        "-c",
        metavar="NAME",
        help="Which collection. By default CRAG_COLLECTION, else `default`.",
        show_default=False,
    ),
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON object and nothing else on stdout.")
]
ProfileOption = Annotated[
    str | None,
    typer.Option(
        "--profile",
        "-p",
        metavar="NAME",
        help="Threshold profile, such as medical. By default CRAG_PROFILE, else `general`.",
        show_default=False,
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        "-s",
        metavar="KEY=VALUE",
        help="A setting of this run, such as top_k=8 or web_search=off. May be repeated.",
        show_default=False,
    ),
]

_UNSET = ("", "none", "null", "default")


def settings_from(pairs: Sequence[str] | None, *, profile: str | None = None) -> Settings:
    """Return the settings that `--set` and `--profile` say; the last of a repeated key holds.

    Values are read as the field's type: numbers, words, `on`/`off`, `true`/`false`, `yes`/`no`.
    Lists are separated by commas. `none`, `default` or nothing leaves a setting unset.

    Raises:
        InputError: A pair has no `=`, or names no setting.
        ConfigurationError: A value does not fit its field.
    """
    given: dict[str, Any] = {}
    for pair in pairs or ():
        key, sign, value = pair.partition("=")
        key, value = key.strip().replace("-", "_"), value.strip()
        if not sign or not key:
            raise InputError(f"--set {pair!r}: write KEY=VALUE, such as --set top_k=8")
        if key not in Settings.model_fields:
            raise InputError(f"--set {key}: there is no such setting{_nearest(key)}")
        given.pop(key, None)
        if value.lower() not in _UNSET:
            given[key] = _split(value) if _is_list(key) else value
    if profile is not None and profile.strip():
        given["profile"] = profile.strip()
    try:
        return Settings.of(given)
    except ConfigurationError as error:
        what = error.message.removeprefix("settings: ")
        raise ConfigurationError(f"--set {what}") from None


def filter_from(pairs: Sequence[str] | None) -> dict[str, Any] | None:
    """Return the metadata filter that `--filter` says; a repeated field may have any of its values.

    A value is read as JSON where it is a number, `true` or `false`, and as text otherwise.

    Raises:
        InputError: A pair has no `=`.
    """
    fields: dict[str, list[Any]] = {}
    for pair in pairs or ():
        key, sign, value = pair.partition("=")
        if not sign or not key.strip():
            raise InputError(f"--filter {pair!r}: write FIELD=VALUE, such as --filter page=3")
        fields.setdefault(key.strip(), []).append(_scalar(value.strip()))
    joined = {key: values[0] if len(values) == 1 else values for key, values in fields.items()}
    return joined or None


def _is_list(key: str) -> bool:
    return typing.get_origin(Settings.model_fields[key].annotation) in (tuple, list)


def _split(value: str) -> list[str]:
    return [part.strip() for part in value.split(",") if part.strip()]


def _scalar(value: str) -> Any:
    try:
        read = json.loads(value)
    except ValueError:
        return value
    if isinstance(read, float) and not math.isfinite(read):
        return value
    return read if isinstance(read, bool | int | float) else value


def _nearest(key: str) -> str:
    close = difflib.get_close_matches(key, Settings.model_fields, n=1)
    if close:
        return f"; do you mean {close[0]}?"
    return f"; there are {', '.join(Settings.model_fields)}"
