"""One pass of ingestion over the files that were found."""

import contextlib
import dataclasses
import hashlib
from collections.abc import Sequence

from crag_graph.errors import EmptyDocumentError, LoadError, StoreError
from crag_graph.ingestion import loaders
from crag_graph.ingestion.chunking import Chunk, Chunker
from crag_graph.ingestion.discovery import FoundFile
from crag_graph.ingestion.open_document import OpenDocument, chunk_point, several
from crag_graph.ingestion.report import IngestProgress, IngestReport, ProgressCallback
from crag_graph.ingestion.vectors import ChunkEmbedder
from crag_graph.retrieval.index import VectorIndex
from crag_graph.retrieval.manifest import DocumentRecord, Manifest

WINDOW = 1000
"""Chunks between two flushes, and the stretch in which texts of like length meet in a batch."""


@dataclasses.dataclass(kw_only=True)
class IngestRun:
    """One pass over the files; `report` says what it did."""

    index: VectorIndex
    manifest: Manifest
    embedder: ChunkEmbedder
    chunker: Chunker
    model: str
    progress: ProgressCallback | None
    batch_size: int
    max_file_bytes: int
    report: IngestReport
    _waiting: list[tuple[OpenDocument, Chunk]] = dataclasses.field(default_factory=list)
    _open: list[OpenDocument] = dataclasses.field(default_factory=list)
    _looked_at: int = 0
    _stored: int = 0
    _total: int = 0

    def ingest(self, files: Sequence[FoundFile]) -> None:
        """Bring the index up to date with `files`, in their order.

        Raises:
            EmbeddingError: The model cannot be reached, or fails on everything.
            StoreError: The index or the manifest cannot be written.
        """
        self._total = len(files)
        known = {record.document_id: record for record in self.manifest.records()}
        try:
            for file in files:
                self._look_at(file, known.get(file.document_id))
                self._looked_at += 1
                self._tell(file)
                if len(self._waiting) >= WINDOW:
                    self._store()
            self._store()
        except StoreError:
            raise
        except BaseException:
            # What is complete need not be done again. The store's own failure would fail again.
            with contextlib.suppress(StoreError):
                self._settle()
            raise

    def _look_at(self, file: FoundFile, record: DocumentRecord | None) -> None:
        """Put the chunks of a document among those that wait, unless it is up to date."""
        try:
            data = loaders.read(file.path, max_bytes=self.max_file_bytes)
            if not loaders.is_worth_loading(file.path, data):
                self.report.skipped += 1
                return
            digest = self._digest(data)
            if record is not None and record.digest == digest and record.state == "done":
                self.report.unchanged += 1
                return
            parts = loaders.parse(file.path, data, max_bytes=self.max_file_bytes)
            chunks = self.chunker.chunk(parts)
            if not chunks:
                raise loaders.without_text(file.path, data)
        except LoadError as error:
            self._leave_out(error, record)
            return
        document = OpenDocument(
            file=file,
            is_known=record is not None,
            is_new=record is None or record.state == "pending",
            digest=digest,
            version=digest[:16],
            chunks=len(chunks),
            left=len(chunks),
        )
        if self.report.dry_run:
            self._count(document)
            return
        self._open.append(document)
        self._waiting.extend((document, chunk) for chunk in chunks)
        if record is not None and record.digest == digest:
            self._keep_stored(document)

    def _leave_out(self, error: LoadError, record: DocumentRecord | None) -> None:
        """Report a document that is not indexed.

        An empty file is in order, unless the index still answers from what it said before.
        """
        if not isinstance(error, EmptyDocumentError):
            self.report.failed.append((error.path, error.reason))
        elif record is None:
            self.report.empty.append(error.path)
        else:
            stays = "its earlier text stays indexed until the file is deleted and --prune given"
            self.report.failed.append((error.path, f"{error.reason}, and {stays}"))

    def _digest(self, data: bytes) -> str:
        """Return the hash of all that the chunks and vectors of a document depend on."""
        rest = "\n".join((loaders.LOADERS_VERSION, self.chunker.fingerprint, self.model))
        return hashlib.sha256(hashlib.sha256(data).digest() + rest.encode()).hexdigest()

    def _keep_stored(self, document: OpenDocument) -> None:
        """Take those chunks off the list that an interrupted run stored."""
        ids = [document.point_id(position) for position in range(document.chunks)]
        stored = {
            hit.id
            for at in range(0, len(ids), WINDOW)
            for hit in self.index.retrieve(ids[at : at + WINDOW])
        }
        self._waiting = [
            (owner, chunk)
            for owner, chunk in self._waiting
            if owner is not document or ids[chunk.position] not in stored
        ]
        document.left -= len(stored)

    def _store(self) -> None:
        """Embed and store what waits, flush, and finish the documents that are complete."""
        self.manifest.put(*(document.record(done=False) for document in self._open))
        # Texts of like length in one batch: little of it is padding.
        self._waiting.sort(key=lambda entry: len(entry[1].text))
        flushed = self._stored
        while self._waiting:
            batch = self._waiting[-self.batch_size :]
            self._store_batch(batch)
            del self._waiting[-self.batch_size :]
            if self._stored - flushed >= WINDOW:  # a document larger than the window
                self.index.flush()
                flushed = self._stored
            self._tell(batch[-1][0].file)
        self._settle()

    def _store_batch(self, batch: Sequence[tuple[OpenDocument, Chunk]]) -> None:
        vectors = self.embedder.embed([chunk.text for _, chunk in batch])
        points = []
        for (document, chunk), vector in zip(batch, vectors, strict=True):
            if isinstance(vector, str):
                document.faults.append(f"chunk {chunk.position + 1}: {vector}")
            else:
                points.append(chunk_point(document, chunk, vector))
        if points:
            self.index.upsert(points)
        for document, _ in batch:
            document.left -= 1
        self._stored += len(points)

    def _settle(self) -> None:
        """Finish the documents whose chunks are all stored or given up."""
        complete = [document for document in self._open if document.left <= 0]
        if not complete:
            return
        self.index.flush()
        # Where not one chunk could be embedded, an older version stays.
        replaced = [document for document in complete if document.stored]
        for document in replaced:
            self.index.delete_document(document.file.document_id, keep_version=document.version)
            self._count(document)
        if any(document.is_known for document in replaced):
            self.index.flush()
        # With faults it stays pending, so that the next run tries these chunks again.
        self.manifest.put(*(entry.record(done=True) for entry in complete if not entry.faults))
        self._open = [document for document in self._open if document.left > 0]
        for document in complete:
            if document.faults:
                self.report.failed.append((str(document.file.path), several(document.faults)))

    def _count(self, document: OpenDocument) -> None:
        if document.is_new:
            self.report.added += 1
        else:
            self.report.changed += 1
        self.report.chunks += document.stored

    def _tell(self, file: FoundFile) -> None:
        if self.progress is not None:
            self.progress(
                IngestProgress(
                    documents=self._looked_at,
                    total=self._total,
                    chunks=self._stored,
                    waiting=len(self._waiting),
                    path=str(file.path),
                )
            )
