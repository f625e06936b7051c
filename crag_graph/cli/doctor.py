"""`crag doctor`: what is configured, what works, and what to do about the rest."""

import dataclasses
from typing import Annotated

import typer

from crag_graph.cli.options import CollectionOption, JsonOption
from crag_graph.cli.streams import stdout_console, write_json
from crag_graph.environment import Environment
from crag_graph.text.clean import clean_text

_STYLES = {"ok": "green", "off": "yellow", "problem": "bold red"}


def doctor(
    *,
    collection: CollectionOption = None,
    online: Annotated[
        bool, typer.Option("--online", help="Also send one small request to each hosted model.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Check every component, and name the one thing to do about each that does not work.

    Exits with 1 when something that is configured does not work. Nothing is sent anywhere without
    --online, but to a Qdrant server or a Redis cache that is configured.
    """
    from crag_graph.cli.checks import run_checks

    environment = Environment.read()
    if collection:
        environment = environment.with_collection(collection)
    checks = run_checks(environment, online=online)
    if as_json:
        found = list(checks)
        ok = all(check.state != "problem" for check in found)
        write_json({"ok": ok, "checks": [dataclasses.asdict(check) for check in found]})
        raise typer.Exit(0 if ok else 1)
    from rich.table import Table
    from rich.text import Text

    console = stdout_console()
    problems = 0
    for check in checks:  # each is shown as it ends: loading a model takes a moment
        problems += check.state == "problem"
        line = Table.grid(padding=(0, 1))
        line.add_column(width=7)
        line.add_column(width=12, no_wrap=True)
        line.add_column(ratio=1)
        what = Text(clean_text(check.detail))
        if check.todo:
            what.append(f"\n> {clean_text(check.todo)}", style="bold")
        line.add_row(Text(check.state, style=_STYLES[check.state]), check.name, what)
        console.print(line)
    if problems:
        noun = "component does" if problems == 1 else "components do"
        console.print(Text(f"{problems} configured {noun} not work.", style="bold red"))
        raise typer.Exit(1)
    console.print(Text("Everything that is configured works.", style="green"))
