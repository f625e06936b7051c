"""Scores by class as rows of bars over the scale from 0 to 1, with the thresholds below them."""

import dataclasses
from collections.abc import Mapping, Sequence

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from crag_graph.calibration.figures import Figure
from crag_graph.cli.scale import ACTION_STYLES, Scale

_LEVELS, _ASCII_LEVELS = " ▁▂▃▄▅▆▇█", " .:-=+*#@"
_CELLS = 50
_NARROWEST = 20
_BESIDE = 22  # cells that labels and counts take


@dataclasses.dataclass(frozen=True, kw_only=True)
class Distribution:
    """What is drawn.

    Attributes:
        groups: Scores, 0–1, by what they are called; actions have their colour.
        upper: The upper threshold, with its interval where there is one.
        lower: The lower threshold, likewise.
    """

    groups: Mapping[str, Sequence[float]]
    upper: Figure
    lower: Figure

    def shares(self, cells: int) -> dict[str, list[float]]:
        """Return each group as shares of itself in `cells` equal parts of the scale."""
        found = {}
        for name, scores in self.groups.items():
            counts = [0] * cells
            for score in scores:
                counts[min(cells - 1, int(score * cells))] += 1
            found[name] = [count / max(1, len(scores)) for count in counts]
        return found


def draw(distribution: Distribution, console: Console) -> RenderableType:
    """Return the picture for a terminal of any width, encoding and colour."""
    ascii_only = console.options.ascii_only
    cells = max(_NARROWEST, min(_CELLS, console.width - _BESIDE))
    levels = _ASCII_LEVELS if ascii_only else _LEVELS
    shares = distribution.shares(cells)
    highest = max((max(row, default=0.0) for row in shares.values()), default=0.0) or 1.0
    table = Table.grid(padding=(0, 1))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    for name, row in shares.items():
        if not distribution.groups[name]:
            continue
        bars = "".join(_bar(share / highest, levels) for share in row)
        style = ACTION_STYLES.get(name, "cyan")
        count = f"{len(distribution.groups[name]):,}"
        table.add_row(Text(name, style=style), Text(bars, style=style), Text(count, style="dim"))
    table.add_row("", _axis(distribution, cells, ascii_only=ascii_only), "")
    table.add_row("", _numbers(distribution, cells), "")
    return Group(table)


def _bar(height: float, levels: str) -> str:
    if height <= 0:
        return levels[0]
    return levels[max(1, round(height * (len(levels) - 1)))]


def _axis(distribution: Distribution, cells: int, *, ascii_only: bool) -> Text:
    """Return the scale in the colours of the actions, thresholds marked, intervals drawn bold."""
    thin, thick, mark = "-=|" if ascii_only else "─━┃"
    scale = Scale(lower=distribution.lower.value, upper=distribution.upper.value)
    marks = {_cell(each.value, cells) for each in (distribution.lower, distribution.upper)}
    axis = Text(no_wrap=True)
    for cell in range(cells):
        middle = (cell + 0.5) / cells
        unsure = any(
            _cell(each.low, cells) <= cell <= _cell(each.high, cells) and each.low < each.high
            for each in (distribution.lower, distribution.upper)
        )
        if cell in marks:
            axis.append(mark, style="bold")
        else:
            axis.append(thick if unsure else thin, style=scale.style(middle))
    return axis


def _numbers(distribution: Distribution, cells: int) -> Text:
    """Return 0, 1 and the thresholds as numbers below their places, where there is room."""
    row = [" "] * (cells + 5)
    row[0] = "0"
    row[cells - 1] = "1"
    taken = {0, cells - 1}
    for figure in (distribution.upper, distribution.lower):
        word = f"{figure.value:.2f}"
        start = min(max(0, _cell(figure.value, cells) - 1), cells - len(word))
        places = set(range(start - 1, start + len(word) + 1))
        if not places & (taken - {0, cells - 1}):
            row[start : start + len(word)] = word
            taken |= places
    return Text("".join(row).rstrip(), style="dim", no_wrap=True)


def _cell(value: float, cells: int) -> int:
    return min(cells - 1, max(0, int(value * cells)))
