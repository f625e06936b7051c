import io

import pytest
from rich.console import Console

from crag_graph.cli.scale import Scale, ThresholdBar, meter, shown

SCALE = Scale(lower=0.3, upper=0.7)


def drawn(bar: ThresholdBar, *, width: int = 80, encoding: str = "utf-8") -> str:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    console = Console(file=stream, width=width)
    console.print(bar)
    stream.flush()
    return stream.buffer.getvalue().decode(encoding).rstrip("\n")


@pytest.mark.case(117)
def test_zones_follow_the_inclusive_rule():
    zones = [SCALE.zone(score) for score in (0.0, 0.3, 0.31, 0.69, 0.7, 1.0, None)]
    assert zones == [
        "incorrect",
        "incorrect",
        "ambiguous",
        "ambiguous",
        "correct",
        "correct",
        "",
    ]
    assert Scale(lower=None, upper=None).zone(0.9) == ""
    assert SCALE.style(None) == "dim"


def test_the_bar_marks_both_thresholds_and_the_score_where_they_are():
    line = drawn(ThresholdBar(score=0.5, scale=SCALE, width=41))
    assert len(line) == 41
    assert (line.index("●"), line.index("┃"), line.rindex("┃")) == (20, 12, 28)


def test_a_score_on_a_threshold_is_shown_in_its_place():
    line = drawn(ThresholdBar(score=0.7, scale=SCALE, width=41))
    assert line.count("┃") == 1
    assert line[28] == "●"


@pytest.mark.parametrize("score", [0.0, 1.0])
def test_the_ends_are_on_the_bar(score):
    line = drawn(ThresholdBar(score=score, scale=SCALE, width=41))
    assert line.index("●") == round(score * 40)


@pytest.mark.case(130)
def test_a_console_without_these_characters_gets_plain_ones():
    assert drawn(ThresholdBar(score=0.5, scale=SCALE, width=11), encoding="cp1252") == "---|-o-|---"
    assert meter(0.5, cells=4, ascii_only=True) == "##.."


def test_the_bar_fits_a_narrow_console():
    assert len(drawn(ThresholdBar(score=0.5, scale=SCALE), width=14)) == 14


def test_unknown_scores_are_not_zeros():
    assert shown(None) == "?"
    assert meter(None, cells=3, ascii_only=False) == "   "
    assert (shown(0.0), meter(0.0, cells=3, ascii_only=False)) == ("0.00", "░░░")
