"""`crag ingest`: files and folders into a collection."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crag_graph.cli.entry_codes import INTERRUPTED
from crag_graph.cli.options import CollectionOption, JsonOption
from crag_graph.cli.streams import say, stdout_console, write_json
from crag_graph.environment import Environment
from crag_graph.text.clean import clean_text
from crag_graph.wording import counted

if TYPE_CHECKING:
    from crag_graph.ingestion.report import IngestReport

_MOST_FAILURES = 20
_MOST_EMPTY = 5


def ingest(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH…", help="Files and folders; folders to any depth.")
    ],
    *,
    collection: CollectionOption = None,
    prune: Annotated[
        bool, typer.Option("--prune", help="Remove documents below PATH whose files are gone.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only tell what would be done; nothing is written.")
    ] = False,
    chunker: Annotated[
        str,
        typer.Option(
            "--chunker",
            metavar="NAME",
            help="`recursive` fills chunks, `markdown` also begins one at each heading, "
            "`sentences` takes a few sentences at a time.",
        ),
    ] = "recursive",
    chunk_size: Annotated[
        int | None,
        typer.Option(
            "--chunk-size",
            metavar="TOKENS",
            help="Tokens of a chunk, at most. By default 200, or what the embedding model reads.",
            show_default=False,
        ),
    ] = None,
    chunk_overlap: Annotated[
        int | None,
        typer.Option(
            "--chunk-overlap",
            metavar="TOKENS",
            help="Tokens that a chunk may repeat of the one before it. By default 32.",
            show_default=False,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Index files and folders, skipping what has not changed since the last time.

    It can be interrupted and run again at any moment. Exits with 1 when some files could not be
    indexed (the others were), with 2 when a path does not exist. Empty files are no failure.
    """
    from crag_graph.cli.ingesting import Options, ingest_paths

    environment = Environment.read()
    if collection:
        environment = environment.with_collection(collection)
    chunking: dict[str, Any] = {"strategy": chunker}
    if chunk_size is not None:
        chunking["size"] = chunk_size
    if chunk_overlap is not None:
        chunking["overlap"] = chunk_overlap
    options = Options(prune=prune, dry_run=dry_run, chunking=chunking)
    try:
        report = ingest_paths(paths, environment=environment, options=options)
    except KeyboardInterrupt:
        say("what was stored so far is kept; run the same command again to go on")
        raise typer.Exit(INTERRUPTED) from None
    if as_json:
        where = {"collection": environment.collection, "home": str(environment.home)}
        write_json(where | report.as_dict())
    else:
        _show(report, environment)
    if not report.ok:
        indexed = report.added + report.changed + report.unchanged
        total = indexed + len(report.empty) + len(report.failed)
        say(f"crag: {len(report.failed)} of {counted(total, 'file')} could not be indexed")
        raise typer.Exit(1)


def _show(report: "IngestReport", environment: Environment) -> None:
    from rich.text import Text

    console = stdout_console()
    verb = "Would index into" if report.dry_run else "Indexed into"
    console.print(Text(f"{verb} the collection {environment.collection!r}", style="bold"))
    counts = [
        f"{report.added:,} added",
        f"{report.changed:,} changed",
        f"{report.unchanged:,} unchanged",
    ]
    if report.pruned:
        counts.append(f"{report.pruned:,} removed")
    chunks = counted(report.chunks, "chunk")
    console.print(f"  {', '.join(counts)} · {chunks} · {report.seconds:.1f} s")
    if report.skipped:
        skipped = f"  {counted(report.skipped, 'file')} of formats that are not read, or minified"
        console.print(Text(skipped, style="dim"))
    if report.empty:
        empty = f"  {counted(len(report.empty), 'file')} without text: {_named(report.empty)}"
        console.print(Text(clean_text(empty), style="dim"), soft_wrap=True)
    for path, reason in report.failed[:_MOST_FAILURES]:
        # One line each, however long, so that a path can be copied out of it.
        console.print(Text(clean_text(f"! {path}: {reason}"), style="red"), soft_wrap=True)
    if len(report.failed) > _MOST_FAILURES:
        rest = len(report.failed) - _MOST_FAILURES
        console.print(Text(f"! and {rest:,} more; --json lists them all", style="red"))
    if not any((report.added, report.changed, report.unchanged, report.empty, report.failed)):
        console.print(Text("  No file of a known format was found.", style="yellow"))


def _named(paths: list[str]) -> str:
    names = ", ".join(Path(path).name for path in paths[:_MOST_EMPTY])
    rest = len(paths) - _MOST_EMPTY
    return names if rest <= 0 else f"{names} and {rest:,} more"
