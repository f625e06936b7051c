"""Damaged files: whatever is broken is named, and nothing is lost without a word."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from crag_graph.errors import StoreDamagedError
from crag_graph.retrieval.edge.index import EdgeIndex
from crag_graph.retrieval.manifest import DocumentRecord, Manifest
from tests.fakes.folders import shared_folder
from tests.fakes.stores import SCHEMA, chunk

POINTS = [chunk(f"c{n}", f"tide number{n}") for n in range(60)]
CHUNKS = len(POINTS)


@pytest.fixture(scope="module", params=["as written", "optimised"])
def sound(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    with shared_folder(tmp_path_factory, "stores") as stores:
        yield written(stores / "papers", optimised=request.param == "optimised")


def written(folder: Path, *, optimised: bool) -> Path:
    index = EdgeIndex.create(folder, SCHEMA)
    # Two thirds are in the files; the last third is also in the log, from where it comes back.
    for part in range(3):
        index.upsert(POINTS[part::3])
        if part == 1:
            index.flush()
            if optimised:
                index.optimize()
    index.close()
    with Manifest.open(folder / "manifest.sqlite") as manifest:
        manifest.put(
            DocumentRecord(
                document_id="all", source="s", digest="d", version="1", chunks=CHUNKS, state="done"
            )
        )
    return folder


def spoil(path: Path, how: str) -> None:
    size = path.stat().st_size
    if how == "delete":
        path.unlink()
    elif how == "truncate":
        os.truncate(path, size // 2)
    else:
        with path.open("r+b") as file:
            file.write((b"\0" if how == "zero" else b"\xa7") * min(size, 65536))


# Each of these loads, or fails in another way: by an exception, by a panic, with fewer points, with
# points that no filter or no search finds, with vectors or payloads that are gone.
DAMAGES = [
    ("edge_config.json", "truncate"),
    ("*id_tracker.mappings", "delete"),
    ("*id_tracker.mappings", "truncate"),
    ("*id_tracker.versions", "truncate"),
    ("version.info", "delete"),
    ("segment.json", "garbage"),
    ("payload_storage/tracker.dat", "zero"),
    ("payload_storage/page_0.dat", "garbage"),
    ("payload_storage/page_0.dat", "delete"),
    ("payload_index/*document*-map/*", "zero"),
    ("payload_index/*document*-null/has_values/status.dat", "truncate"),
    ("vector_storage-dense/**/chunk_0.mmap", "garbage"),
    ("vector_storage-dense/**/chunk_0.mmap", "zero"),
    ("vector_storage-dense/**/chunk_0.mmap", "delete"),
    ("vector_storage-sparse/store/tracker.dat", "zero"),
    ("vector_storage-sparse/store/page_0.dat", "garbage"),
    ("wal/open-*", "garbage"),
]


@pytest.mark.parametrize(("pattern", "how"), DAMAGES)
def test_damage_is_named_or_harmless(sound: Path, tmp_path: Path, pattern: str, how: str) -> None:
    folder = tmp_path / "papers"
    shutil.copytree(sound, folder)
    spoilt = [path for path in (folder / "edge").rglob(pattern) if path.is_file()]
    assert spoilt, f"there is no {pattern} any more"
    for path in spoilt:
        spoil(path, how)
    refusal = refused(folder)
    if refusal is None:
        index = EdgeIndex.open(folder)
        assert is_whole(index), "what was lost was not noticed"
        index.close()
    else:
        assert "papers" in refusal
        assert "is damaged" in refusal
        assert "crag ingest" in refusal


def refused(folder: Path) -> str | None:
    try:
        EdgeIndex.open(folder).close()
    except StoreDamagedError as error:
        return error.message
    return None


def is_whole(index: EdgeIndex) -> bool:
    """Whether every chunk is there, and found by its id, its document, its vector and its words."""
    return index.count() == CHUNKS and all(
        [hit.text for hit in index.retrieve([point.id])] == [point.text]
        and index.count(where={"document_id": point.id}) == 1
        and index.search_dense(point.vector, limit=1)[0].text == point.text
        and index.search_sparse(point.text, limit=1)[0].text == point.text
        for point in POINTS
    )


@pytest.mark.parametrize("what", ["edge", "edge/wal", "edge/segments"])
def test_a_missing_folder_is_named(sound: Path, tmp_path: Path, what: str) -> None:
    folder = tmp_path / "papers"
    shutil.copytree(sound, folder)
    shutil.rmtree(folder / what)
    if what == "edge/wal":  # the log is made anew; what was only there is missed
        spoil(next((folder / "edge").rglob("*id_tracker.mappings")), "truncate")
    with pytest.raises(StoreDamagedError, match="papers"):
        EdgeIndex.open(folder)


def test_a_sound_store_opens_and_may_hold_more_than_its_manifest_says(
    sound: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "papers"
    shutil.copytree(sound, folder)
    index = EdgeIndex.open(folder)
    index.upsert([chunk("more", "left by a killed ingestion")])
    index.close()
    index = EdgeIndex.open(folder)
    assert index.count() == CHUNKS + 1
    index.close()
