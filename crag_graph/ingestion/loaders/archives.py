"""Opening ZIP containers from strangers: bombs, encryption and damage are refused."""

import importlib
import io
import zipfile
from typing import Any

from crag_graph.ingestion.loaders.base import Source
from crag_graph.ingestion.loaders.dates import iso_date
from crag_graph.ingestion.loaders.sniffing import describe

_ENCRYPTED = 0x1  # bit 0 of the general purpose flag: APPNOTE.TXT 4.4.4
_OLE = b"\xd0\xcf\x11\xe0"
# Text and XML pack to a tenth or so; a thousandth is made to unpack for ever.
_MAX_RATIO = 1000
_MAX_ENTRIES = 20_000
_NAMESPACES = {
    "cp": "http://schemas.openxmlformats.org/package/2006/metadata/core-properties",
    "dc": "http://purl.org/dc/elements/1.1/",
    "dcterms": "http://purl.org/dc/terms/",
}


def open_archive(source: Source, *, kind: str) -> zipfile.ZipFile:
    """Return the container, after a look at what it says it unpacks to.

    Python reads no more of an entry than its header declares, so that the declared sizes bound
    what is unpacked.

    Args:
        source: The file.
        kind: What it should be, with the article, for messages: `a Word document`.

    Raises:
        LoadError: It is something else, encrypted, damaged, or unpacks to too much.
    """
    if source.data.startswith(_OLE):
        raise source.error(f"not {kind} but an old or encrypted one: save it again, unprotected")
    if not source.data.startswith(b"PK"):
        raise source.error(f"not {kind} but {describe(source.data)}")
    try:
        archive = zipfile.ZipFile(io.BytesIO(source.data))
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise source.error("damaged or cut off: it cannot be opened") from error
    entries = archive.infolist()
    unpacked = sum(entry.file_size for entry in entries)
    if (
        len(entries) > _MAX_ENTRIES
        or unpacked > max(source.max_bytes, len(source.data))
        or any(map(_is_bomb, entries))
    ):
        raise source.error(f"it would unpack to {unpacked:,} bytes in {len(entries):,} files")
    if any(entry.flag_bits & _ENCRYPTED for entry in entries):
        raise source.error("encrypted: save it without a password")
    return archive


def _is_bomb(entry: zipfile.ZipInfo) -> bool:
    return entry.file_size > _MAX_RATIO * max(entry.compress_size, 100)


def read_entry(source: Source, archive: zipfile.ZipFile, name: str) -> bytes:
    """Return an entry's bytes.

    Raises:
        LoadError: It is not there, or damaged.
    """
    try:
        return archive.read(name)
    except KeyError:
        raise source.error(f"damaged: {name} is missing in it") from None


def parse_xml(data: bytes) -> Any:
    """Return the root element (lxml) of an XML document; small mistakes in it are forgiven.

    No entities are resolved and nothing is fetched.

    Raises:
        ValueError: It is no XML at all.
    """
    # Without the import statement: the compiled module tells type checkers nothing.
    etree: Any = importlib.import_module("lxml.etree")
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, recover=True, huge_tree=False
    )
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise ValueError("not XML") from error
    if root is None:
        raise ValueError("not XML")
    return root


def core_properties(archive: zipfile.ZipFile) -> dict[str, Any]:
    """Return `title` and `published` from the core properties of an Office document."""
    try:
        root = parse_xml(archive.read("docProps/core.xml"))
    except (KeyError, ValueError):
        return {}
    metadata: dict[str, Any] = {}
    if title := (root.findtext("dc:title", namespaces=_NAMESPACES) or "").strip():
        metadata["title"] = title
    for name in ("dcterms:created", "dcterms:modified"):
        if published := iso_date(root.findtext(name, namespaces=_NAMESPACES)):
            metadata["published"] = published
            break
    return metadata
