"""Sentences that keep a reader from taking a report for more than it says."""

from collections.abc import Mapping

from crag_graph.evaluation.bootstrap import Figure
from crag_graph.evaluation.report import Figures
from crag_graph.settings import Settings
from crag_graph.wording import counted

_FEW = 30
_NOT_HURT = 0.005
"""A fall below this is rounding rather than harm."""


def cautions(
    *,
    figures: Mapping[str, Figures],
    difference: Figures,
    settings: Settings,
    web: bool,
    failed: int,
    degraded: int,
    done: int,
) -> list[str]:
    """Return what to mind in these figures."""
    found: list[str] = []
    if failed:
        found.append(f"{failed} runs failed and take no part in the figures")
    if degraded:
        found.append(f"{degraded} failures were worked around, which the figures contain")
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
