"""`crag demo`: Corrective RAG on the project's own handbook, three questions, three actions."""

import contextlib
import dataclasses
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crag_graph.cli.options import JsonOption
from crag_graph.cli.streams import stdout_console, write_json
from crag_graph.environment import Environment
from crag_graph.errors import InputError, StoreError
from crag_graph.wording import counted

if TYPE_CHECKING:
    from rich.console import Console

    from crag_graph.ingestion.report import IngestReport

COLLECTION = "handbook"

QUESTIONS = (
    # The handbook says it in so many words.
    "How many characters may a web search query have at most?",
    # The handbook speaks of it, but never says how often.
    "How often should thresholds be calibrated again?",
    # The handbook knows nothing of it.
    "Who painted the ceiling of the Sistine Chapel?",
)
"""One for each action: correct, ambiguous, incorrect."""


def demo(*, as_json: JsonOption = False) -> None:
    """Index the handbook and ask it three questions, one for each action.

    Needs no key and no network, and uses none, whatever is configured.
    """
    console = stdout_console()
    with _indexed() as (environment, report):
        if not as_json:
            _introduce(console, environment, report)
        outputs = [_ask(environment, question) for question in QUESTIONS]
    if as_json:
        write_json({"ingest": report.as_dict(), "runs": outputs})
        return
    for number, output in enumerate(outputs, 1):
        _show(console, number, output)
    configured = Environment.read()
    askable = (configured.qdrant_url, configured.embeddings) == ("", "local")
    _finish(console, outputs, kept=askable and environment.home == configured.home)


def handbook_folder() -> Path:
    """Return the folder of the handbook: in the installed package, or in the checkout.

    Raises:
        InputError: It is in neither.
    """
    import crag_graph

    package = Path(crag_graph.__file__).parent
    for folder in (package / "handbook", package.parent / "docs" / "handbook"):
        if folder.is_dir():
            return folder
    raise InputError(f"the handbook is missing from {package}: install crag-graph anew")


@contextlib.contextmanager
def _indexed() -> Iterator[tuple[Environment, "IngestReport"]]:
    """Give an environment in which the handbook is indexed, in the data folder where that works."""
    from crag_graph.cli.ingesting import Options, ingest_paths

    # Nothing but the data folder is taken from the environment: no key, server or model.
    environment = Environment(
        home=Environment.read().home, collection=COLLECTION, evaluator="local"
    )
    options = Options(prune=True)
    folder = handbook_folder()
    try:
        report = ingest_paths([folder], environment=environment, options=options)
    except StoreError:  # in use, damaged, or not writable: a demonstration need not care
        with tempfile.TemporaryDirectory(prefix="crag-demo-") as place:
            environment = dataclasses.replace(environment, home=Path(place))
            report = ingest_paths([folder], environment=environment, options=options)
            yield environment, report
        return
    yield environment, report


def _ask(environment: Environment, question: str) -> dict[str, Any]:
    from crag_graph.cli.running import ask
    from crag_graph.services import Services
    from crag_graph.settings import Settings

    services = Services.from_env(environment)
    try:
        return ask(services, question, settings=Settings(web_search=False))
    finally:
        services.close()


def _introduce(console: "Console", environment: Environment, report: "IngestReport") -> None:
    from rich.text import Text

    indexed = report.added + report.changed + report.unchanged
    console.print(Text("Corrective RAG on its own handbook", style="bold"))
    work = "indexed before, nothing changed"
    if report.chunks:
        work = f"{counted(report.chunks, 'chunk')} in {report.seconds:.1f} s"
    console.print(
        f"{counted(indexed, 'chapter')}, {work}, in {environment.home}. "
        "Local embeddings, local evaluator, extractive answers; the web is "
        "off. No key, no network."
    )
    console.print()


def _show(console: "Console", number: int, output: dict[str, Any]) -> None:
    from rich.rule import Rule
    from rich.text import Text

    from crag_graph.cli.report import print_report

    title = Text(f"{number} of {len(QUESTIONS)}  {output['question']}", style="bold cyan")
    characters = "-" if console.options.ascii_only else "─"
    console.print(Rule(title, align="left", style="cyan", characters=characters))
    console.print()
    print_report(output, console)
    if output["warnings"]:
        console.print()


def _finish(console: "Console", outputs: list[dict[str, Any]], *, kept: bool) -> None:
    from rich.table import Table
    from rich.text import Text

    from crag_graph.cli.scale import ACTION_STYLES, shown

    table = Table.grid(padding=(0, 2))
    for output in outputs:
        action = output["action"]
        table.add_row(
            Text(action, style=f"bold {ACTION_STYLES.get(action, '')}"),
            shown(output["decision"].get("score")),
            str(output["status"]),
            Text(output["question"]),
        )
    console.print(table)
    console.print()
    console.print(Text("Next:", style="bold"))
    if kept:
        console.print(
            f'  crag ask -c {COLLECTION} "What is a knowledge strip?" --explain --html run.html'
        )
    console.print(
        "  crag ingest FOLDER   index documents of your own, then ask about them\n"
        "  crag doctor          what is configured, and what works"
    )
