"""A document on its way into the index, and what is stored of its chunks."""

import dataclasses
import uuid
from collections.abc import Sequence
from typing import Any

from crag_graph.ingestion.chunking import Chunk
from crag_graph.ingestion.discovery import FoundFile
from crag_graph.retrieval.index import Point
from crag_graph.retrieval.manifest import DocumentRecord
from crag_graph.state import plain


@dataclasses.dataclass(eq=False, kw_only=True)
class OpenDocument:
    """A document on its way into the index."""

    file: FoundFile
    is_known: bool  # whether the manifest had a record of it
    is_new: bool
    digest: str
    version: str
    chunks: int
    left: int  # chunks that are neither stored nor given up yet
    faults: list[str] = dataclasses.field(default_factory=list)

    @property
    def stored(self) -> int:
        """Chunks that are in the index once the document is complete."""
        return self.chunks - len(self.faults)

    def record(self, *, done: bool) -> DocumentRecord:
        """Return what the manifest holds of it."""
        return DocumentRecord(
            document_id=self.file.document_id,
            source=self.file.source,
            digest=self.digest,
            version=self.version,
            chunks=self.stored,
            state="done" if done else "pending",
        )

    def point_id(self, position: int) -> str:
        """Return the id of the chunk at `position`, which follows from file, text and model."""
        name = f"{self.version}/{position}"
        return str(uuid.uuid5(uuid.UUID(self.file.document_id), name))


def chunk_point(document: OpenDocument, chunk: Chunk, vector: Sequence[float]) -> Point:
    """Return what is stored of a chunk."""
    payload: dict[str, Any] = {
        "title": document.file.path.stem,
        **chunk.metadata,
        "document_id": document.file.document_id,
        "version": document.version,
        "digest": document.digest,
        "source": document.file.source,
        "position": chunk.position,
        "part": chunk.part,
        "start": chunk.start,
        "end": chunk.end,
    }
    return Point(
        id=document.point_id(chunk.position),
        vector=vector,
        text=chunk.text,
        payload=plain(payload),
    )


def several(faults: Sequence[str]) -> str:
    """Return the first fault, and how many more there are."""
    rest = len(faults) - 1
    return faults[0] if not rest else f"{faults[0]}; and {rest} more of its chunks"
