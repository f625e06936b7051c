"""What an ingestion did, and how far it is."""

import dataclasses
from collections.abc import Callable
from typing import Any


@dataclasses.dataclass(kw_only=True)
class IngestReport:
    """What an ingestion did; for a dry run, what it would do.

    Attributes:
        added: Documents that are new.
        changed: Documents whose content, or the way they are cut or embedded, changed.
        unchanged: Documents that were up to date.
        pruned: Documents that were removed because their files are gone.
        skipped: Files whose format cannot be loaded, and source files that are minified.
        empty: Paths of files that have no text in them, and never had any that was indexed.
        failed: (path, reason) of what could not be indexed, as it was or in part.
        chunks: Chunks of the added and changed documents.
        seconds: Wall time.
        dry_run: Whether nothing was written.
    """

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    pruned: int = 0
    skipped: int = 0
    empty: list[str] = dataclasses.field(default_factory=list)
    failed: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    chunks: int = 0
    seconds: float = 0.0
    dry_run: bool = False

    @property
    def ok(self) -> bool:
        """Whether everything that has a text could be indexed."""
        return not self.failed

    def as_dict(self) -> dict[str, Any]:
        """Return the report as plain JSON, `failed` as objects with `path` and `reason`."""
        fields = dataclasses.asdict(self)
        fields["failed"] = [{"path": path, "reason": reason} for path, reason in self.failed]
        return {"ok": self.ok, **fields}


@dataclasses.dataclass(frozen=True, kw_only=True)
class IngestProgress:
    """How far an ingestion is.

    Attributes:
        documents: Documents that are looked at; those of `total` that are left were not opened yet.
        total: Documents that were found.
        chunks: Chunks that are stored.
        waiting: Chunks that wait to be embedded.
        path: The document at hand.
    """

    documents: int
    total: int
    chunks: int
    waiting: int
    path: str


ProgressCallback = Callable[[IngestProgress], None]
