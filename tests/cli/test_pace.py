"""How long the rest takes is said where no bar can be drawn, and only where it takes long."""

import pytest

from crag_graph.cli.pace import Pace, duration


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def run(kept: int, seconds: float, total: int) -> None:
    """Do `total` pieces; those that are kept take no time, each other one `seconds`."""
    clock = Clock()
    pace = Pace("questions graded", advice="--limit N takes fewer", kept=kept, clock=clock)
    for done in range(1, total + 1):
        clock.now += seconds if done > kept else 0.0
        pace.tell(done, total)


def test_a_long_run_says_early_how_long_it_takes_and_seldom_again(capsys):
    run(0, 0.125, 300_000)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("40 of 300,000 questions graded, about 10 hours left at this pace")
    assert lines[0].endswith("; --limit N takes fewer")
    assert 5 < len(lines) < 20


def test_a_short_run_is_silent(capsys):
    run(0, 0.5, 100)
    assert capsys.readouterr().err == ""


def test_what_was_done_before_does_not_count_as_speed(capsys):
    run(100_000, 1.0, 101_000)
    assert "100,005 of 101,000 questions graded, about 17 minutes left" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (30, "less than a minute"),
        (60, "about 1 minute"),
        (170, "about 3 minutes"),
        (5_400, "about 2 hours"),
        (200_000, "about 2 days"),
    ],
)
def test_durations_are_rounded_to_what_a_person_plans_by(seconds: float, told: str):
    assert duration(seconds) == told
