"""A run as one self-contained page: nothing is loaded from elsewhere, everything is escaped."""

import html
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from crag_graph.cli.facts import calls, cited, grouped, label_of, meaning, threshold_note
from crag_graph.cli.page_style import STYLE
from crag_graph.cli.scale import ACTION_STYLES, Scale, shown
from crag_graph.errors import InputError
from crag_graph.text.clean import clean_text
from crag_graph.wording import counted

_MARKER = re.compile(r"\[(\d{1,4})\]")


def check_writable(path: Path) -> None:
    """Refuse a file that cannot be written, before anything is spent on its content.

    Raises:
        InputError: It is a folder, or its folder does not exist.
    """
    if path.is_dir():
        raise InputError(f"--html {path}: that is a folder; name a file in it")
    if not path.absolute().parent.is_dir():
        raise InputError(f"--html {path}: there is no folder {path.absolute().parent}")


def write_page(output: Mapping[str, Any], path: Path) -> None:
    """Write the page of a run.

    Raises:
        InputError: The file cannot be written.
    """
    try:
        path.write_text(render_page(output), encoding="utf-8", newline="\n")
    except OSError as error:
        raise InputError(f"--html {path}: cannot be written ({error.strerror})") from error


def render_page(output: Mapping[str, Any]) -> str:
    """Return the page of a run, as `crag_graph.cli.output.output_of` gives it."""
    decision = output.get("decision") or {}
    action = str(output.get("action") or "none")
    refused = " · refused" if output.get("status") == "refused" else ""
    question = _text(output.get("question"))
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta http-equiv="Content-Security-Policy" '
            "content=\"default-src 'none'; style-src 'unsafe-inline'\">",
            f"<title>{question[:120]}</title><style>{STYLE}</style></head><body><main>",
            f"<h1>{question}</h1>",
            f'<p class="verdict"><span class="action {_class(action)}">{_text(action)}{refused}'
            f"</span> {_text(meaning(output))}</p>",
            f'<section class="answer">{_answer(output)}</section>',
            _sources(output.get("citations") or ()),
            _warnings(output),
            f"<h2>Decision</h2>{_decision(decision)}",
            f'<p class="note">{_text(calls(output.get("usage") or {}))}</p>',
            _passages(output, decision),
            "</main></body></html>\n",
        ]
    )


def _answer(output: Mapping[str, Any]) -> str:
    known = {citation.get("number") for citation in output.get("citations") or ()}

    def link(match: re.Match[str]) -> str:
        number = int(match.group(1))
        if number not in known:
            return match.group(0)
        return f'<a class="mark" href="#source-{number}">[{number}]</a>'

    return _MARKER.sub(link, _text(output.get("answer")))


def _sources(citations: Sequence[Mapping[str, Any]]) -> str:
    if not citations:
        return ""
    items = []
    for citation in citations:
        title, where = cited(citation)
        source = str(citation.get("source") or "")
        name = _text(title)
        if source.startswith(("http://", "https://")):
            name = f'<a href="{_text(source)}" rel="noopener noreferrer nofollow">{name}</a>'
        number = int(citation.get("number") or 0)
        items.append(
            f'<li id="source-{number}"><span class="mark">[{number}]</span> {name} '
            f'<span class="note">{_text(where)}</span></li>'
        )
    return f'<h2>Sources</h2><ul class="sources">{"".join(items)}</ul>'


def _warnings(output: Mapping[str, Any]) -> str:
    notes = [f"<li>{_text(note)}</li>" for note in output.get("warnings") or ()]
    return f'<ul class="warnings">{"".join(notes)}</ul>' if notes else ""


