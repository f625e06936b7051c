"""The decision card: what a run did, on what grounds, and what it cost."""

from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from crag_graph.cli.facts import calls, meaning, threshold_note
from crag_graph.cli.scale import ACTION_STYLES, Scale, ThresholdBar, shown
from crag_graph.text.clean import clean_text

_MOST_CELLS = 100


def decision_card(state: Mapping[str, Any], *, width: int) -> RenderableType:
    """Return the card of a finished run for a console `width` cells wide."""
    decision = state.get("decision") or {}
    action = str(state.get("action") or decision.get("action") or "no action")
    parts: list[RenderableType] = [Text(meaning(state), style="bold")]
    if decision.get("score") is not None:
        parts += ["", *_score(decision)]
    elif decision.get("reason"):
        parts += ["", Text(clean_text(str(decision["reason"])))]
    parts += ["", _stages(decision, width=width)]
    for label, style in (("fallbacks", "yellow"), ("failures", "red")):
        for note in decision.get(label) or ():
            line = f"{label.removesuffix('s')}: {clean_text(str(note))}"
            parts.append(Text(line, style=style))
    parts += ["", Text(calls(state.get("usage") or {}), style="dim")]
    title = Text(action.upper(), style=f"bold {ACTION_STYLES.get(action, 'white')}")
    if state.get("status") == "refused":
        title.append(" · refused", style="bold")
    return Panel(
        Group(*parts),
        title=title,
        title_align="left",
        border_style=ACTION_STYLES.get(action, "white"),
        width=min(width, _MOST_CELLS),
        padding=(0, 1),
    )


def _score(decision: Mapping[str, Any]) -> list[RenderableType]:
    scale = Scale.of(decision)
    score = float(decision["score"])
    line = Table.grid(padding=(0, 1))
    line.add_row(
        Text(shown(score), style=f"bold {scale.style(score)}"),
        ThresholdBar(score=score, scale=scale),
    )
    return [
        Text(clean_text(str(decision.get("reason", "")))),
        line,
        Text(threshold_note(decision), style="dim"),
    ]


def _stages(decision: Mapping[str, Any], *, width: int) -> RenderableType:
    stages = {  # what route says stands above already
        name: stage
        for name, stage in (decision.get("stages") or {}).items()
        if stage.get("why") != decision.get("reason")
    }
    if width < 60:  # side by side the columns would be too narrow to read
        return Group(*(_stacked(name, stage) for name, stage in stages.items()))
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, style="cyan")
    table.add_column(max_width=26)
    table.add_column(ratio=1, style="dim")
    for name, stage in stages.items():
        decided, why = (clean_text(str(stage.get(key, ""))) for key in ("decided", "why"))
        table.add_row(name, Text(decided), Text(why))
    return table


def _stacked(name: str, stage: Mapping[str, Any]) -> Text:
    line = Text()
    line.append(name, style="cyan")
    line.append(f": {clean_text(str(stage.get('decided', '')))}")
    if stage.get("why"):
        line.append(f" ({clean_text(str(stage['why']))})", style="dim")
    return line
