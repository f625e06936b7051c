"""A calibration, or earlier runs under thresholds, as one self-contained page without scripts."""

import html
from collections.abc import Sequence
from pathlib import Path

from crag_graph.calibration.figures import Figure
from crag_graph.calibration.result import Calibration
from crag_graph.calibration.traces import WhatIf
from crag_graph.cli.calibrate_report import distribution_of, distribution_of_runs
from crag_graph.cli.calibrate_svg import STYLE as PLOT_STYLE
from crag_graph.cli.calibrate_svg import plot
from crag_graph.cli.calibrate_words import (
    aggregate_words,
    headline,
    lines,
    objective_words,
    share,
    short,
    verdict,
    what_if_rows,
)
from crag_graph.cli.page_style import STYLE
from crag_graph.cli.scale import ACTION_STYLES, shown
from crag_graph.errors import InputError
from crag_graph.text.clean import clean_text
from crag_graph.wording import counted

_MOST_CHANGES = 200


def write_calibration_page(result: Calibration | WhatIf, path: Path) -> None:
    """Write the page.

    Raises:
        InputError: The file cannot be written.
    """
    text = render(result) if isinstance(result, Calibration) else render_what_if(result)
    try:
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise InputError(f"--html {path}: cannot be written ({error.strerror})") from error


def render(result: Calibration) -> str:
    """Return the page of a calibration."""
    title = "Thresholds not separable"
    if result.path is not None:
        title = f"Threshold profile {result.path.stem}"
    rows = [(line.name, line.achieved, line.held_out, line.meaning) for line in lines(result)]
    kind = "correct" if result.separable else "incorrect"
    rule = aggregate_words(result.rule.aggregate, result.rule.k)
    return _page(
        title,
        f'<p class="verdict {kind}">{_text(verdict(result))}</p>',
        f'<p class="note">{_text(headline(result))}</p>',
        plot(distribution_of(result)),
        _note("Bars are shares of each row; shaded is the 95 % interval of each threshold."),
        "<h2>Thresholds</h2>",
        _table(
            ("", "value", "95 % interval"),
            [_threshold("upper", result.upper), _threshold("lower", result.lower)],
        ),
        f"<p>Aggregate: {_text(rule)}. Objective: {_text(objective_words(result))}.</p>",
        "<h2>What they achieve</h2>",
        _table(("", "on these labels", "held out (95 %)", ""), rows),
        _note(
            f"Held out: thresholds chosen anew without each of {result.folds} parts of the "
            "questions, and judged on that part."
        ),
        _list("warnings", result.notes),
        _origin(result),
    )


def render_what_if(report: WhatIf) -> str:
    """Return the page of earlier runs under thresholds."""
    rows = []
    for name, counts in what_if_rows(report):
        whole = sum(counts.values())
        rows.append((name, *(share(counts[action], whole) for action in ACTION_STYLES)))
    changes = [
        (shown(change.score), change.before, change.after, change.question)
        for change in report.changes[:_MOST_CHANGES]
    ]
    bars = report.thresholds
    rule = aggregate_words(bars.aggregate, bars.min_relevant_docs)
    more = len(report.changes) - len(changes)
    return _page(
        f"{counted(report.runs, 'earlier run')} under profile {bars.profile}",
        f'<p class="note">lower {short(bars.lower)}, upper {short(bars.upper)}, {_text(rule)}</p>',
        plot(distribution_of_runs(report)),
        "<h2>Actions</h2>",
        _table(("", *ACTION_STYLES), rows),
        f"<h2>Other actions than {_text(report.against)}: {len(report.changes)}</h2>",
        _table(("score", "before", "after", "question"), changes) if changes else "",
        _note(f"and {more} more") if more > 0 else "",
    )


def _threshold(name: str, figure: Figure) -> tuple[str, str, str]:
    return name, short(figure.value), f"{figure.low:.2f} to {figure.high:.2f}"


def _origin(result: Calibration) -> str:
    labels = result.labels
    rows = [
        ("labels", labels.path.name),
        ("SHA-256", labels.digest),
        ("evaluator", result.fingerprint),
    ]
    if result.path is not None:
        rows.append(("profile", str(result.path)))
    return f"<h2>Where they come from</h2>{_table(('', ''), rows)}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    titles = "".join(f"<th>{_text(cell)}</th>" for cell in head) if any(head) else ""
    body = "".join(
        f"<tr><th>{_text(row[0])}</th>{''.join(f'<td>{_text(cell)}</td>' for cell in row[1:])}</tr>"
        for row in rows
    )
    return f'<div class="wide"><table><tr>{titles}</tr>{body}</table></div>'


def _list(kind: str, notes: Sequence[str]) -> str:
    items = "".join(f"<li>{_text(note)}</li>" for note in notes)
    return f'<ul class="{kind}">{items}</ul>' if items else ""


def _note(text: str) -> str:
    return f'<p class="note">{_text(text)}</p>'


def _page(title: str, *parts: str) -> str:
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta http-equiv="Content-Security-Policy" '
            "content=\"default-src 'none'; style-src 'unsafe-inline'\">",
            f"<title>{_text(title)}</title><style>{STYLE}{PLOT_STYLE}</style></head><body><main>",
            f"<h1>{_text(title)}</h1>",
            *parts,
            "</main></body></html>\n",
        ]
    )


def _text(value: str) -> str:
    return html.escape(clean_text(value), quote=True)
