"""Ingestion: files and folders to chunks in the index, idempotent and safe to interrupt.

The order of writing makes a kill harmless at any moment. A document is put into the manifest as
`pending`; its chunks are embedded and stored under ids of its new version; the index is flushed;
only then are the chunks of its older versions deleted, and it is put as `done`. So there is no
moment at which neither version answers, and the next run finds what is pending, keeps the chunks
that made it into the index, and does the rest.
"""

import time
from collections.abc import Sequence
from pathlib import Path

from langchain_core.embeddings import Embeddings

from crag_graph.ingestion.chunking import Chunker
from crag_graph.ingestion.discovery import discover
from crag_graph.ingestion.loaders import DEFAULT_MAX_BYTES
from crag_graph.ingestion.pruning import prune_missing
from crag_graph.ingestion.report import IngestProgress, IngestReport, ProgressCallback
from crag_graph.ingestion.run import IngestRun
from crag_graph.ingestion.vectors import ChunkEmbedder
from crag_graph.models.embeddings import load_embeddings
from crag_graph.retrieval.index import CollectionSchema, VectorIndex, check_schema
from crag_graph.retrieval.manifest import Manifest

__all__ = ["DEFAULT_BATCH_SIZE", "IngestProgress", "IngestReport", "ProgressCallback", "ingest"]

DEFAULT_BATCH_SIZE = 64
"""Texts that are embedded and stored at once: both engines' throughput is flat from here to 256."""


def ingest(
    paths: Sequence[Path],
    *,
    index: VectorIndex,
    manifest: Manifest,
    embeddings: Embeddings,
    chunker: Chunker | None = None,
    prune: bool = False,
    dry_run: bool = False,
    progress: ProgressCallback | None = None,
    batch_size: int = DEFAULT_BATCH_SIZE,
    max_file_bytes: int = DEFAULT_MAX_BYTES,
) -> IngestReport:
    """Return what was done to bring `index` up to date with the files at and below `paths`.

    A document is up to date when neither its bytes nor the loaders, the chunker or the embedding
    model changed. The bytes are read and hashed each time: that costs little beside embedding, and
    size and time of a file do not prove that it is the same. One file that cannot be read does not
    keep the others from being indexed; it is reported, and an older version of it stays. An empty
    file is counted apart, and is no failure where there is no older version.

    Args:
        paths: Files and folders.
        index: Where the chunks go.
        manifest: Of the same collection.
        embeddings: The model that the collection was made with.
        chunker: None takes the default, counting with the model's own tokenizer.
        prune: Whether to remove documents below `paths` whose files are gone.
        dry_run: Only find out what would be done; nothing is embedded or written.
        progress: Called after every document and every stored batch.
        batch_size: Texts of a call of the embedding model, from 1.
        max_file_bytes: Larger files are reported and not read.

    Raises:
        InputError: A path does not exist.
        CollectionMismatchError: The collection was made with another embedding model.
        EmbeddingError: The model cannot be reached or fails on everything.
        StoreError: The index or the manifest cannot be written.
            After either, and after Ctrl-C, what was stored so far is kept: run it again to go on.
    """
    started = time.monotonic()
    named = load_embeddings(embeddings)
    schema = index.schema
    check_schema(
        schema,
        CollectionSchema(name=schema.name, embedding_model=named.name, dimension=named.dimension),
    )
    run = IngestRun(
        index=index,
        manifest=manifest,
        embedder=ChunkEmbedder(named),
        chunker=chunker or Chunker.for_embeddings(named),
        model=named.name,
        progress=progress,
        batch_size=max(1, batch_size),
        max_file_bytes=max_file_bytes,
        report=IngestReport(dry_run=dry_run),
    )
    found = discover(paths)
    run.report.skipped = found.skipped
    run.report.failed.extend(found.unreadable)
    run.ingest(found.files)
    if prune:
        run.report.pruned = prune_missing(found, index=index, manifest=manifest, dry_run=dry_run)
    run.report.seconds = time.monotonic() - started
    return run.report
