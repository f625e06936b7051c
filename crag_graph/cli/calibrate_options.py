"""The options of `crag calibrate`."""

from pathlib import Path
from typing import Annotated

import typer

_LABELS = "Labels"
_WHAT = "What is optimised"

LabelsArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="LABELS",
        help="CSV or JSON Lines: question, passage, label; or question, should_answer.",
        show_default=False,
    ),
]
NameOption = Annotated[
    str | None,
    typer.Option(
        "--name",
        metavar="NAME",
        help="The profile's name. By default after the labels file.",
        show_default=False,
    ),
]
LabelScaleOption = Annotated[
    str,
    typer.Option(
        "--label-scale",
        metavar="SCALE",
        help="Of numbers: binary, unit, 0-2, 0-3, 1-5, signed; `auto` tells it from them.",
        rich_help_panel=_LABELS,
    ),
]
UnitOption = Annotated[
    str,
    typer.Option(
        "--unit",
        metavar="UNIT",
        help="Calibrate on `question`s or on single `passage`s.",
        rich_help_panel=_LABELS,
    ),
]
NeedOption = Annotated[
    int,
    typer.Option(
        "--min-relevant-docs",
        min=1,
        max=50,
        help="So many passages must be labelled relevant for the action correct.",
        rich_help_panel=_LABELS,
    ),
]
ObjectiveOption = Annotated[
    str | None,
    typer.Option(
        "--objective",
        metavar="NAME",
        help="`macro-f1`, `cost` or `searches`. By default macro-f1, or what the options below "
        "belong to.",
        show_default=False,
        rich_help_panel=_WHAT,
    ),
]
MaxSearchesOption = Annotated[
    float | None,
    typer.Option(
        "--max-searches",
        metavar="SHARE",
        help="`searches`: at most this share of questions may search the web, 0–1.",
        show_default=False,
        rich_help_panel=_WHAT,
    ),
]
FalseCorrectOption = Annotated[
    float | None,
    typer.Option(
        "--cost-false-correct",
        metavar="COST",
        help="`cost`: answered from passages that do not hold the answer. By default 5.",
        show_default=False,
        rich_help_panel=_WHAT,
    ),
]
MixedOption = Annotated[
    float | None,
    typer.Option(
        "--cost-mixed",
        metavar="COST",
        help="`cost`: such passages used beside the web. By default 1.",
        show_default=False,
        rich_help_panel=_WHAT,
    ),
]
NeedlessSearchOption = Annotated[
    float | None,
    typer.Option(
        "--cost-needless-search",
        metavar="COST",
        help="`cost`: the web asked beside passages that hold the answer. By default 1.",
        show_default=False,
        rich_help_panel=_WHAT,
    ),
]
DiscardedOption = Annotated[
    float | None,
    typer.Option(
        "--cost-discarded",
        metavar="COST",
        help="`cost`: such passages set aside. By default 2.",
        show_default=False,
        rich_help_panel=_WHAT,
    ),
]
EvaluatorOption = Annotated[
    str | None,
    typer.Option(
        "--evaluator",
        metavar="NAME",
        help="Whose scores. By default CRAG_EVALUATOR.",
        show_default=False,
    ),
]
TracesOption = Annotated[
    Path | None,
    typer.Option(
        "--from-traces",
        metavar="PATH",
        help="Outputs of `crag ask --json`, a file or a folder: which actions they would take "
        "under --profile. Needs no labels and writes no profile.",
        show_default=False,
    ),
]
LimitOption = Annotated[
    int | None,
    typer.Option(
        "--limit", "-n", min=1, help="Only the first so many questions.", show_default=False
    ),
]
YesOption = Annotated[
    bool, typer.Option("--yes", "-y", help="Grade with a language model without asking.")
]
SeedOption = Annotated[int, typer.Option("--seed", min=0, help="Of all resampling.")]
ForceOption = Annotated[
    bool,
    typer.Option("--force", help="Overwrite a profile; write one though nothing separates."),
]
HtmlOption = Annotated[
    Path | None,
    typer.Option("--html", metavar="FILE", help="Write a self-contained page as well."),
]
