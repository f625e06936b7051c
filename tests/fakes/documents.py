"""Small real documents of the binary formats, written from plain text."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

_CONTAINER = """<?xml version="1.0"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
<rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/>
</rootfiles></container>"""
_PACKAGE = """<?xml version="1.0"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier id="id">x</dc:identifier>
<dc:title>{title}</dc:title><dc:date>2019-05-04T00:00:00Z</dc:date></metadata>
<manifest><item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>
{items}</manifest><spine><itemref idref="nav"/>{spine}</spine></package>"""
_CHAPTER = """<?xml version="1.0" encoding="utf-8"?>
<html xmlns="http://www.w3.org/1999/xhtml"><head><title>x</title></head><body>{body}</body></html>"""


def pdf_bytes(
    pages: Sequence[str], *, info: Mapping[str, str] | None = None, outline: Sequence[str] = ()
) -> bytes:
    """Return a PDF of one text a page (blank: a page without text); ASCII alone.

    `info` is the document information, `outline` the title of a bookmark for each page.
    """
    objects: list[bytes] = []

    def add(body: str | bytes) -> int:
        objects.append(body if isinstance(body, bytes) else body.encode("latin-1"))
        return len(objects)

    catalog, tree = add(""), add("")
    font = add("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    kids = []
    for page in pages:
        lines = [_escaped(line) for line in page.split("\n")]
        shown = "".join(f"({line}) Tj T*\n" for line in lines) if page.strip() else ""
        stream = f"BT /F1 11 Tf 14 TL 60 780 Td\n{shown}ET".encode("latin-1")
        content = add(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
        kids.append(
            add(
                f"<< /Type /Page /Parent {tree} 0 R /MediaBox [0 0 595 842] "
                f"/Resources << /Font << /F1 {font} 0 R >> >> /Contents {content} 0 R >>"
            )
        )
    marks = ""
    if outline:
        first = len(objects) + 2
        last = first + len(outline) - 1
        root = add(f"<< /Type /Outlines /First {first} 0 R /Last {last} 0 R >>")
        for at, title in enumerate(outline):
            following = f"/Next {first + at + 1} 0 R" if first + at < last else ""
            add(
                f"<< /Title ({_escaped(title)}) /Parent {root} 0 R {following} "
                f"/Dest [{kids[at]} 0 R /Fit] >>"
            )
        marks = f"/Outlines {root} 0 R"
    fields = "".join(f"/{key} ({_escaped(value)})" for key, value in (info or {}).items())
    information = add(f"<< {fields} >>")
    objects[catalog - 1] = f"<< /Type /Catalog /Pages {tree} 0 R {marks} >>".encode()
    listed = " ".join(f"{kid} 0 R" for kid in kids)
    objects[tree - 1] = f"<< /Type /Pages /Kids [{listed}] /Count {len(kids)} >>".encode()
    return _assembled(objects, catalog, information)


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")


def _assembled(objects: Sequence[bytes], catalog: int, information: int) -> bytes:
    out = bytearray(b"%PDF-1.5\n")
    offsets = []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    for offset in offsets:
        out += b"%010d 00000 n \n" % offset
    out += b"trailer\n<< /Size %d /Root %d 0 R /Info %d 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
        len(objects) + 1,
        catalog,
        information,
        start,
    )
    return bytes(out)


def epub_bytes(
    chapters: Sequence[str], *, title: str = "A Book", extra: Mapping[str, str] | None = None
) -> bytes:
    """Return an EPUB of one body of HTML a chapter; `extra` are more entries of the container."""
    names = [f"chapter {number}.xhtml" for number in range(1, len(chapters) + 1)]
    items = "".join(
        f'<item id="c{at}" href="{name.replace(" ", "%20")}" media-type="application/xhtml+xml"/>'
        for at, name in enumerate(names)
    )
    spine = "".join(f'<itemref idref="c{at}"/>' for at in range(len(names)))
    entries = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": _CONTAINER,
        "OEBPS/book.opf": _PACKAGE.format(title=title, items=items, spine=spine),
        "OEBPS/nav.xhtml": _CHAPTER.format(body="<nav><ol><li>Contents</li></ol></nav>"),
        **{
            f"OEBPS/{name}": _CHAPTER.format(body=body)
            for name, body in zip(names, chapters, strict=True)
        },
        **(extra or {}),
    }
    return zip_bytes(entries)


def zip_bytes(entries: Mapping[str, str | bytes]) -> bytes:
    """Return a ZIP container of these entries, compressed."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def write_docx(
    path: Path, paragraphs: Sequence[tuple[str, str]], *, table: Sequence[Sequence[str]] = ()
) -> None:
    """Write a Word document of (style, text) paragraphs and a table at its end."""
    import docx

    document = docx.Document()
    for style, text in paragraphs:
        document.add_paragraph(text, style=style)
    if table:
        grid = document.add_table(rows=0, cols=len(table[0]))
        for row in table:
            for cell, text in zip(grid.add_row().cells, row, strict=True):
                cell.text = text
    document.save(str(path))


def write_pptx(path: Path, slides: Sequence[tuple[str, str]]) -> None:
    """Write a PowerPoint document of (title, text) slides."""
    from pptx import Presentation

    deck = Presentation()
    for title, text in slides:
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text_frame.text = text
    deck.save(str(path))
