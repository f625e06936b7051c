"""A calibration, or earlier runs under thresholds, for a person to read."""

import shlex

from rich.console import Console
from rich.table import Table
from rich.text import Text

from crag_graph.calibration.figures import Figure
from crag_graph.calibration.result import Calibration
from crag_graph.calibration.traces import WhatIf
from crag_graph.cli.calibrate_draw import Distribution, draw
from crag_graph.cli.calibrate_words import (
    aggregate_words,
    best_alone,
    headline,
    lines,
    objective_words,
    share,
    short,
    threshold_line,
    verdict,
    what_if_rows,
)
from crag_graph.cli.scale import ACTION_STYLES
from crag_graph.text.clean import clean_text, shorten
from crag_graph.wording import counted

_MOST_CHANGES = 10


def distribution_of(result: Calibration) -> Distribution:
    """Return the scores of a calibration by the action wanted, best first, with the thresholds."""
    groups = {str(action): scores for action, scores in reversed(result.scores.items())}
    return Distribution(groups=groups, upper=result.upper, lower=result.lower)


def print_calibration(result: Calibration, console: Console) -> None:
    """Write a calibration to `console`."""
    console.print(Text(headline(result), style="bold"))
    console.print(Text(f"objective: {objective_words(result)}", style="dim"))
    console.print()
    console.print(draw(distribution_of(result), console))
    console.print()
    style = "green" if result.separable else "bold red"
    console.print(Text(verdict(result), style=style))
    console.print()
    rule = aggregate_words(result.rule.aggregate, result.rule.k)
    console.print(Text(threshold_line("upper", result.upper), style=ACTION_STYLES["correct"]))
    console.print(Text(threshold_line("lower", result.lower), style=ACTION_STYLES["incorrect"]))
    console.print(Text(f"aggregate: {rule}"))
    console.print()
    wide = console.width >= 120
    console.print(_figures(result, wide=wide))
    if not wide and (alone := best_alone(result)):
        console.print(Text(f"for comparison, {alone}", style="dim"))
    for note in result.notes:
        console.print(Text(f"! {clean_text(note)}", style="yellow"))
    console.print()
    if result.path is None:
        console.print(
            Text(
                "No profile was written: label more questions, try another evaluator, or write it "
                "all the same with --force.",
                style="bold",
            )
        )
        return
    name = shlex.quote(result.path.stem)
    console.print(Text(f"Wrote {clean_text(str(result.path))}", style="bold"))
    console.print(f"  crag ask QUESTION --profile {name}")
    console.print(f"  export CRAG_PROFILE={name}   for every run")


def _figures(result: Calibration, *, wide: bool) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("")
    table.add_column("on these labels", justify="right")
    table.add_column("held out (95 %)", justify="right")
    if wide:
        table.add_column("", style="dim")
    for line in lines(result):
        row = (line.name, line.achieved, line.held_out)
        table.add_row(*row, line.meaning) if wide else table.add_row(*row)
    return table


def print_what_if(report: WhatIf, console: Console) -> None:
    """Write what earlier runs would come to to `console`."""
    bars = report.thresholds
    graded = ", ".join(f"{name} {count}" for name, count in report.evaluators.items())
    console.print(
        Text(
            counted(report.runs, "earlier run") + (f" · graded by {graded}" if graded else ""),
            style="bold",
        )
    )
    rule = aggregate_words(bars.aggregate, bars.min_relevant_docs)
    text = f"profile {bars.profile}: lower {short(bars.lower)}, upper {short(bars.upper)}, {rule}"
    console.print(Text(clean_text(text), style="dim"))
    console.print()
    console.print(draw(distribution_of_runs(report), console))
    console.print()
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("")
    for action, style in ACTION_STYLES.items():
        table.add_column(Text(action, style=style), justify="right")
    for name, counts in what_if_rows(report):
        whole = sum(counts.values())
        table.add_row(name, *(share(counts[action], whole) for action in ACTION_STYLES))
    console.print(table)
    if report.unscored:
        console.print(
            Text(
                f"! {counted(report.unscored, 'run')} without a grade: the outage policy decides, "
                "or nothing was retrieved",
                "yellow",
            )
        )
    if len(report.evaluators) > 1:
        console.print(
            Text("! several evaluators graded these runs: their scores do not compare", "yellow")
        )
    console.print()
    console.print(
        f"{counted(len(report.changes), 'run')} would take another action than {report.against}"
    )
    for change in report.changes[:_MOST_CHANGES]:
        line = Text("  ")
        line.append("?   " if change.score is None else f"{change.score:.2f}", style="dim")
        line.append(f"  {change.before}", style=ACTION_STYLES[change.before])
        line.append(" > " if console.options.ascii_only else " → ")
        line.append(change.after, style=ACTION_STYLES[change.after])
        line.append(f"  {shorten(' '.join(clean_text(change.question).split()), 60)}")
        console.print(line)
    if len(report.changes) > _MOST_CHANGES:
        console.print(f"  and {len(report.changes) - _MOST_CHANGES} more; --json lists them all")


def distribution_of_runs(report: WhatIf) -> Distribution:
    """Return the scores of earlier runs, with the thresholds asked about."""
    upper, lower = report.thresholds.upper, report.thresholds.lower
    return Distribution(
        groups={"runs": report.scores},
        upper=Figure(value=upper, low=upper, high=upper),
        lower=Figure(value=lower, low=lower, high=lower),
    )
