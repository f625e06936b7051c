"""Names, places, and what is there."""

from pathlib import Path

import pytest

from crag_graph.errors import (
    CollectionNotFoundError,
    ConfigurationError,
    InputError,
    StoreDamagedError,
    StoreError,
)
from crag_graph.retrieval.index import CollectionSchema
from crag_graph.retrieval.manifest import DocumentRecord, Manifest, ManifestSummary
from crag_graph.retrieval.store import (
    check_name,
    collection_folder,
    list_collections,
    manifest_path,
    open_index,
    open_manifest,
)
from tests.fakes.qdrant_facade import QdrantFacade
from tests.fakes.stores import SCHEMA, Backend, chunk


@pytest.mark.parametrize("name", ["a", "A-b_c.2", "_x", "0", "x" * 100, "default", "comet"])
def test_names(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        *("", ".", "..", "../x", "a/b", "a\\b", "/etc", "a b", "-a", ".hidden", "a.", "x" * 101),
        *("a\n", "caf\u00e9", "a\x00", "nul", "CON", "com1.txt", "a:b", "~"),
    ],
)
def test_what_is_no_name_is_refused_before_anything_is_touched(tmp_path: Path, name: str) -> None:
    schema = CollectionSchema(name=name, embedding_model="stub", dimension=4)
    for ask in (
        lambda: open_index(home=tmp_path, collection=name),
        lambda: open_index(home=tmp_path, collection=name, create=schema),
        lambda: open_index(home=tmp_path, collection=name, url="http://127.0.0.1:9"),
        lambda: collection_folder(home=tmp_path, collection=name),
        lambda: manifest_path(home=tmp_path, collection=name),
        lambda: manifest_path(home=tmp_path, collection=name, url="http://127.0.0.1:9"),
    ):
        with pytest.raises(InputError, match=r"collection .*: a name has 1 to 100"):
            ask()
    assert list(tmp_path.iterdir()) == []


def test_a_schema_of_another_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'papers', not of 'other'"):
        open_index(home=tmp_path, collection="other", create=SCHEMA)


def test_an_unknown_language_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="bm25_language: 'klingon' is not known"):
        Backend(tmp_path).make(bm25_language="klingon")
    assert list(tmp_path.iterdir()) == []


def test_collections_are_listed_with_what_they_hold(tmp_path: Path) -> None:
    assert list_collections(tmp_path) == {}
    for name in ("zeta", "alpha"):
        backend = Backend(tmp_path)
        backend.make(name=name)
        backend.close()
    with Manifest.open(manifest_path(home=tmp_path, collection="zeta")) as manifest:
        manifest.put(
            DocumentRecord(
                document_id="d", source="s", digest="x", version="1", chunks=5, state="done"
            )
        )
    broken = manifest_path(home=tmp_path, collection="broken")
    broken.parent.mkdir()
    broken.write_bytes(b"not a manifest")
    (tmp_path / "collections" / ".draft.new").mkdir()
    (tmp_path / "collections" / "stray.txt").write_text("x")
    found = list_collections(tmp_path)
    assert list(found) == ["alpha", "broken", "zeta"]
    assert isinstance(found["broken"], StoreDamagedError)
    zeta = found["zeta"]
    assert isinstance(zeta, ManifestSummary)
    assert (zeta.documents, zeta.chunks, zeta.schema.embedding_model) == (1, 5, "stub")


def test_chunks_without_a_manifest_are_neither_opened_nor_overwritten(tmp_path: Path) -> None:
    backend = Backend(tmp_path)
    backend.make().upsert([chunk("a", "x")])
    backend.close()
    manifest = manifest_path(home=tmp_path, collection="papers")
    saved = manifest.read_bytes()
    manifest.unlink()
    with pytest.raises(CollectionNotFoundError, match="crag ingest"):
        backend.open()
    with pytest.raises(StoreError, match="without a manifest: move it away"):
        backend.make()
    manifest.write_bytes(saved)
    assert backend.open().count() == 1
    backend.close()


def test_an_empty_folder_is_no_hindrance(tmp_path: Path) -> None:
    collection_folder(home=tmp_path, collection="papers").mkdir(parents=True)
    backend = Backend(tmp_path)
    assert backend.make().count() == 0
    backend.close()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "collections").write_text("a file is in the way")
    with pytest.raises(StoreError, match=r"cannot make the collection 'papers' at .*papers"):
        Backend(tmp_path).make()


def test_each_server_has_manifests_of_its_own(tmp_path: Path) -> None:
    here = manifest_path(home=tmp_path, collection="c")
    one, same, other = (
        manifest_path(home=tmp_path, collection="c", url=url)
        for url in ("https://a.example", "https://user:pw@a.example:6333/", "https://b.example")
    )
    assert one == same
    assert len({here, one, other}) == 3
    assert "a.example" not in str(one)


def record(name: str, *, chunks: int) -> DocumentRecord:
    return DocumentRecord(
        document_id=name, source="s", digest="x", version="1", chunks=chunks, state="done"
    )


def test_the_manifest_of_an_embedded_collection_is_believed(tmp_path: Path) -> None:
    backend = Backend(tmp_path)
    index = backend.make()
    with open_manifest(home=tmp_path, index=index) as manifest:
        manifest.put(record("a", chunks=1))
    with open_manifest(home=tmp_path, index=index) as manifest:
        assert manifest.expected_chunks == 1
    backend.close()


def test_what_a_server_lost_is_ingested_again(tmp_path: Path, facade: QdrantFacade) -> None:
    backend = Backend(tmp_path, url=facade.url)
    index = backend.make()
    index.upsert([chunk("a", "x"), chunk("b", "y")])
    with open_manifest(home=tmp_path, index=index, url=facade.url) as manifest:
        manifest.put(record("a", chunks=1))
    with open_manifest(home=tmp_path, index=index, url=facade.url) as manifest:
        assert manifest.expected_chunks == 1, "the server may hold more"
        manifest.put(record("b", chunks=1))
    index.delete_document("a")
    with open_manifest(home=tmp_path, index=index, url=facade.url) as manifest:
        assert [known.state for known in manifest.records()] == ["pending", "pending"]
    backend.close()


def test_a_collection_made_anew_on_a_server_gets_a_new_manifest(
    tmp_path: Path, facade: QdrantFacade
) -> None:
    backend = Backend(tmp_path, url=facade.url)
    with open_manifest(home=tmp_path, index=backend.make(), url=facade.url) as manifest:
        manifest.put(record("a", chunks=1))
    facade.collections.pop("papers").shard.close()
    facade.folder /= "second"
    with open_manifest(
        home=tmp_path, index=backend.make(embedding_model="other"), url=facade.url
    ) as manifest:
        assert manifest.schema.embedding_model == "other"
        assert manifest.records() == []
    backend.close()


@pytest.mark.case(60)
def test_importing_the_store_loads_no_engine_and_no_client() -> None:
    import subprocess
    import sys

    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys, crag_graph.retrieval.store, crag_graph.retrieval.edge.index,"
            " crag_graph.retrieval.server.index, crag_graph.retrieval.retriever\n"
            "print([m for m in ('qdrant_edge', 'qdrant_client', 'grpc', 'numpy', 'onnxruntime',"
            " 'tokenizers', 'tenacity') if m in sys.modules])",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"
