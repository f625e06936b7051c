"""Which collections there are, and opening one: in the embedded store, or on a server."""

import hashlib
from pathlib import Path

from crag_graph.errors import CollectionNotFoundError, CRAGError, InputError, StoreError
from crag_graph.naming import RULE, is_name
from crag_graph.retrieval.index import CollectionSchema, VectorIndex, check_schema
from crag_graph.retrieval.manifest import MANIFEST_FILE, Manifest, ManifestSummary


def check_name(collection: str) -> str:
    """Return the name of a collection, once it is one.

    Raises:
        InputError: It is not 1–100 of letters, digits, `_`, `-` and `.`, the first a letter, digit
            or `_`, or it ends in a dot or names a device: such names could leave the data folder.
    """
    if not is_name(collection):
        raise InputError(f"collection {str(collection)[:100]!r}: {RULE}")
    return collection


def collection_folder(*, home: Path, collection: str) -> Path:
    """Return the folder of an embedded collection."""
    return home / "collections" / check_name(collection)


def manifest_path(*, home: Path, collection: str, url: str | None = None) -> Path:
    """Return where the manifest of a collection is.

    That of an embedded collection lies beside it, and is made with it. For a collection on a server
    each machine that ingests keeps its own; the first ingestion makes it.
    """
    if not url:
        return collection_folder(home=home, collection=collection) / MANIFEST_FILE
    from crag_graph.retrieval.server.address import ServerAddress

    server = hashlib.sha256(ServerAddress.parse(url).shown.encode()).hexdigest()[:16]
    return home / "servers" / server / f"{check_name(collection)}.sqlite"


def open_manifest(*, home: Path, index: VectorIndex, url: str | None = None) -> Manifest:
    """Return the manifest of an open collection, for ingestion.

    For a collection on a server it is made where this machine has none, and what it says is
    doubted: it may know less than the server holds, which costs time but no chunk; where the server
    holds less than it says, every document is pending; and where the collection was made anew with
    another embedding model, so is the manifest.

    Raises:
        StoreError: It cannot be read or written, or the server cannot be reached.
    """
    path = manifest_path(home=home, collection=index.schema.name, url=url)
    if not url:
        return Manifest.open(path)
    if not path.is_file():
        return Manifest.create(path, index.schema)
    manifest = Manifest.open(path)
    if manifest.schema != index.schema:
        manifest.close()
        path.unlink()
        return Manifest.create(path, index.schema)
    if index.count() < manifest.expected_chunks:
        manifest.mark_all_pending()
    return manifest


def open_index(
    *,
    home: Path,
    collection: str,
    create: CollectionSchema | None = None,
    url: str | None = None,
    api_key: str | None = None,
    content_key: str | None = None,
) -> VectorIndex:
    """Return a collection, verified.

    Args:
        home: The data folder; embedded collections lie in `home/collections`.
        collection: The name.
        create: What to make it with where it does not exist; where it does, it must fit.
        url: A Qdrant server to use in place of the embedded store.
        api_key: The server's key.
        content_key: The payload field that holds the text in a server's collection that another
            tool made.

    Raises:
        InputError: The name is not one, or the URL.
        ConfigurationError: The key would travel unencrypted.
        CollectionNotFoundError: There is no such collection, and none is to be made.
        CollectionMismatchError: It was made with another embedding model or size; both are named.
            Nothing is ever deleted for that.
        StoreError: It is locked, damaged, full or cannot be reached.
    """
    if create is not None and create.name != collection:
        raise InputError(f"the schema is that of {create.name!r}, not of {collection!r}")
    check_name(collection)
    if url:
        from crag_graph.retrieval.server.index import ServerIndex

        return ServerIndex.open(
            url, collection, create=create, api_key=api_key, content_key=content_key
        )
    return _open_embedded(collection_folder(home=home, collection=collection), create)


def _open_embedded(folder: Path, create: CollectionSchema | None) -> VectorIndex:
    from crag_graph.retrieval.edge.index import EdgeIndex

    if create is not None and not (folder / MANIFEST_FILE).is_file():
        _refuse_orphan(folder)
        return EdgeIndex.create(folder, create)
    if create is None and not folder.is_dir():
        raise CollectionNotFoundError(
            f"there is no collection {folder.name!r} in {folder.parent}: run `crag ingest` to make "
            "it"
        )
    if create is not None:
        check_schema(Manifest.peek(folder / MANIFEST_FILE).schema, create)
    return EdgeIndex.open(folder)


def _refuse_orphan(folder: Path) -> None:
    """Refuse to make a collection where the chunks of one lie without their manifest."""
    if folder.is_dir() and any(folder.iterdir()):
        raise StoreError(
            f"the folder {folder} holds something without a manifest: move it away, then run "
            "`crag ingest` again"
        )


def list_collections(home: Path) -> dict[str, ManifestSummary | CRAGError]:
    """Return the embedded collections by name, in order: a summary each, or why there is none.

    Needs no lock: collections that another process serves are listed too.
    """
    found: dict[str, ManifestSummary | CRAGError] = {}
    for manifest in sorted((home / "collections").glob(f"*/{MANIFEST_FILE}")):
        name = manifest.parent.name
        if is_name(name):
            try:
                found[name] = Manifest.peek(manifest)
            except StoreError as error:
                found[name] = error
    return found
