"""What a calibration says in words, on the terminal and on the page alike."""

import dataclasses
from collections.abc import Mapping

from crag_graph.calibration.figures import Figure, Figures
from crag_graph.calibration.result import Calibration
from crag_graph.calibration.traces import WhatIf
from crag_graph.state import Action
from crag_graph.wording import counted

_ROWS = {
    "agreement": "takes the wanted action",
    "right_correct": "correct, and rightly so",
    "false_correct": "false correct",
    "missed": "good passages set aside",
    "searches": "searches the web",
}
_MEANINGS = {
    "agreement": "of all",
    "right_correct": "of those that take the action correct",
    "false_correct": "of those that should not be answered from the corpus",
    "missed": "of those that should be",
    "searches": "of all",
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Line:
    """A figure in words: on the labels themselves, and on questions held out."""

    name: str
    achieved: str
    held_out: str
    meaning: str


def aggregate_words(aggregate: str, k: int) -> str:
    """Return an aggregate in words."""
    if aggregate == "mean":
        return "mean of the passages"
    return "best passage" if aggregate == "max" or k == 1 else f"{k} passages needed"


def headline(result: Calibration) -> str:
    """Return what was calibrated on, in one line."""
    counts = result.sample.counts
    wanted = ", ".join(f"{number} {action}" for action, number in counts.items() if number)
    labels = counted(result.labels.labels, "label")
    questions = counted(len(result.labels.questions), "question")
    what = labels if result.labels.form == "questions" else f"{labels} on {questions}"
    unit = "" if result.sample.unit == "question" else ", each passage by itself"
    return f"{what}{unit} ({wanted}) · evaluator {result.evaluator}"


def verdict(result: Calibration) -> str:
    """Return whether the scores tell the classes apart, with the evidence."""
    area = _interval(result.auc)
    p_value = f"p {'< 0.01' if result.p_value < 0.01 else f'= {result.p_value:.2f}'}"
    if result.separable:
        return f"Separable: AUC {area}, {p_value} against shuffled labels"
    return "Not separable: " + "; ".join(result.why_not)


def lines(result: Calibration) -> list[Line]:
    """Return the figures, the objective first."""
    made = [_objective(result)]
    for name, words in _ROWS.items():
        made.append(
            Line(
                name=words,
                achieved=_percent(getattr(result.achieved, name)),
                held_out=_percent(getattr(result.held_out, name), interval=True),
                meaning=_MEANINGS[name],
            )
        )
    return made


def best_alone(result: Calibration) -> str:
    """Return what always taking one action would be worth, the best one."""
    action, value = result.always[0]
    sign = -1 if result.objective.name == "cost" else 1
    value = sign * value
    if not abs(value) < float("inf"):
        return ""
    return f"always {action}: {value:.3f}"


def objective_words(result: Calibration) -> str:
    """Return how the objective is to be read."""
    objective = result.objective
    words = objective.describe()
    if objective.name != "cost" and not objective.three_way:
        odds = objective.credit / max(1e-9, 1 - objective.credit)
        words += (
            f"; labels are two-way, so an ambiguous verdict counts {objective.credit:.2f} right: "
            f"it is chosen where the odds are worse than {odds:.2g} to 1"
        )
    return words


def threshold_line(name: str, figure: Figure) -> str:
    """Return a threshold with its interval."""
    return f"{name} {short(figure.value)}  (95 %: {figure.low:.2f} to {figure.high:.2f})"


def what_if_rows(report: WhatIf) -> list[tuple[str, Mapping[str, int]]]:
    """Return the rows of the table of actions: who decides, and how often each action."""
    rows: list[tuple[str, Mapping[str, int]]] = []
    if any(report.recorded.values()):
        rows.append(("as recorded", _by_name(report.recorded)))
    if report.against != "what was recorded":
        rows.append((report.against, _by_name(report.present)))
    rows.append((f"profile {report.thresholds.profile}, as asked", _by_name(report.shares)))
    return rows


def _by_name(counts: Mapping[Action, int]) -> dict[str, int]:
    return {str(action): count for action, count in counts.items()}


def share(part: int, whole: int) -> str:
    """Return a count with its share."""
    return f"{part} ({part / whole:.0%})" if whole else str(part)


def short(value: float) -> str:
    """Return a threshold with as many decimals as it has, from two."""
    text = f"{value:.6f}".rstrip("0")
    return text if len(text.partition(".")[2]) >= 2 else f"{value:.2f}"


def _objective(result: Calibration) -> Line:
    sign = -1 if result.objective.name == "cost" else 1
    name = "mean cost" if result.objective.name == "cost" else "macro-F1"

    def told(figures: Figures, *, interval: bool) -> str:
        each = figures.objective
        low, high = sorted((sign * each.low, sign * each.high))
        text = f"{sign * each.value:.3f}"
        return f"{text} ({low:.2f}–{high:.2f})" if interval else text

    return Line(
        name=name,
        achieved=told(result.achieved, interval=False),
        held_out=told(result.held_out, interval=True),
        meaning=best_alone(result),
    )


def _percent(figure: Figure, *, interval: bool = False) -> str:
    text = f"{figure.value:.0%}"
    return f"{text} ({figure.low:.0%}–{figure.high:.0%})" if interval else text


def _interval(figure: Figure) -> str:
    return f"{figure.value:.2f} (95 %: {figure.low:.2f} to {figure.high:.2f})"
