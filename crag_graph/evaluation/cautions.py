"""Sentences that keep a reader from taking a report for more than it says."""

from collections.abc import Mapping, Sequence

from crag_graph.evaluation.bootstrap import Figure
from crag_graph.evaluation.report import Figures
from crag_graph.redaction import redact
from crag_graph.settings import Settings
from crag_graph.text.clean import shorten
from crag_graph.wording import counted

_FEW = 30
_LONGEST_CAUSE = 300
_NOT_HURT = 0.005
"""A fall below this is rounding rather than harm."""


def cautions(
    *,
    figures: Mapping[str, Figures],
    difference: Figures,
    settings: Settings,
    web: bool,
    failed: Sequence[Mapping[str, str]],
    degraded: Sequence[Mapping[str, str]],
    done: int,
) -> list[str]:
    """Return what to mind in these figures.

    Args:
        figures: Of each arm.
        difference: What the correction buys.
        settings: Of every run.
        web: Whether the web is asked.
        failed: What failed; see `crag_graph.evaluation.report.Report`.
        degraded: What was worked around, likewise.
        done: How many questions were run.
    """
    found: list[str] = []
    if failed:
        found.append(
            f"{counted(len(failed), 'run')} failed and take no part in the figures; first: "
            f"{_cause(failed[0]['error'])}"
        )
    found += _worked_around(degraded)
    if done and not any(figures.values()):
        found.append("no question has a label that anything could be measured by, only the cost")
    elif 0 < done < _FEW:
        found.append(f"{counted(done, 'question is', 'questions are')} few: mind the intervals")
    if web:
        found.append(
            "web search is on: figures change with the web, and what the corpus cannot answer may "
            "be answered from there; web_search=off leaves it out"
        )
    found += _verdict(figures.get("crag", {}))
    found += reranking_cautions(difference.get("retrieval", {}), settings)
    return found + _answers(difference)


def reranking_cautions(difference: Mapping[str, Figure], settings: Settings) -> list[str]:
    """Return a warning for each measure of retrieval that reranking made worse."""
    if not settings.rerank_from:
        return []
    if not difference:
        return ["whether reranking helps cannot be told without gold passages and the baseline"]
    return [
        f"reranking hurts: {name} falls by {-figure.value:.3f} "
        f"({'surely' if figure.high < 0 else 'perhaps'}; 95 % interval {figure.low:+.3f} to "
        f"{figure.high:+.3f}); rerank_from=0 turns it off"
        for name, figure in difference.items()
        if figure.value < -_NOT_HURT
    ]


def _worked_around(degraded: Sequence[Mapping[str, str]]) -> list[str]:
    """Return a warning for each stage that failed, with the cause that came first."""
    stages: dict[str, list[str]] = {}
    for one in degraded:
        stage, _, cause = one["error"].partition(": ")
        stages.setdefault(stage if cause else "a stage", []).append(cause or stage)
    return [
        f"{stage} failed {counted(len(causes), 'time')} and was worked around, which the figures "
        f"contain; first: {_cause(causes[0])}"
        for stage, causes in stages.items()
    ]


def _cause(error: str) -> str:
    return shorten(redact(" ".join(error.split())), _LONGEST_CAUSE)


def _verdict(figures: Figures) -> list[str]:
    verdict = figures.get("verdict", {})
    if verdict and "macro_f1" not in verdict:
        return ["all questions are of one kind, so the verdict cannot be told from a constant one"]
    return []


def _answers(difference: Figures) -> list[str]:
    figure = difference.get("answer", {}).get("f1")
    if figure is None or figure.high >= 0:
        return []
    return [
        f"plain RAG answers better here: token F1 differs by {figure.value:+.3f} "
        f"(95 % interval {figure.low:+.3f} to {figure.high:+.3f})"
    ]
