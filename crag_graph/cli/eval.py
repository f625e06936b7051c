"""`crag eval`: quality and cost of a configuration on labelled questions, beside plain RAG."""

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crag_graph.cli.entry_codes import INTERRUPTED
from crag_graph.cli.options import (
    CollectionOption,
    JsonOption,
    ProfileOption,
    SetOption,
    settings_from,
)
from crag_graph.cli.pace import Pace
from crag_graph.cli.streams import progress_bar, say, stderr_console, stdout_console, write_json
from crag_graph.text.clean import clean_text, shorten
from crag_graph.wording import counted

if TYPE_CHECKING:
    from crag_graph.evaluation import Evaluation
    from crag_graph.evaluation.records import Record
    from crag_graph.evaluation.running import Tell


def eval(
    dataset: Annotated[
        Path,
        typer.Argument(
            help="Labelled questions: JSONL or CSV, gzipped or not.",
            metavar="DATASET",
            show_default=False,
        ),
    ],
    *,
    collection: CollectionOption = None,
    profile: ProfileOption = None,
    set_: SetOption = None,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            "-n",
            min=1,
            help="At most so many questions, drawn at random.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", min=0, help="Of the draw and of the intervals.")
    ] = 0,
    baseline: Annotated[
        bool,
        typer.Option("--baseline/--no-baseline", help="Run plain RAG beside, to compare with."),
    ] = True,
    concurrency: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=64,
            help="Questions at once. By default 4 with a language model, else 1.",
            show_default=False,
        ),
    ] = None,
    relevant_from: Annotated[
        float,
        typer.Option(metavar="GRADE", help="The label from which a passage answers."),
    ] = 1.0,
    results: Annotated[
        Path | None,
        typer.Option(
            "--results",
            metavar="FILE",
            help="Write results there as they come; the same command goes on from them.",
            show_default=False,
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            metavar="FILE",
            help="Write the report as one self-contained page.",
            show_default=False,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure retrieval, verdicts, refusals, answers, citations and cost on labelled questions.

    A question is an object with the key question and any of answers, answerable, should_answer,
    passages (then it is run over these) and gold (sources or document ids of the collection). Exits
    with 1 when a question failed.
    """
    settings = settings_from(set_, profile=profile)
    if html is not None:
        from crag_graph.cli.page import check_writable

        check_writable(html)  # before anything is spent
    from crag_graph.evaluation import Evaluation
    from crag_graph.services import Services

    services = Services.from_env(collection=collection)
    interrupted = False
    try:
        evaluation = Evaluation(
            dataset,
            services=services,
            settings=settings,
            baseline=baseline,
            limit=limit,
            seed=seed,
            concurrency=concurrency,
            relevant_from=relevant_from,
            results=results,
        )
        _announce(evaluation)
        try:
            with _progress(evaluation) as tell:
                evaluation.tell = tell
                asyncio.run(evaluation.arun())
        except KeyboardInterrupt:
            interrupted = True
        report = evaluation.report()
    finally:
        services.close()
    if html is not None:
        from crag_graph.cli.eval_page import write_evaluation_page

        write_evaluation_page(report, html)
        say(f"wrote {html}")
    if as_json:
        write_json(report.as_dict())
    else:
        from crag_graph.cli.eval_table import print_evaluation

        print_evaluation(report, stdout_console())
    if interrupted:
        say(f"{report.done} of {counted(report.asked, 'question')} run and reported")
        raise typer.Exit(INTERRUPTED)
    if report.failed:
        questions = len({failure["id"] for failure in report.failed})
        say(f"crag: {questions} of {counted(report.asked, 'question')} failed")
        raise typer.Exit(1)


def _announce(evaluation: "Evaluation") -> None:
    """Say beforehand how many calls to language models lie ahead, where there are any."""
    calls, questions = evaluation.expected_calls(), len(evaluation.examples)
    if calls:
        asked = f"{questions:,} question{'s' * (questions != 1)}"
        say(
            f"up to {calls:,} calls to language models lie ahead ({asked}), repetitions aside; "
            "--limit asks fewer"
        )


@contextlib.contextmanager
def _progress(evaluation: "Evaluation") -> Iterator["Tell | None"]:
    """Draw a bar on stderr where that is a terminal, and take it away in the end; else tell."""
    console = stderr_console()
    total = len(evaluation.examples)
    if not console.is_terminal:
        pace = Pace("questions run", advice="--limit N takes fewer")
        done = 0

        def count(_: "Record") -> None:
            nonlocal done
            done += 1
            pace.kept = evaluation.kept
            pace.tell(done, total)

        yield count
        return
    with progress_bar(console) as progress:
        task = progress.add_task("questions", total=total)
        failed = 0

        def tell(record: "Record") -> None:
            nonlocal failed
            failed += record.failed
            what = f"{failed} failed, " if failed else ""
            name = shorten(clean_text(" ".join(record.question.split())), 50)
            progress.update(task, advance=1, description=f"{what}{name}")

        yield tell
