"""The typer app: one command a file."""

from typing import Annotated

import typer

from crag_graph.cli.ask import ask
from crag_graph.cli.calibrate import calibrate
from crag_graph.cli.demo import demo
from crag_graph.cli.doctor import doctor
from crag_graph.cli.eval import eval as evaluate
from crag_graph.cli.graph import graph
from crag_graph.cli.ingest import ingest
from crag_graph.cli.status import status

app = typer.Typer(
    name="crag",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def crag(
    context: typer.Context,
    *,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Corrective RAG: what is retrieved is graded before anything is answered from it.

    Begin with [bold]crag demo[/bold], then [bold]crag ingest FOLDER[/bold] and [bold]crag ask
    QUESTION[/bold].
    """
    if version:
        from importlib.metadata import version as installed

        typer.echo(f"crag-graph {installed('crag-graph')}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


for command in (demo, ingest, ask, calibrate, evaluate, status, doctor, graph):
    app.command()(command)
