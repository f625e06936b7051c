"""Running a calibration from the command: what it costs, how far it is, and where it ends up."""

import contextlib
import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from crag_graph.cli.pace import Pace
from crag_graph.cli.streams import progress_bar, say, stderr_console
from crag_graph.environment import Environment
from crag_graph.errors import InputError
from crag_graph.wording import counted

if TYPE_CHECKING:
    from crag_graph.calibration import Calibration, LabelSet, Objective, Plan
    from crag_graph.calibration.grading import Progress
    from crag_graph.calibration.sample import Unit
    from crag_graph.calibration.traces import WhatIf
    from crag_graph.settings import Settings


_MANY = 5_000
"""Passages whose grading is told of beforehand, even where the local evaluator does it."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request:
    """What is to be calibrated.

    Attributes:
        labels: Already read: bad ones cost nothing.
        objective: What to optimise.
        settings: Of the runs that the profile is for.
        path: Where the profile goes.
        unit: Questions or passages; None leaves it to the labels.
        limit: At most so many questions.
        seed: Of all resampling.
        force: Overwrite, and write what does not separate.
        yes: Pay without asking.
    """

    labels: "LabelSet"
    objective: "Objective"
    settings: "Settings"
    path: Path
    unit: "Unit | None"
    limit: int | None
    seed: int
    force: bool
    yes: bool


def environment_of(*, collection: str | None, evaluator: str | None) -> Environment:
    """Return the environment with what the command's options put in its place."""
    environment = Environment.read()
    if collection:
        environment = environment.with_collection(collection)
    if evaluator and evaluator.strip():
        environment = dataclasses.replace(environment, evaluator=evaluator.strip())
    return environment


def run(request: Request, environment: Environment) -> "Calibration":
    """Return the calibration; its profile is written where it separates or `force` says so.

    Raises:
        InputError: The labels cannot be used, or nobody agreed to what grading costs.
        CRAGError: Retrieval or grading failed; scores so far are kept.
    """
    from crag_graph.calibration import ScoreStore, calibrate, write_profile
    from crag_graph.calibration.scores import FILE
    from crag_graph.services import Services

    services = Services.from_env(environment)
    try:
        with ScoreStore(environment.home / FILE) as store, contextlib.ExitStack() as stack:
            progress = _Progress(stack)

            def approve(plan: "Plan") -> None:
                _approve(plan, yes=request.yes)
                progress.kept = plan.questions - plan.waiting

            result = calibrate(
                request.labels,
                services=services,
                settings=request.settings,
                objective=request.objective,
                unit=request.unit,
                store=store,
                limit=request.limit,
                seed=request.seed,
                progress=progress.teller("questions graded"),
                retrieving=progress.teller("questions searched for"),
                approve=approve,
            )
    finally:
        services.close()
    if not result.separable and not request.force:
        return result
    write_profile(result, request.path)
    return dataclasses.replace(result, path=request.path)


def run_traces(path: Path, environment: Environment, settings: "Settings") -> "WhatIf":
    """Return what earlier runs would come to under the settings' thresholds.

    Raises:
        InputError: There is no run in `path`.
        ConfigurationError: There is no such profile.
    """
    from crag_graph.calibration.traces import read_traces, what_if
    from crag_graph.services import Services
    from crag_graph.settings import Settings

    services: Services = Services.from_env(environment)
    asked = services.thresholds(settings)
    present = services.thresholds(Settings())
    return what_if(read_traces(path), asked, present, outage_policy=settings.outage_policy)


def _approve(plan: "Plan", *, yes: bool) -> None:
    """Say what grading takes; where that costs, ask whether to go on if there is somebody to ask.

    Raises:
        InputError: Nobody said yes.
    """
    if not plan.calls:
        if plan.passages >= _MANY:
            say(
                f"grading {counted(plan.waiting, 'question')} "
                f"({counted(plan.passages, 'passage')}) with {plan.evaluator}; it can be "
                "stopped, and goes on when it is run again"
            )
        return
    kept = plan.questions - plan.waiting
    say(
        f"grading {counted(plan.waiting, 'question')} with {plan.evaluator} takes about "
        f"{counted(plan.calls, 'call')} to the model ({counted(plan.passages, 'passage')}"
        + (f"; {counted(kept, 'question')} graded before)" if kept else ")")
    )
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InputError("add --yes to go on, or --limit N to grade fewer questions")
    if not typer.confirm("Go on?", err=True):
        raise InputError("nothing was graded; --limit N grades fewer questions")


class _Progress:
    """Tells how far retrieval and grading are: a bar where stderr is a terminal, else lines."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self._stack = stack
        self._drawn = stderr_console().is_terminal
        self.kept = 0

    def teller(self, what: str) -> "Progress":
        """Return what is told of one phase; nothing is drawn or timed before it begins."""
        told: Progress | None = None

        def tell(done: int, total: int) -> None:
            nonlocal told
            if told is None:
                told = self._bar(what) if self._drawn else self._lines(what)
            told(done, total)

        return tell

    def _bar(self, what: str) -> "Progress":
        bar = progress_bar(stderr_console())
        task = bar.add_task(what, total=None)
        bar.start()
        self._stack.callback(bar.stop)

        def tell(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)
            if done == total:
                bar.stop()

        return tell

    def _lines(self, what: str) -> "Progress":
        return Pace(what, advice="--limit N takes fewer", kept=self.kept).tell
