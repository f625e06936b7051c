"""What is indexed, told from the manifests alone."""

import dataclasses
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
        store: `embedded`, or `server` for what this machine ingested into the configured server.
        documents: How many it holds, those of an interrupted ingestion among them.
        pending: How many of them an interrupted ingestion left unfinished.
        chunks: How many chunks the finished ones have.
        embedding_model: What it was made with; empty where that cannot be read.
        dimension: Components of a vector; 0 where that cannot be read.
        bytes: What it takes on this machine's disk.
        problem: Why it cannot be read; empty when it can.
    """

    name: str
    store: Literal["embedded", "server"]
    documents: int = 0
    pending: int = 0
    chunks: int = 0
    embedding_model: str = ""
    dimension: int = 0
    bytes: int = 0
    problem: str = ""


def list_statuses(environment: Environment) -> list[CollectionStatus]:
    """Return the collections in the data folder, and those known of the configured server.

    Takes no lock and asks no server.
    """
    from crag_graph.retrieval.store import collection_folder, list_collections, manifest_path

    home = environment.home
    found = [
        _status(name, "embedded", summary, collection_folder(home=home, collection=name))
        for name, summary in list_collections(home).items()
    ]
    if environment.qdrant_url:
        probe = manifest_path(
            home=home, collection=environment.collection, url=environment.qdrant_url
        )
        found += [
            _status(path.stem, "server", _peek(path), path)
            for path in sorted(probe.parent.glob(f"*{probe.suffix}"))
        ]
    return found


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
