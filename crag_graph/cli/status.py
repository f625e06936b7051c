"""`crag status`: what is indexed."""

import dataclasses

from crag_graph.cli.options import JsonOption
from crag_graph.cli.streams import stdout_console, write_json
from crag_graph.environment import Environment
from crag_graph.text.clean import clean_text
from crag_graph.wording import counted


def status(*, as_json: JsonOption = False) -> None:
    """Show the collections: documents, chunks, embedding model, size on disk.

    Of the embedded store only the manifests are read, so it works while another process serves a
    collection. Where QDRANT_URL is set, the server is asked as well.
    """
    from crag_graph.cli.collections import list_statuses

    environment = Environment.read()
    collections, unanswered = list_statuses(environment)
    if as_json:
        write_json(
            {
                "home": str(environment.home),
                "collection": environment.collection,
                "store": "server" if environment.qdrant_url else "embedded",
                "collections": [dataclasses.asdict(item) for item in collections],
                "server_problem": unanswered,
            }
        )
        return
    from rich.table import Table
    from rich.text import Text

    console = stdout_console()
    console.print(Text(f"home: {clean_text(str(environment.home))}", style="dim"))
    if unanswered:
        note = f"! {clean_text(unanswered)}; what follows is what this machine ingested there"
        console.print(Text(note, style="yellow"))
    if not collections:
        console.print("Nothing is indexed yet: run `crag ingest PATH`, or try `crag demo`.")
        return
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("collection", "documents", "chunks", "model", "dimension", "size"):
        table.add_column(name, justify="left" if name in ("collection", "model") else "right")
    for item in collections:
        name = item.name if item.store == "embedded" else f"{item.name} (server)"
        style = "bold" if item.name == environment.collection else ""
        if item.problem:
            table.add_row(Text(name, style=style), "", "", Text("unreadable", style="red"), "", "")
            continue
        table.add_row(
            Text(name, style=style),
            "?" if item.documents is None else f"{item.documents:,}",
            f"{item.chunks:,}",
            Text(clean_text(item.embedding_model or "of another tool")),
            f"{item.dimension:,}",
            f"{item.bytes / 2**20:,.1f} MiB",
        )
    console.print(table)
    for item in collections:
        if item.problem:
            console.print(Text(f"! {clean_text(item.problem)}", style="red"))
        if item.pending:
            pending = counted(item.pending, "unfinished document")
            note = f"! {item.name}: {pending}; ingest again to finish"
            console.print(Text(note, style="yellow"))
