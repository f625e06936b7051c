"""The distribution of scores as an inline SVG that takes its colours from the page."""

import html

from crag_graph.cli.calibrate_draw import Distribution
from crag_graph.cli.calibrate_words import short
from crag_graph.cli.scale import ACTION_STYLES

_BINS = 40
_WIDTH, _LEFT, _RIGHT = 760, 96, 56
_ROW, _GAP, _TOP, _BOTTOM = 84, 14, 34, 28
_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)
_WORD = 92  # about as wide as a threshold's label

STYLE = """
.plot{width:100%;height:auto;margin:.5rem 0}
.plot text{fill:var(--soft);font:12px system-ui,-apple-system,"Segoe UI",sans-serif}
.plot .name{font-weight:600}
.plot .bars{fill:currentColor;opacity:.75}
.plot .base{stroke:var(--line)}
.plot .unsure{fill:currentColor;opacity:.1}
.plot .bar{stroke:currentColor;stroke-width:1.5;stroke-dasharray:4 3}
.plot .correct text,.plot text.correct{fill:var(--correct)}
.plot .ambiguous text{fill:var(--ambiguous)}
.plot .incorrect text,.plot text.incorrect{fill:var(--incorrect)}
.plot .runs{color:var(--ink)}
td:nth-child(3){white-space:nowrap}td:nth-child(4){min-width:11rem}
"""
"""What the page's style sheet needs beside its own for the plot."""


def plot(distribution: Distribution) -> str:
    """Return the SVG: a histogram a group, both thresholds across all of them, with intervals."""
    shares = {
        name: row for name, row in distribution.shares(_BINS).items() if distribution.groups[name]
    }
    highest = max((max(row) for row in shares.values()), default=0.0) or 1.0
    height = _TOP + len(shares) * (_ROW + _GAP) + _BOTTOM
    floor = height - _BOTTOM
    parts = [
        f'<svg class="plot" viewBox="0 0 {_WIDTH} {height}" role="img" '
        f'aria-label="{_described(distribution)}">'
    ]
    parts += [_threshold(distribution, name, floor) for name in ("lower", "upper")]
    for number, (name, row) in enumerate(shares.items()):
        base = _TOP + (number + 1) * (_ROW + _GAP) - _GAP
        count = len(distribution.groups[name])
        parts.append(_histogram(name, row, count=count, base=base, highest=highest))
    for tick in _TICKS:
        at = _at(tick)
        parts.append(
            f'<line class="base" x1="{at:.1f}" x2="{at:.1f}" y1="{floor}" y2="{floor + 5}"/>'
            f'<text x="{at:.1f}" y="{floor + 18}" text-anchor="middle">{tick:g}</text>'
        )
    parts.append("</svg>")
    return "".join(parts)


def _histogram(name: str, row: list[float], *, count: int, base: int, highest: float) -> str:
    width = (_WIDTH - _LEFT - _RIGHT) / _BINS
    bars = "".join(
        f"M{_LEFT + cell * width + 0.5:.1f} {base}v-{share / highest * _ROW:.1f}"
        f"h{width - 1:.1f}V{base}z"
        for cell, share in enumerate(row)
        if share
    )
    kind = name if name in ACTION_STYLES else "runs"
    return (
        f'<g class="{kind}"><path class="bars" d="{bars}"/>'
        f'<line class="base" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{base}" y2="{base}"/>'
        f'<text class="name" x="{_LEFT - 10}" y="{base - 4}" text-anchor="end">'
        f"{html.escape(name)}</text>"
        f'<text x="{_WIDTH - _RIGHT + 10}" y="{base - 4}">{count:,}</text></g>'
    )


def _threshold(distribution: Distribution, name: str, floor: int) -> str:
    figure = distribution.upper if name == "upper" else distribution.lower
    kind = "correct" if name == "upper" else "incorrect"
    at, low, high = (_at(value) for value in (figure.value, figure.low, figure.high))
    anchor, x = ("start", at + 4) if name == "upper" else ("end", at - 4)
    if anchor == "start" and at + _WORD > _WIDTH:
        anchor, x = "end", at - 4
    return (
        f'<g class="{kind}"><rect class="unsure" x="{low:.1f}" y="{_TOP - 8}" '
        f'width="{max(0.0, high - low):.1f}" height="{floor - _TOP + 8}"/>'
        f'<line class="bar" x1="{at:.1f}" x2="{at:.1f}" y1="{_TOP - 14}" y2="{floor}"/>'
        f'<text x="{x:.1f}" y="{_TOP - 16}" text-anchor="{anchor}">{name} '
        f"{short(figure.value)}</text></g>"
    )


def _at(value: float) -> float:
    return _LEFT + value * (_WIDTH - _LEFT - _RIGHT)


def _described(distribution: Distribution) -> str:
    groups = ", ".join(
        f"{len(scores)} {html.escape(name, quote=True)}"
        for name, scores in distribution.groups.items()
        if scores
    )
    return (
        f"scores from 0 to 1 of {groups}; lower threshold {short(distribution.lower.value)}, "
        f"upper threshold {short(distribution.upper.value)}"
    )
