"""Removing documents whose files are gone."""

import dataclasses
from pathlib import Path

from crag_graph.ingestion.discovery import Discovery
from crag_graph.retrieval.index import VectorIndex
from crag_graph.retrieval.manifest import DocumentRecord, Manifest


def prune_missing(
    found: Discovery, *, index: VectorIndex, manifest: Manifest, dry_run: bool
) -> int:
    """Return how many documents below the given paths were removed since their files are gone.

    A file that is there but cannot be read, that is hidden or of a format that is not loaded any
    more keeps its chunks: only what does not exist is gone.
    """
    present = {file.document_id for file in found.files}
    gone = [
        record
        for record in manifest.records()
        if record.document_id not in present
        and found.covers(record.source)
        and _is_gone(record.source)
    ]
    if gone and not dry_run:
        _remove(gone, index, manifest)
    return len(gone)


def _remove(gone: list[DocumentRecord], index: VectorIndex, manifest: Manifest) -> None:
    for record in gone:
        # Pending first: from here on the manifest does not count on its chunks.
        manifest.put(dataclasses.replace(record, state="pending"))
        index.delete_document(record.document_id)
    index.flush()
    for record in gone:
        manifest.remove(record.document_id)


def _is_gone(source: str) -> bool:
    try:
        Path(source).lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False
