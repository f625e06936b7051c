"""Opening what an ingestion needs, running it, and showing how far it is."""

import contextlib
import dataclasses
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from crag_graph.assembly import load_embeddings
from crag_graph.cli.pace import Pace
from crag_graph.cli.streams import progress_bar, stderr_console
from crag_graph.environment import Environment
from crag_graph.errors import InputError
from crag_graph.ingestion.chunking import Chunker
from crag_graph.ingestion.ingest import IngestProgress, IngestReport, ingest
from crag_graph.models.embeddings import NamedEmbeddings
from crag_graph.retrieval.index import CollectionSchema
from crag_graph.retrieval.store import manifest_path, open_index, open_manifest
from crag_graph.text.clean import clean_text, shorten
from crag_graph.wording import counted

Tell = Callable[[IngestProgress], None]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """How to ingest.

    Attributes:
        prune: Remove documents whose files are gone.
        dry_run: Write nothing.
        chunking: Fields of the `Chunker`.
    """

    prune: bool = False
    dry_run: bool = False
    chunking: Mapping[str, Any] = dataclasses.field(default_factory=dict)


def ingest_paths(
    paths: Sequence[Path], *, environment: Environment, options: Options | None = None
) -> IngestReport:
    """Return what was done to bring the environment's collection up to date with `paths`.

    Raises:
        InputError: A path does not exist; nothing is made then.
        CRAGError: What `crag_graph.ingestion.ingest.ingest` raises.
    """
    options = options or Options()
    for path in paths:
        _require(path)
    embeddings = load_embeddings(environment)
    chunker = Chunker.for_embeddings(embeddings, **options.chunking)
    with contextlib.ExitStack() as stack:
        place = environment
        if options.dry_run and not _exists(environment):
            place = _elsewhere(environment, stack)
        index = stack.enter_context(contextlib.closing(_open(place, embeddings)))
        manifest = stack.enter_context(
            open_manifest(home=place.home, index=index, url=place.qdrant_url or None)
        )
        tell = stack.enter_context(_progress())
        report = ingest(
            paths,
            index=index,
            manifest=manifest,
            embeddings=embeddings,
            chunker=chunker,
            prune=options.prune,
            dry_run=options.dry_run,
            progress=tell,
        )
        if report.chunks and not report.dry_run and not environment.qdrant_url:
            index.optimize()  # offline: it would stop a process that serves
    return report


def _require(path: Path) -> None:
    try:
        path.stat()
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise InputError(f"{path} cannot be ingested: {reason}") from error


def _exists(environment: Environment) -> bool:
    return manifest_path(
        home=environment.home,
        collection=environment.collection,
        url=environment.qdrant_url or None,
    ).is_file()


def _elsewhere(environment: Environment, stack: contextlib.ExitStack) -> Environment:
    """Return an environment with a data folder for the moment, so that a dry run makes nothing."""
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="crag-"))
    return dataclasses.replace(environment, home=Path(folder), qdrant_url="", qdrant_api_key="")


def _open(environment: Environment, embeddings: NamedEmbeddings) -> Any:
    return open_index(
        home=environment.home,
        collection=environment.collection,
        create=CollectionSchema(
            name=environment.collection,
            embedding_model=embeddings.name,
            dimension=embeddings.dimension,
        ),
        url=environment.qdrant_url or None,
        api_key=environment.qdrant_api_key or None,
    )


@contextlib.contextmanager
def _progress() -> Iterator[Tell | None]:
    """Draw a bar on stderr where that is a terminal, and take it away in the end; else tell."""
    console = stderr_console()
    furthest = 0.0

    def reached(at: IngestProgress) -> float:
        nonlocal furthest
        seen = at.chunks + at.waiting
        share = at.chunks / seen if at.waiting else 1.0
        furthest = max(furthest, at.documents * share)  # a file counts once its chunks are in
        return furthest

    if not console.is_terminal:
        pace = Pace("files done", advice="what is stored is kept when it is stopped")
        yield lambda at: pace.tell(int(reached(at)), at.total)
        return
    with progress_bar(console) as progress:
        task = progress.add_task("looking for files", total=None)

        def tell(at: IngestProgress) -> None:
            name = shorten(clean_text(Path(at.path).name), 40)
            what = f"files, {counted(at.chunks, 'chunk')}, {name}"
            progress.update(task, total=at.total, completed=int(reached(at)), description=what)

        yield tell
