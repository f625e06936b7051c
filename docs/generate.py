"""Rewrites the generated parts of the documentation from the code.

    python docs/generate.py            rewrites them
    python docs/generate.py --check    exits with 1 when one is out of date

A generated part stands between `<!-- generated: NAME -->` and `<!-- end -->`.
"""

import argparse
import re
import sys
import types
import typing
from collections.abc import Callable
from pathlib import Path

from pydantic.fields import FieldInfo

from crag_graph.graph import graph
from crag_graph.settings import PROFILES, Settings

ROOT = Path(__file__).parent.parent
PAGES = (
    ROOT / "README.md",
    ROOT / "docs/handbook/03-profiles.md",
    ROOT / "docs/handbook/09-settings-and-environment.md",
)
_PART = re.compile(r"(<!-- generated: (\w+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
_SCALES = {"unit": "0–1", "five_point": "1–5", "signed": "−1…1"}
_AGGREGATES = {
    "max": "best passage",
    "mean": "mean of the passages",
    "kth_best": "{k} passages needed",
}


def mermaid() -> str:
    """Return the graph as a Mermaid block, as the compiled graph draws itself."""
    drawing = graph.get_graph().draw_mermaid().strip()
    return f"```mermaid\n{drawing}\n```\n"


def settings() -> str:
    """Return the table of settings."""
    rows = ["| setting | default | values | what it does |", "|---|---|---|---|"]
    for name, field in Settings.model_fields.items():
        description = " ".join((field.description or "").split()).replace("|", "\\|")
        rows.append(f"| `{name}` | {_default(field)} | {_values(field)} | {description} |")
    return "\n".join(rows) + "\n"


def settings_list() -> str:
    """Return the settings as a list, of which each item can be quoted by itself."""
    return "".join(
        f"- `{name}` (default {_default(field)}; {_values(field)}): "
        f"{' '.join((field.description or '').split())}\n"
        for name, field in Settings.model_fields.items()
    )


def profiles() -> str:
    """Return the table of built-in threshold profiles."""
    rows = ["| profile | upper | lower | scale | aggregate |", "|---|---|---|---|---|"]
    for profile in PROFILES.values():
        aggregate = _AGGREGATES[profile.aggregate].format(k=profile.min_relevant_docs)
        rows.append(
            f"| `{profile.name}` | {_signed(profile.upper)} | {_signed(profile.lower)} "
            f"| {_SCALES[profile.scale]} | {aggregate} |"
        )
    return "\n".join(rows) + "\n"


PARTS: dict[str, Callable[[], str]] = {
    "mermaid": mermaid,
    "profiles": profiles,
    "settings": settings,
    "settings_list": settings_list,
}


def rewritten(text: str) -> str:
    """Return a page with its generated parts made anew."""
    return _PART.sub(lambda part: f"{part[1]}{PARTS[part[2]]()}{part[4]}", text)


def main() -> int:
    """Rewrite or check the pages; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--check", action="store_true", help="change nothing, tell what would")
    check = parser.parse_args().check
    stale = 0
    for page in PAGES:
        before = page.read_text(encoding="utf-8")
        after = rewritten(before)
        if after != before:
            stale += 1
            state = "is out of date" if check else "rewritten"
            sys.stdout.write(f"{page.relative_to(ROOT)} {state}\n")
            if not check:
                page.write_text(after, encoding="utf-8", newline="\n")
    return int(check and stale > 0)


def _default(field: FieldInfo) -> str:
    value = field.default
    if value in (None, (), ""):
        return "unset"
    if isinstance(value, bool):
        return "`on`" if value else "`off`"
    return f"`{value}`"


def _values(field: FieldInfo) -> str:
    kind = field.annotation
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        kind = next(part for part in typing.get_args(kind) if part is not type(None))
    if typing.get_origin(kind) is typing.Literal:
        return ", ".join(f"`{word}`" for word in typing.get_args(kind))
    if kind is bool:
        return "`on`, `off`"
    if kind in (int, float):
        return _bounds(field)
    return "text" if kind is str else "list"


def _bounds(field: FieldInfo) -> str:
    bounds = {
        name: getattr(part, name)
        for part in field.metadata
        for name in ("gt", "ge", "le")
        if getattr(part, name, None) is not None
    }
    if "gt" in bounds:
        return f"above {bounds['gt']:,g} to {bounds['le']:,g}"
    return f"{bounds['ge']:,g}–{bounds['le']:,g}"


def _signed(value: float) -> str:
    return f"{value:g}".replace("-", "−")


if __name__ == "__main__":
    sys.exit(main())
