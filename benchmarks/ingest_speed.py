"""Speed of ingestion beside that of the embedding model alone, and of ingesting again.

    python -m benchmarks.ingest_speed [--files 300]

Writes a folder of mixed documents, ingests it into an embedded store with the local model, and
ingests the unchanged folder once more. Then the model alone embeds the same chunks, all in one
call, which suits it best. Where other programs load the machine, wall times of runs after one
another do not compare; processor time does, and so does the share of the ingestion that passed in
the model.
"""

import argparse
import json
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from langchain_core.embeddings import Embeddings

from crag_graph.ingestion.ingest import ingest
from crag_graph.models.embeddings import NamedEmbeddings, load_embeddings
from crag_graph.retrieval.index import CollectionSchema
from crag_graph.retrieval.manifest import Manifest
from crag_graph.retrieval.store import manifest_path, open_index
from tests.fakes.documents import epub_bytes, pdf_bytes, write_docx, write_pptx

_SUBJECTS = (
    "the inlet valve", "pump K7", "a ferry to Lund", "the 2025 policy", "the storage cluster",
    "every permit of class B", "our Norwegian branch", "the relief line", "Dr. Osei's team",
    "the night shift", "an expired certificate", "the backup controller", "the second auditor",
)  # fmt: skip
_VERBS = (
    "closes at", "was replaced after", "needs at most", "reports", "may not exceed",
    "has been approved for", "costs about", "is checked every", "failed during", "returns to",
)  # fmt: skip
_OBJECTS = (
    "{n} bar", "{n} working days", "{n} euros a month", "the inspection of {n} units",
    "chapter {n} of the handbook", "a pressure test with {n} readings", "line {n}",
    "{n} per cent of the nominal load", "the maintenance window in week {n}",
)  # fmt: skip
_ENDINGS = (
    "", ", unless the operator says otherwise", " when the temperature is below zero",
    ", as agreed with the supplier in writing", " and is recorded in the log of that day",
)  # fmt: skip


class _TimedEmbeddings(Embeddings):
    """Embeddings that add up the time spent in them."""

    def __init__(self, inner: NamedEmbeddings) -> None:
        self.inner = inner
        self.name = inner.name
        self.dimension = inner.dimension
        self.max_tokens = inner.max_tokens
        self.count_tokens = inner.count_tokens
        self.seconds = 0.0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the vectors of `texts`."""
        started = time.perf_counter()
        vectors = self.inner.embed_documents(texts)
        self.seconds += time.perf_counter() - started
        return vectors

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of `text`."""
        return self.inner.embed_query(text)


