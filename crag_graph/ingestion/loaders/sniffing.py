"""Telling what a file is by its first bytes, whatever its name says."""

_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"%PDF-", "a PDF"),
    (b"PK\x03\x04", "a ZIP archive or an Office document"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old or encrypted Office document"),
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF87a", "a GIF image"),
    (b"GIF89a", "a GIF image"),
    (b"II*\x00", "a TIFF image"),
    (b"MM\x00*", "a TIFF image"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"BZh91AY&SY", "a bzip2 archive"),
    (b"\xfd7zXZ\x00", "an xz archive"),
    (b"7z\xbc\xaf'\x1c", "a 7-Zip archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"\x7fELF", "a program"),
    (b"SQLite format 3\x00", "an SQLite database"),
)
# A PDF may have rubbish before its header: readers look for it in the first kilobyte.
_PDF_WINDOW = 1024


def sniff(data: bytes) -> str | None:
    """Return what `data` is, with its article (`a PDF`), or None where it may be text."""
    for signature, name in _SIGNATURES:
        if data.startswith(signature):
            return name
    return None


def has_pdf_header(data: bytes) -> bool:
    """Return whether the header of a PDF is where readers look for it."""
    return b"%PDF-" in data[:_PDF_WINDOW]


def describe(data: bytes) -> str:
    """Return what `data` looks like, to be said in a message: `a PNG image`, `an HTML page`."""
    known = sniff(data)
    if known is not None:
        return known
    head = data[:_PDF_WINDOW].lstrip().lower()
    if head.startswith((b"<!doctype html", b"<html")):
        return "an HTML page"
    return "unknown binary data" if b"\x00" in head else "text"
