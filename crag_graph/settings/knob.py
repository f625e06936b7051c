"""How a knob is declared: its bounds for validation, its hints for Studio."""

from typing import Any

from pydantic import Field


def knob(title: str, description: str, *nodes: str, default: Any, **bounds: Any) -> Any:
    """Return a field with its Studio hints: `nodes` are the nodes that the knob belongs to."""
    hints: dict[str, Any] = {"langgraph_nodes": list(nodes)}
    return Field(default, title=title, description=description, json_schema_extra=hints, **bounds)


def prompt(title: str, file: str, node: str) -> Any:
    """Return the field for a run's own text in place of `prompts/{file}`; Studio edits it."""
    hints: dict[str, Any] = {"langgraph_nodes": [node], "langgraph_type": "prompt"}
    return Field(
        "",
        title=title,
        description=f"In place of prompts/{file}, which tells its variables; empty: that file.",
        json_schema_extra=hints,
        max_length=50_000,
    )
