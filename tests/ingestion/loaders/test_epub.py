from pathlib import Path

import pytest

from crag_graph.errors import LoadError
from crag_graph.ingestion.loaders import parse
from tests.fakes.documents import epub_bytes, zip_bytes

BOOK = Path("book.epub")
CHAPTERS = ["<h1>One</h1><p>Café first.</p>", "<h1>Two</h1><p>Then second.</p>"]
ENCRYPTION = """<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container"
 xmlns:enc="http://www.w3.org/2001/04/xmlenc#"><enc:EncryptedData>
<enc:EncryptionMethod Algorithm="{}"/></enc:EncryptedData></encryption>"""


def test_chapters_come_in_reading_order_with_the_book_they_are_of() -> None:
    parts = parse(BOOK, epub_bytes(CHAPTERS, title="The Pump"))
    assert [part.text for part in parts] == ["# One\n\nCafé first.", "# Two\n\nThen second."]
    assert parts[1].metadata == {"title": "The Pump", "published": "2019-05-04", "section": 2}
    assert all(part.kind == "markdown" for part in parts)


def test_a_protected_book_is_reported() -> None:
    lock = ENCRYPTION.format("http://www.w3.org/2001/04/xmlenc#aes128-cbc")
    with pytest.raises(LoadError, match="protected against copying"):
        parse(BOOK, epub_bytes(CHAPTERS, extra={"META-INF/encryption.xml": lock}))


def test_scrambled_fonts_do_not_matter() -> None:
    lock = ENCRYPTION.format("http://www.idpf.org/2008/embedding")
    assert len(parse(BOOK, epub_bytes(CHAPTERS, extra={"META-INF/encryption.xml": lock}))) == 2


def test_entities_are_not_resolved() -> None:
    bomb = (
        '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;">'
        '<!ENTITY file SYSTEM "file:///etc/hostname">]>'
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="OEBPS/book.opf"/></rootfiles>&b;&file;</container>'
    )
    assert len(parse(BOOK, epub_bytes(CHAPTERS, extra={"META-INF/container.xml": bomb}))) == 2


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (zip_bytes({"a.txt": "x"}), "META-INF/container.xml is missing in it"),
        (
            epub_bytes(CHAPTERS, extra={"META-INF/container.xml": "<container/>"}),
            "names no package",
        ),
        (epub_bytes(CHAPTERS, extra={"META-INF/container.xml": ""}), "is not XML"),
        (epub_bytes(["", "<p> </p>"]), "it has no text"),
        (epub_bytes(CHAPTERS)[:300], "damaged or cut off"),
        (b"text", "not an EPUB but text"),
    ],
)
@pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")
def test_what_is_no_whole_book_is_reported(data: bytes, reason: str) -> None:
    with pytest.raises(LoadError, match=reason):
        parse(BOOK, data)
