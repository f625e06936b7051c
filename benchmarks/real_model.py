"""The three actions with a real small model: which promise broke, and what the model got wrong.

    python -m benchmarks.real_model [--model-dir DIR] [--cases ferry,lamp] [--modes fused,staged]

Puts the model's file together where it is missing (benchmarks/model_files.py: 1.1 GB), serves it
with llama.cpp on loopback, and asks the graph questions whose right action and answer are known.
The promises must hold whatever the model says: the command ends with an error when one is broken.
The model's own mistakes are only counted. On one processor a question takes a minute or two.
"""

import argparse
import sys
from pathlib import Path
from typing import get_args

from benchmarks.model_files import VARIABLE, ModelFileError, model_file, model_folder
from benchmarks.model_server import ModelServerError, running
from benchmarks.real_model_cases import CASES, STAGED, Case
from benchmarks.real_model_mistakes import Judged, judge
from benchmarks.real_model_promises import broken
from benchmarks.real_model_runs import Run, stage
from crag_graph.settings import EvaluationMode

MODES: tuple[EvaluationMode, ...] = ("fused", "staged")
_HEAD = (
    "case      mode    action       right?  grades  answer    cites  calls  again  tokens  seconds"
)


def main(folder: Path | None, names: list[str], modes: list[EvaluationMode]) -> int:
    """Print the table, the mistakes and the broken promises; return the exit code."""
    runs: list[Run] = []
    with running(model_file(model_folder(folder))) as server, stage(server) as made:
        print(_HEAD)
        for mode in modes:
            for case in _chosen(names, mode):
                run = made.ask(case, mode)
                runs.append(run)
                print(_row(run, judge(run)), flush=True)
    _totals(runs)
    _said(runs)
    failed = [(run, promise) for run in runs for promise in broken(run)]
    print()
    for run, promise in failed:
        print(f"BROKEN: {run.case.name}, {run.mode}: {promise}")
    if not failed:
        print(f"promises that hold whatever the model says: none broken in {len(runs)} runs")
    return 1 if failed else 0


def _chosen(names: list[str], mode: EvaluationMode) -> list[Case]:
    asked = names or [case.name for case in CASES if mode == "fused" or case.name in STAGED]
    return [case for case in CASES if case.name in asked]


def _row(run: Run, judged: Judged) -> str:
    tokens = run.usage.get("input_tokens", 0) + run.usage.get("output_tokens", 0)
    grades = f"{judged.grades_right}/{judged.grades}"
    right = "yes" if judged.action else "no"
    cites = len(run.state.get("citations") or [])
    return (
        f"{run.case.name:<9} {run.mode:<7} {run.state.get('action') or '-':<12} {right:<7} "
        f"{grades:<7} {judged.answer:<9} {cites:>5}  {run.calls:>5} {len(run.repeats):>6} "
        f"{tokens:>7} {run.seconds:>8.0f}"
    )


def _totals(runs: list[Run]) -> None:
    print()
    for mode in dict.fromkeys(run.mode for run in runs):
        judged = [judge(run) for run in runs if run.mode == mode]
        grades = sum(each.grades_right for each in judged), sum(each.grades for each in judged)
        uncited = sum("the answer cites nothing" in each.mistakes for each in judged)
        print(
            f"{mode}: action right {sum(each.action for each in judged)} of {len(judged)}, "
            f"grades right {grades[0]} of {grades[1]}, "
            f"answers right {sum(each.answer == 'right' for each in judged)} of {len(judged)}, "
            f"without a citation {uncited}"
        )


def _said(runs: list[Run]) -> None:
    for run in runs:
        print(f"\n{run.case.name}, {run.mode}: {run.case.question}")
        print(f"  {' '.join(str(run.state.get('answer') or run.error).split())}")
        for mistake in judge(run).mistakes:
            print(f"  - {mistake}")
        for note in run.repeats:
            print(f"  - {note}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model-dir", type=Path, help=f"where the model is; else {VARIABLE}")
    parser.add_argument("--cases", default="", help="names from real_model_cases; default: all")
    parser.add_argument("--modes", default=",".join(MODES), help="default: %(default)s")
    options = parser.parse_args()
    wanted = [mode for mode in get_args(EvaluationMode) if mode in options.modes.split(",")]
    try:
        sys.exit(main(options.model_dir, [n for n in options.cases.split(",") if n], wanted))
    except (ModelFileError, ModelServerError) as problem:
        sys.exit(str(problem))