class _Author:
    """Writes documents that differ, of sentences that differ; the same in every run."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def sentence(self) -> str:
        pick = self._random.choice
        what = pick(_OBJECTS).format(n=self._random.randint(2, 9999))
        return f"{pick(_SUBJECTS)} {pick(_VERBS)} {what}{pick(_ENDINGS)}.".capitalize()

    def paragraph(self) -> str:
        return " ".join(self.sentence() for _ in range(self._random.randint(3, 8)))

    def paragraphs(self) -> list[str]:
        return [self.paragraph() for _ in range(self._random.randint(2, 6))]


def _write_text(path: Path, author: _Author) -> None:
    path.write_text("\n\n".join(author.paragraphs()), encoding="utf-8")


def _write_markdown(path: Path, author: _Author) -> None:
    sections = [f"## {author.sentence()[:40]}\n\n{text}" for text in author.paragraphs()]
    path.write_text("# Handbook\n\n" + "\n\n".join(sections), encoding="utf-8")


def _write_html(path: Path, author: _Author) -> None:
    body = "".join(f"<h2>{author.sentence()}</h2><p>{text}</p>" for text in author.paragraphs())
    page = f"<html><head><title>Handbook</title></head><body><nav>Home</nav>{body}</body></html>"
    path.write_text(page, encoding="utf-8")


def _write_csv(path: Path, author: _Author) -> None:
    rows = [f'{number},"{author.sentence()}"' for number in range(20)]
    path.write_text("number,remark\n" + "\n".join(rows), encoding="utf-8")


def _write_json(path: Path, author: _Author) -> None:
    records = [{"id": number, "remark": author.sentence()} for number in range(20)]
    path.write_text(json.dumps(records), encoding="utf-8")


def _write_code(path: Path, author: _Author) -> None:
    functions = [
        f'def check_{number}(value):\n    """{author.sentence()}"""\n    return value > {number}\n'
        for number in range(12)
    ]
    path.write_text("\n\n".join(functions), encoding="utf-8")


def _write_pdf(path: Path, author: _Author) -> None:
    pages = ["\n".join(author.sentence() for _ in range(25)) for _ in range(2)]
    path.write_bytes(pdf_bytes(pages))


def _write_docx(path: Path, author: _Author) -> None:
    write_docx(path, [("Heading 1", "Report"), *(("Normal", text) for text in author.paragraphs())])


def _write_pptx(path: Path, author: _Author) -> None:
    write_pptx(path, [(author.sentence(), author.paragraph()) for _ in range(3)])


def _write_epub(path: Path, author: _Author) -> None:
    path.write_bytes(epub_bytes([f"<h1>One</h1><p>{text}</p>" for text in author.paragraphs()]))


_WRITERS: dict[str, Callable[[Path, _Author], None]] = {
    ".txt": _write_text, ".md": _write_markdown, ".html": _write_html, ".csv": _write_csv,
    ".json": _write_json, ".py": _write_code, ".pdf": _write_pdf, ".docx": _write_docx,
    ".pptx": _write_pptx, ".epub": _write_epub,
}  # fmt: skip


def write_folder(folder: Path, *, files: int) -> None:
    """Write `files` documents into `folder`, of ten formats in turn."""
    author = _Author(seed=7)
    suffixes = list(_WRITERS)
    for number in range(files):
        suffix = suffixes[number % len(suffixes)]
        place = folder / f"part{number // 100}"
        place.mkdir(exist_ok=True)
        _WRITERS[suffix](place / f"document{number:04}{suffix}", author)


def _timed(work: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds of wall time and of processor time that `work` takes."""
    wall, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - processor


def main() -> None:
    """Print both ratios."""
    parser = argparse.ArgumentParser(description="Speed of ingestion, as ratios.")
    parser.add_argument("--files", type=int, default=300, help="documents to write")
    files = parser.parse_args().files
    model = load_embeddings("local")
    model.embed_query("load the model first")
    embeddings = _TimedEmbeddings(model)
    with tempfile.TemporaryDirectory() as scratch:
        folder, home = Path(scratch) / "documents", Path(scratch) / "home"
        folder.mkdir()
        write_folder(folder, files=files)
        schema = CollectionSchema(
            name="speed", embedding_model=embeddings.name, dimension=embeddings.dimension
        )
        index = open_index(home=home, collection="speed", create=schema)
        with Manifest.open(manifest_path(home=home, collection="speed")) as manifest:

            def run() -> None:
                report = ingest([folder], index=index, manifest=manifest, embeddings=embeddings)
                if not report.ok:
                    raise SystemExit(f"could not ingest {report.failed}")

            first, first_cpu = _timed(run)
            inside = embeddings.seconds
            again, _ = _timed(run)
            texts = [hit.text for hit in index.scroll()]
        index.close()
    alone, alone_cpu = _timed(lambda: model.embed_documents(texts))
    print(f"documents                       {files}, chunks {len(texts)}")
    print(f"first ingestion                 {first:9.2f} s  ({len(texts) / first:.1f} chunks/s)")
    print(f"embedding alone                 {alone:9.2f} s  ({len(texts) / alone:.1f} chunks/s)")
    print(f"unchanged ingestion             {again:9.3f} s")
    print(f"embedding / ingestion, wall     {alone / first:9.3f}")
    print(f"embedding / ingestion, processor{alone_cpu / first_cpu:9.3f}")
    print(f"share of ingestion in the model {inside / first:9.3f}")
    print(f"first / unchanged               {first / again:9.1f}")


if __name__ == "__main__":
    main()
