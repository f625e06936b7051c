"""`crag calibrate`: a threshold profile from labels, or a look at earlier runs without any."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from crag_graph.cli.calibrate_options import (
    DiscardedOption,
    EvaluatorOption,
    FalseCorrectOption,
    ForceOption,
    HtmlOption,
    LabelsArgument,
    LabelScaleOption,
    LimitOption,
    MaxSearchesOption,
    MixedOption,
    NameOption,
    NeedlessSearchOption,
    NeedOption,
    ObjectiveOption,
    SeedOption,
    TracesOption,
    UnitOption,
    YesOption,
)
from crag_graph.cli.entry_codes import INTERRUPTED
from crag_graph.cli.options import (
    CollectionOption,
    JsonOption,
    ProfileOption,
    SetOption,
    settings_from,
)
from crag_graph.cli.streams import say, stdout_console, write_json
from crag_graph.errors import InputError

if TYPE_CHECKING:
    from crag_graph.calibration import Objective
    from crag_graph.cli.calibrate_run import Request
    from crag_graph.settings import Settings


def calibrate(
    labels: LabelsArgument = None,
    *,
    name: NameOption = None,
    label_scale: LabelScaleOption = "auto",
    unit: UnitOption = "auto",
    min_relevant_docs: NeedOption = 1,
    objective: ObjectiveOption = None,
    max_searches: MaxSearchesOption = None,
    cost_false_correct: FalseCorrectOption = None,
    cost_mixed: MixedOption = None,
    cost_needless_search: NeedlessSearchOption = None,
    cost_discarded: DiscardedOption = None,
    collection: CollectionOption = None,
    evaluator: EvaluatorOption = None,
    set_: SetOption = None,
    from_traces: TracesOption = None,
    profile: ProfileOption = None,
    limit: LimitOption = None,
    yes: YesOption = False,
    seed: SeedOption = 0,
    force: ForceOption = False,
    html: HtmlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find the thresholds that your labels call for, and say how sure they are.

    Each question is graded once; the scores are kept, so that another objective costs nothing.
    Exits with 1, and writes no profile, when the scores do not tell the labels apart; with 2 when
    the labels cannot be used.
    """
    if (labels is None) == (from_traces is None):
        raise InputError("give a file of labels, or --from-traces PATH, and not both")
    if html is not None:
        from crag_graph.cli.page import check_writable

        check_writable(html)
    settings = settings_from(set_, profile=profile)
    if from_traces is not None:
        _traces(from_traces, settings, collection=collection, html=html, as_json=as_json)
        return
    if profile is not None:
        raise InputError("--profile belongs to --from-traces; --name names the new profile")
    from crag_graph.calibration import default_name, profile_path, read_labels
    from crag_graph.calibration.profile_file import check_free
    from crag_graph.calibration.values import LABEL_SCALES
    from crag_graph.cli.calibrate_run import Request, environment_of

    environment = environment_of(collection=collection, evaluator=evaluator)
    file: Any = labels
    path = profile_path(environment.home, default_name(file) if name is None else name)
    check_free(path, force=force)
    scale: Any = _one_of("--label-scale", label_scale, LABEL_SCALES)
    units: Any = _one_of("--unit", unit, ("auto", "question", "passage"))
    costs = {
        "false_correct": cost_false_correct,
        "mixed": cost_mixed,
        "needless_search": cost_needless_search,
        "discarded": cost_discarded,
    }
    request = Request(
        objective=_objective(objective, max_searches, costs),
        labels=read_labels(file, scale=scale, min_relevant_docs=min_relevant_docs),
        settings=settings,
        path=path,
        unit=None if units == "auto" else units,
        limit=limit,
        seed=seed,
        force=force,
        yes=yes,
    )
    _labels(request, environment, html=html, as_json=as_json)


def _labels(request: "Request", environment: Any, *, html: Path | None, as_json: bool) -> None:
    from crag_graph.cli.calibrate_run import run

    try:
        result = run(request, environment)
    except KeyboardInterrupt:
        say("what was graded so far is kept; run the same command again to go on")
        raise typer.Exit(INTERRUPTED) from None
    if html is not None:
        from crag_graph.cli.calibrate_page import write_calibration_page

        write_calibration_page(result, html)
        say(f"wrote {html}")
    if as_json:
        from crag_graph.calibration.result import plain_dict

        write_json(plain_dict(result.as_dict()))
    else:
        from crag_graph.cli.calibrate_report import print_calibration

        print_calibration(result, stdout_console())
    if result.path is None:
        say("crag: the scores do not tell the labels apart, so no profile was written")
        raise typer.Exit(1)


def _traces(
    path: Path,
    settings: "Settings",
    *,
    collection: str | None,
    html: Path | None,
    as_json: bool,
) -> None:
    from crag_graph.cli.calibrate_run import environment_of, run_traces

    environment = environment_of(collection=collection, evaluator=None)
    report = run_traces(path, environment, settings)
    if html is not None:
        from crag_graph.cli.calibrate_page import write_calibration_page

        write_calibration_page(report, html)
        say(f"wrote {html}")
    if as_json:
        from crag_graph.calibration.result import plain_dict

        write_json(plain_dict(report.as_dict()))
        return
    from crag_graph.cli.calibrate_report import print_what_if

    print_what_if(report, stdout_console())


def _objective(
    name: str | None, max_searches: float | None, costs: dict[str, float | None]
) -> "Objective":
    """Return the objective that the options ask for.

    Raises:
        InputError: There is none of that name, or an option belongs to another one.
    """
    from crag_graph.calibration.objectives import OBJECTIVES, Costs, Objective

    given = {key: value for key, value in costs.items() if value is not None}
    asked = [*(["searches"] * (max_searches is not None)), *(["cost"] * bool(given))]
    chosen: Any = name or (asked[0] if asked else "macro-f1")
    _one_of("--objective", chosen, OBJECTIVES)
    for other in asked:
        if other != chosen:
            option = "--max-searches" if other == "searches" else "--cost-…"
            raise InputError(f"{option} belongs to the objective {other}, not to {chosen}")
    if chosen == "searches" and max_searches is None:
        raise InputError("the objective searches needs --max-searches SHARE, such as 0.3")
    return Objective(
        name=chosen,
        costs=Costs(**given),
        max_searches=1.0 if max_searches is None else max_searches,
    )


def _one_of(option: str, value: str, known: tuple[str, ...]) -> str:
    if value not in known:
        raise InputError(f"{option} {value[:40]!r}: there are {', '.join(known)}")
    return value
