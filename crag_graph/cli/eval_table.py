"""The report of an evaluation for a person to read."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from crag_graph.cli.facts import one_line
from crag_graph.text.clean import clean_text, shorten

if TYPE_CHECKING:
    from crag_graph.evaluation.bootstrap import Figure
    from crag_graph.evaluation.report import Report

_MOST_FAILURES = 10
_NAMES = {
    "mrr": "MRR",
    "macro_f1": "macro-F1",
    "balanced_accuracy": "balanced accuracy",
    "auc": "AUC of the score",
    "ambiguous": "share ambiguous",
    "answerable_refused": "answerable refused",
    "unanswerable_refused": "unanswerable refused",
    "exact": "exact match",
    "contained": "answer contained",
    "f1": "token F1",
    "kept_text": "kept text",
}
_COST = {
    "llm_calls": "LLM calls",
    "input_tokens": "tokens in",
    "output_tokens": "tokens out",
    "web_searches": "web searches",
    "seconds_p50": "seconds p50",
    "seconds_p95": "seconds p95",
}
_ARMS = {"crag": "corrective", "plain": "plain RAG"}


def print_evaluation(report: "Report", console: Console) -> None:
    """Write the report to `console`: figures, confusion, cost, what failed, what to mind."""
    _head(report, console)
    console.print()
    console.print(_figures(report))
    if report.confusion:
        console.print()
        console.print(_confusion(report.confusion))
    console.print()
    console.print(_cost(report.cost))
    _failures(report.failed, console)
    if report.warnings:
        console.print()
    for warning in report.warnings:
        console.print(Text(f"! {clean_text(warning)}", style="yellow"))


def _head(report: "Report", console: Console) -> None:
    dataset, configuration = report.dataset, report.configuration
    console.print(Text(f"{clean_text(str(dataset['name']))}", style="bold"))
    done = f"{report.done:,} of {report.asked:,}" if report.done < report.asked else report.done
    labels = [
        f"{dataset[key]:,} {name}"
        for key, name in (
            ("answerable", "answerable"),
            ("unanswerable", "not"),
            ("answers", "with answers"),
            ("gold", "with gold labels"),
            ("sentences", "with labelled sentences"),
        )
        if dataset[key]
    ]
    run = "question run" if report.asked == 1 else "questions run"
    console.print(Text(f"{done} {run}" + (f": {', '.join(labels)}" if labels else "")))
    what = [
        f"retriever {configuration['retriever']}",
        f"evaluator {configuration['evaluator']}",
        f"generator {configuration['generator']}",
        f"profile {configuration['profile']}",
        *(f"{name}={value}" for name, value in configuration["settings"].items()),
        f"{configuration['concurrency']} at once",
        f"seed {configuration['seed']}",
    ]
    console.print(Text(clean_text(" · ".join(what)), style="dim"))


def _figures(report: "Report") -> Table:
    table = _table("95 % intervals")
    arms = [arm for arm in _ARMS if arm in report.figures]
    for arm in arms:
        table.add_column(_ARMS[arm], no_wrap=True)
    if len(arms) == 2:
        table.add_column("difference", no_wrap=True)
    for group, names in _rows(report, arms).items():
        table.add_row(Text(group, style="bold"))
        for name in names:
            cells = [_figure(report.figures[arm].get(group, {}).get(name)) for arm in arms]
            if len(arms) == 2:
                cells.append(_figure(report.difference.get(group, {}).get(name), sign="+"))
            table.add_row(f"  {_NAMES.get(name, name)}", *cells)
    return table


def _rows(report: "Report", arms: Sequence[str]) -> dict[str, list[str]]:
    rows: dict[str, list[str]] = {}
    for arm in arms:
        for group, figures in report.figures[arm].items():
            known = rows.setdefault(group, [])
            known += [name for name in figures if name not in known]
    return rows


def _figure(figure: "Figure | None", *, sign: str = "") -> Text:
    if figure is None:
        return Text("-", style="dim")
    if sign and figure.value == figure.low == figure.high == 0:
        return Text("same", style="dim")
    low, high = (_short(end, sign=sign) for end in (figure.low, figure.high))
    text = Text(f"{figure.value:{sign}.3f}")
    text.append(f" [{low}, {high}]", style="dim")
    return text


def _short(value: float, *, sign: str) -> str:
    """Return a share with two decimals and without the nought before the point."""
    return (
        f"{value:{sign}.2f}".replace("0.", ".", 1) if abs(value) < 0.995 else f"{value:{sign}.1f}"
    )


def _confusion(confusion: Mapping[str, Mapping[str, int]]) -> Table:
    table = _table("what was retrieved is")
    actions = list(next(iter(confusion.values())))
    for action in actions:
        table.add_column(action, justify="right")
    for truth, counts in confusion.items():
        table.add_row(f"  {truth}", *(f"{counts[action]:,}" for action in actions))
    return table


def _cost(cost: Mapping[str, Mapping[str, float]]) -> Table:
    table = _table("cost a question")
    arms = [arm for arm in _ARMS if cost.get(arm)]
    for arm in arms:
        table.add_column(_ARMS[arm], justify="right")
    for name, shown in _COST.items():
        digits = 3 if name.startswith("seconds") else 2
        table.add_row(f"  {shown}", *(f"{cost[arm][name]:,.{digits}f}" for arm in arms))
    return table


def _failures(failed: Sequence[Mapping[str, str]], console: Console) -> None:
    if failed:
        console.print()
    for failure in failed[:_MOST_FAILURES]:
        arm = _ARMS[failure["arm"]]
        question = shorten(one_line(failure["question"]), 60)
        line = f"failed: {failure['id']} ({arm}) {question}: {failure['error']}"
        console.print(Text(one_line(line), style="red"))
    if len(failed) > _MOST_FAILURES:
        rest = len(failed) - _MOST_FAILURES
        console.print(Text(f"failed: {rest:,} more; --json lists them all", style="red"))


def _table(title: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column(title, no_wrap=True)
    return table
