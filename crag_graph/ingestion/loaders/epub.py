"""EPUB: the chapters in reading order."""

import posixpath
import zipfile
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from crag_graph.ingestion.loaders.archives import open_archive, parse_xml, read_entry
from crag_graph.ingestion.loaders.base import LoadedPart, Source
from crag_graph.ingestion.loaders.dates import iso_date
from crag_graph.ingestion.loaders.encodings import decode
from crag_graph.ingestion.loaders.html import html_to_markdown

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_NAMESPACES = {
    "c": "urn:oasis:names:tc:opendocument:xmlns:container",
    "opf": "http://www.idpf.org/2007/opf",
    "dc": "http://purl.org/dc/elements/1.1/",
    "enc": "http://www.w3.org/2001/04/xmlenc#",
}
_PAGES = ("application/xhtml+xml", "text/html", "application/html")
# Scrambled fonts are listed as encrypted too, and do not keep anybody from reading (OCF 3.3, 4.4).
_FONT_SCRAMBLING = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")


def parse_epub(source: Source) -> Iterator[LoadedPart]:
    """Yield the chapters of the spine as Markdown, with the book's title and date.

    Raises:
        LoadError: Protected (DRM), damaged, or no EPUB.
    """
    with open_archive(source, kind="an EPUB") as archive:
        if _is_protected(archive):
            raise source.error("protected against copying (DRM): its text cannot be read")
        package_path = _package_path(source, archive)
        package = _xml(source, archive, package_path)
        metadata = _metadata(package)
        for number, name in enumerate(_spine(package, package_path), start=1):
            chapter = Source(
                path=source.path,
                data=read_entry(source, archive, name),
                suffix=".xhtml",
                max_bytes=source.max_bytes,
            )
            text, _ = html_to_markdown(decode(chapter)[0])
            yield LoadedPart(text=text, kind="markdown", metadata={**metadata, "section": number})


def _xml(source: Source, archive: zipfile.ZipFile, name: str) -> Any:
    try:
        return parse_xml(read_entry(source, archive, name))
    except ValueError as error:
        raise source.error(f"damaged: {name} in it is not XML") from error


def _package_path(source: Source, archive: zipfile.ZipFile) -> str:
    rootfile = _xml(source, archive, _CONTAINER).find(".//c:rootfile", _NAMESPACES)
    path = None if rootfile is None else rootfile.get("full-path")
    if not path:
        raise source.error(f"damaged: {_CONTAINER} in it names no package")
    return str(path)


def _metadata(package: Any) -> dict[str, Any]:
    metadata: dict[str, Any] = {}
    if title := (package.findtext(".//dc:title", namespaces=_NAMESPACES) or "").strip():
        metadata["title"] = title
    if published := iso_date(package.findtext(".//dc:date", namespaces=_NAMESPACES)):
        metadata["published"] = published
    return metadata


def _spine(package: Any, package_path: str) -> Iterator[str]:
    """Yield the entries of the chapters; the table of contents is none."""
    folder = posixpath.dirname(package_path)
    items = {item.get("id"): item for item in package.iterfind(".//opf:item", _NAMESPACES)}
    for reference in package.iterfind(".//opf:itemref", _NAMESPACES):
        item = items.get(reference.get("idref"))
        if item is None or item.get("media-type") not in _PAGES:
            continue
        if "nav" not in (item.get("properties") or "").split():
            href = unquote(item.get("href") or "").partition("#")[0]
            yield posixpath.normpath(posixpath.join(folder, href))


def _is_protected(archive: zipfile.ZipFile) -> bool:
    try:
        root = parse_xml(archive.read(_ENCRYPTION))
    except (KeyError, ValueError):
        return False
    methods = root.iterfind(".//enc:EncryptionMethod", _NAMESPACES)
    return any(method.get("Algorithm") not in _FONT_SCRAMBLING for method in methods)