def _decision(decision: Mapping[str, Any]) -> str:
    scale = Scale.of(decision)
    score = decision.get("score")
    parts = [f"<p>{_text(decision.get('reason'))}</p>"]
    if score is not None and scale.lower is not None and scale.upper is not None:
        low, high, here = (100 * float(x) for x in (scale.lower, scale.upper, score))
        parts.append(
            f'<div class="scale" role="img" aria-label="score {shown(score)}, lower threshold '
            f'{scale.lower:.2f}, upper threshold {scale.upper:.2f}">'
            f'<i class="incorrect" style="width:{low:.2f}%"></i>'
            f'<i class="ambiguous" style="width:{high - low:.2f}%"></i>'
            f'<i class="correct" style="width:{100 - high:.2f}%"></i>'
            f'<b style="left:{here:.2f}%"></b></div>'
            f'<p class="note">{_text(shown(score))} · {_text(threshold_note(decision))}</p>'
        )
    rows = [
        f"<tr><th>{_text(name)}</th><td>{_text(stage.get('decided'))}</td>"
        f"<td>{_text(stage.get('why'))}</td></tr>"
        for name, stage in (decision.get("stages") or {}).items()
    ]
    parts.append(f'<div class="wide"><table>{"".join(rows)}</table></div>')
    for label in ("fallbacks", "failures"):
        notes = "".join(f"<li>{_text(note)}</li>" for note in decision.get(label) or ())
        if notes:
            parts.append(f'<h3>{label.title()}</h3><ul class="{label}">{notes}</ul>')
    return "".join(parts)


def _passages(output: Mapping[str, Any], decision: Mapping[str, Any]) -> str:
    scale = Scale.of(decision)
    grades = {grade.get("document_id"): grade for grade in output.get("grades") or ()}
    strips = grouped(output.get("strips") or ())
    parts = []
    for key, title in (("documents", "Passages"), ("web_documents", "Web results")):
        documents = output.get(key) or ()
        parts += [f"<h2>{title}</h2>"] if documents else []
        parts += [
            _passage(document, grades.get(document["id"]), strips.get(document["id"], []), scale)
            for document in documents
        ]
    if not parts:
        return ""
    legend = '<p class="note"><mark>Marked</mark> strips were kept; the others were dropped.</p>'
    return "".join([*parts, legend])


def _passage(
    document: Mapping[str, Any],
    grade: Mapping[str, Any] | None,
    strips: Sequence[Mapping[str, Any]],
    scale: Scale,
) -> str:
    badge, why = "", ""
    if grade is not None:
        zone = scale.zone(grade.get("score")) or "unknown"
        badge = f'<span class="action {zone}">{shown(grade.get("score"))}</span> '
        why = f'<p class="note">{_text(grade.get("status"))}: {_text(grade.get("reason"))}</p>'
    source = _text((document.get("metadata") or {}).get("source"))
    kept = sum(bool(strip.get("kept")) for strip in strips)
    of = counted(len(strips), "strip")
    return (
        f"<details{' open' if kept else ''}><summary>{badge}{_text(label_of(document))} "
        f'<span class="note">{source} · kept {kept} of {of}</span></summary>'
        f'{why}<p class="passage">{_marked(str(document.get("page_content", "")), strips)}</p>'
        "</details>"
    )


def _marked(text: str, strips: Sequence[Mapping[str, Any]]) -> str:
    """Return the passage with its kept strips marked, by their character offsets."""
    parts, at = [], 0
    for strip in sorted(strips, key=lambda item: item.get("start", 0)):
        start, end = int(strip.get("start", 0)), int(strip.get("end", 0))
        if not at <= start < end <= len(text):
            continue
        tag = "mark" if strip.get("kept") else "span"
        score = shown(strip.get("score"))
        parts += [_text(text[at:start]), f'<{tag} title="{score}">{_text(text[start:end])}</{tag}>']
        at = end
    return "".join([*parts, _text(text[at:])])


def _class(action: str) -> str:
    return action if action in ACTION_STYLES else "unknown"


def _text(value: object) -> str:
    return html.escape(clean_text("" if value is None else str(value)), quote=True)
