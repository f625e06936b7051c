"""The reducers that merge what several nodes write: strips, usage, the decision card."""

from collections.abc import Mapping, Sequence
from typing import Any

from crag_graph.state.records import Decision, NodeUsage, Stage, Strip, Usage

NODES = ("retrieve", "evaluate", "route", "refine", "web_search", "generate")
_POSITIONS = {name: position for position, name in enumerate(NODES)}
_NOTHING_SPENT: dict[str, Any] = {
    "run_id": "",
    "llm_calls": 0,
    "evaluator_calls": 0,
    "generation_calls": 0,
    "web_searches": 0,
    "input_tokens": 0,
    "output_tokens": 0,
    "cache_hits": 0,
    "seconds": 0,
}


def merge_strips(old: Sequence[Strip] | None, new: Sequence[Strip] | None) -> list[Strip]:
    """Return the strips of both origins, internal first: `new` replaces those of its own origins.

    Refinement and web search can thus write in the same step. An empty `new` clears the list.
    """
    if not new:
        return []
    replaced = {strip["origin"] for strip in new}
    kept = [strip for strip in old or () if strip["origin"] not in replaced]
    return sorted([*kept, *new], key=lambda strip: strip["origin"] != "internal")


def merge_usage(old: Usage | None, new: Usage | None) -> Usage:
    """Return the usage with the nodes of `new` replacing their own; totals follow from the nodes.

    A `run_id` other than the old one starts anew.
    """
    run_id, kept = _same_run(old, new)
    nodes: dict[str, NodeUsage] = {**kept.get("nodes", {}), **(new or {}).get("nodes", {})}
    merged = {**_NOTHING_SPENT, "run_id": run_id}
    for node in nodes.values():
        for name, amount in node.items():
            merged[name] = merged.get(name, 0) + amount
    merged["nodes"] = nodes
    return merged  # type: ignore[return-value]


def merge_decision(old: Decision | None, new: Decision | None) -> Decision:
    """Return the decision card with the fields and stages of `new` replacing their own.

    A `run_id` other than the old one starts anew.
    """
    run_id, kept = _same_run(old, new)
    stages: dict[str, Stage] = {**kept.get("stages", {}), **(new or {}).get("stages", {})}
    names = sorted(stages, key=_position) if len(stages) > 1 else stages
    merged: dict[str, Any] = {
        **kept,
        **(new or {}),
        "run_id": run_id,
        "stages": {name: stages[name] for name in names},
        "fallbacks": [],
        "failures": [],
    }
    for stage in merged["stages"].values():
        merged["fallbacks"] += stage.get("fallbacks", ())
        merged["failures"] += stage.get("failures", ())
    return merged  # type: ignore[return-value]


def _position(node: str) -> int:
    """Return where `node` comes in the graph; others come behind, in the order they are given."""
    return _POSITIONS.get(node, len(NODES))


def _same_run(
    old: Mapping[str, Any] | None, new: Mapping[str, Any] | None
) -> tuple[str, Mapping[str, Any]]:
    """Return the run that both make, and what of `old` belongs to it: all or nothing."""
    before = (old or {}).get("run_id", "")
    run_id = str((new or {}).get("run_id") or before or "")
    return run_id, old if old and before == run_id else {}
