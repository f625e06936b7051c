"""`crag ask`: one question, one run."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from crag_graph.cli.options import (
    CollectionOption,
    JsonOption,
    ProfileOption,
    SetOption,
    filter_from,
    settings_from,
)
from crag_graph.cli.streams import say, stdout_console, write_json
from crag_graph.text.clean import clean_question


def ask(
    question: Annotated[
        str,
        typer.Argument(help="What you want to know; - reads it from stdin.", metavar="QUESTION"),
    ],
    *,
    collection: CollectionOption = None,
    profile: ProfileOption = None,
    set_: SetOption = None,
    filter_: Annotated[
        list[str] | None,
        typer.Option(
            "--filter",
            "-f",
            metavar="FIELD=VALUE",
            help="Only passages whose metadata says so. A repeated field may have any of its "
            "values.",
            show_default=False,
        ),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", "-e", help="Show every strip, kept and dropped.")
    ] = False,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write the run as one self-contained page."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Answer a question from the collection, from the web where it falls short, or refuse.

    The decision card says which, and why. Exits with 0 when it answered or refused.
    """
    settings = settings_from(set_, profile=profile)
    where = filter_from(filter_)
    question = clean_question(sys.stdin.read() if question == "-" else question)
    if html is not None:
        from crag_graph.cli.page import check_writable

        check_writable(html)  # before anything is spent
    if settings.approve_searches:
        from crag_graph.cli.approval import require_terminal

        require_terminal()
    from crag_graph.cli.running import ask as run_graph
    from crag_graph.services import Services

    services = Services.from_env(collection=collection)
    try:
        output = run_graph(services, question, settings=settings, where=where)
    finally:
        services.close()
    if html is not None:
        from crag_graph.cli.page import write_page

        write_page(output, html)
        say(f"wrote {html}")
    if as_json:
        write_json(output)
        return
    from crag_graph.cli.report import print_report

    print_report(output, stdout_console(), explain=explain)
