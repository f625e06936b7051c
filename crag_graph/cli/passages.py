"""The passages of a run with their scores, and its strips, kept and dropped."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from crag_graph.cli.facts import grouped, label_of, one_line
from crag_graph.cli.scale import Scale, meter, shown
from crag_graph.text.clean import clean_text, shorten

_METER = 8
_SEEN = 600  # characters of a passage, of which its beginning is made


def passage_scores(state: Mapping[str, Any], console: Console) -> RenderableType | None:
    """Return one line a passage, in the order of retrieval; None when there is none."""
    documents = _by_id(state.get("documents") or ())
    grades = state.get("grades") or ()
    if not grades:
        return None
    scale = Scale.of(state.get("decision") or {})
    table = Table.grid(padding=(0, 1))
    table.add_column(justify="right", no_wrap=True, min_width=4)
    wide = console.width >= 60
    if wide:
        table.add_column(no_wrap=True)
    table.add_column(ratio=1)
    for grade in grades:
        score = grade.get("score")
        style = scale.style(score)
        document = documents.get(grade.get("document_id"), {})
        name = label_of(document or {"id": grade.get("document_id")}, limit=60)
        what = Text(name, no_wrap=wide, overflow="ellipsis")
        if grade.get("status") != "scored":
            why = f"  {grade.get('status')}: {one_line(str(grade.get('reason', '')))}"
            what.append(why, style="yellow")
        else:
            what.append(f"  {_beginning(document)}", style="dim")
        if not wide:
            what.truncate(console.width * 2, overflow="ellipsis")
        row: list[RenderableType] = [Text(shown(score), style=f"bold {style}")]
        if wide:
            row.append(
                Text(meter(score, cells=_METER, ascii_only=console.options.ascii_only), style=style)
            )
        table.add_row(*row, what)
    return table


def strip_list(state: Mapping[str, Any], console: Console) -> RenderableType | None:
    """Return every strip under its document, marked kept or dropped; None when there is none."""
    strips: Sequence[Mapping[str, Any]] = state.get("strips") or ()
    if not strips:
        return None
    documents = _by_id([*(state.get("documents") or ()), *(state.get("web_documents") or ())])
    kept_mark, dropped_mark = ("+", "-") if console.options.ascii_only else ("✓", "✗")
    parts: list[RenderableType] = []
    for document_id, group in grouped(strips).items():
        kept = sum(bool(strip.get("kept")) for strip in group)
        origin = "web" if group[0].get("origin") == "web" else "corpus"
        head = Text()
        head.append(label_of(documents.get(document_id) or {"id": document_id}), style="bold")
        head.append(f"  {origin}, kept {kept} of {len(group)}", style="dim")
        table = Table.grid(padding=(0, 1))
        table.add_column(no_wrap=True)
        table.add_column(justify="right", no_wrap=True, min_width=4)
        table.add_column(ratio=1)
        for strip in group:
            is_kept = bool(strip.get("kept"))
            table.add_row(
                Text(kept_mark if is_kept else dropped_mark, style="green" if is_kept else "red"),
                Text(shown(strip.get("score")), style="dim"),
                Text(
                    clean_text(str(strip.get("text", ""))).strip(), style="" if is_kept else "dim"
                ),
            )
        parts += [head, table, ""]
    return Group(*parts[:-1])


def _by_id(documents: Sequence[Mapping[str, Any]]) -> dict[Any, Mapping[str, Any]]:
    return {document.get("id"): document for document in documents}


def _beginning(document: Mapping[str, Any]) -> str:
    """Return how a passage begins, without the headings that its label tells already."""
    text = str(document.get("page_content", ""))[:_SEEN]
    body = "\n".join(line for line in text.split("\n") if not line.lstrip().startswith("#"))
    line = one_line(body if body.strip() else text)
    return shorten(line, 160) if line else ""
