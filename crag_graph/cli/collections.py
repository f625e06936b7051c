"""What is indexed: told from the manifests of this machine, and by the server where one is set."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from crag_graph.environment import Environment
from crag_graph.errors import CRAGError
from crag_graph.retrieval.manifest import Manifest, ManifestSummary


@dataclasses.dataclass(frozen=True, kw_only=True)
class CollectionStatus:
    """One collection.

    Attributes:
        name: Its name.
        store: `embedded`, or `server` for what the configured server holds.
        documents: How many it holds, those of an interrupted ingestion among them; on a server
            those that this machine ingested, None where it ingested none.
        pending: How many of them an interrupted ingestion left unfinished.
        chunks: How many chunks the finished ones have; on a server that answers, all of its own.
        embedding_model: What it was made with; empty where that cannot be read.
        dimension: Components of a vector; 0 where that cannot be read.
        bytes: What it takes on this machine's disk.
        problem: Why it cannot be read; empty when it can.
    """

    name: str
    store: Literal["embedded", "server"]
    documents: int | None = 0
    pending: int = 0
    chunks: int = 0
    embedding_model: str = ""
    dimension: int = 0
    bytes: int = 0
    problem: str = ""


def list_statuses(environment: Environment) -> tuple[list[CollectionStatus], str]:
    """Return the collections here and on the configured server, and why that does not answer.

    Takes no lock. Of a server that does not answer, what this machine ingested there is told.
    """
    from crag_graph.retrieval.store import collection_folder, list_collections, manifest_path

    home = environment.home
    found = [
        _status(name, "embedded", summary, collection_folder(home=home, collection=name))
        for name, summary in list_collections(home).items()
    ]
    if not environment.qdrant_url:
        return found, ""
    probe = manifest_path(home=home, collection=environment.collection, url=environment.qdrant_url)
    known = {
        path.stem: _status(path.stem, "server", _peek(path), path)
        for path in sorted(probe.parent.glob(f"*{probe.suffix}"))
    }
    try:
        return [*found, *_served(environment, known)], ""
    except CRAGError as error:
        return [*found, *known.values()], error.message


def _served(
    environment: Environment, known: Mapping[str, CollectionStatus]
) -> list[CollectionStatus]:
    """Return what the server says, beside what this machine knows of its documents."""
    from crag_graph.retrieval.server.listing import list_server

    return [
        dataclasses.replace(
            known.get(at.name, CollectionStatus(name=at.name, store="server", documents=None)),
            chunks=at.chunks,
            embedding_model=at.embedding_model,
            dimension=at.dimension,
            problem=at.problem,
        )
        for at in list_server(environment.qdrant_url, api_key=environment.qdrant_api_key or None)
    ]


def _status(
    name: str,
    store: Literal["embedded", "server"],
    summary: ManifestSummary | CRAGError,
    place: Path,
) -> CollectionStatus:
    size = _size(place)
    if isinstance(summary, CRAGError):
        return CollectionStatus(name=name, store=store, bytes=size, problem=summary.message)
    return CollectionStatus(
        name=name,
        store=store,
        documents=summary.documents,
        pending=summary.pending,
        chunks=summary.chunks,
        embedding_model=summary.schema.embedding_model,
        dimension=summary.schema.dimension,
        bytes=size,
    )


def _size(place: Path) -> int:
    from crag_graph.retrieval.edge.disk import size_on_disk

    try:
        return place.stat().st_size if place.is_file() else size_on_disk(place)
    except OSError:
        return 0  # another process changes it at this moment


def _peek(path: Path) -> ManifestSummary | CRAGError:
    try:
        return Manifest.peek(path)
    except CRAGError as error:
        return error
