"""Scores on their scale: the colours of the three actions, and bars that also work in ASCII."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.text import Text

ACTION_STYLES = {"correct": "green", "ambiguous": "yellow", "incorrect": "red"}
_NARROWEST = 10


@dataclasses.dataclass(frozen=True, kw_only=True)
class Scale:
    """Both thresholds of a run, 0–1, or None where the run did not come to them."""

    lower: float | None
    upper: float | None

    @classmethod
    def of(cls, decision: Mapping[str, Any]) -> "Scale":
        """Return the scale that a decision card was compared on."""
        return cls(lower=decision.get("lower"), upper=decision.get("upper"))

    def zone(self, score: float | None) -> str:
        """Return the action that `score` alone would lead to; empty where that is not known."""
        if score is None or self.lower is None or self.upper is None:
            return ""
        if score >= self.upper:
            return "correct"
        return "incorrect" if score <= self.lower else "ambiguous"

    def style(self, score: float | None) -> str:
        """Return the colour of `score`: green, yellow or red by its zone, dim when unknown."""
        return ACTION_STYLES.get(self.zone(score), "dim")


@dataclasses.dataclass(frozen=True, kw_only=True)
class ThresholdBar:
    """The scale from 0 to 1 with its two thresholds, and where the score lies on it."""

    score: float
    scale: Scale
    width: int = 44

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the bar in at most `width` cells."""
        del console
        cells = max(_NARROWEST, min(self.width, options.max_width))
        line, mark, here = "-|o" if options.ascii_only else "━┃●"
        lower, upper = (
            self.scale.lower or 0.0,
            1.0 if self.scale.upper is None else self.scale.upper,
        )
        at_lower, at_upper, at_score = (_cell(x, cells) for x in (lower, upper, self.score))
        bar = Text(no_wrap=True)
        for cell in range(cells):
            if cell == at_score:
                bar.append(here, style=f"bold {self.scale.style(self.score)}")
            elif cell in (at_lower, at_upper):
                bar.append(mark, style="bold")
            else:
                bar.append(line, style=f"dim {self.scale.style((cell + 0.5) / cells)}")
        yield bar

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Return how many cells the bar may take."""
        del console
        return Measurement(min(_NARROWEST, options.max_width), min(self.width, options.max_width))


def meter(score: float | None, *, cells: int, ascii_only: bool) -> str:
    """Return `score` as a filled bar of `cells` cells, blank when it is unknown."""
    full, empty = "#." if ascii_only else "█░"
    filled = 0 if score is None else round(score * cells)
    return " " * cells if score is None else full * filled + empty * (cells - filled)


def shown(score: float | None) -> str:
    """Return `score` with two decimals; `?` when it is unknown."""
    return "?" if score is None else f"{score:.2f}"


def _cell(value: float, cells: int) -> int:
    return min(cells - 1, max(0, round(value * (cells - 1))))
