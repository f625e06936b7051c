import io
import zipfile
from pathlib import Path

import pytest

from crag_graph.errors import LoadError
from crag_graph.ingestion.loaders import parse
from tests.fakes.documents import epub_bytes, zip_bytes


@pytest.mark.parametrize("name", ["a.docx", "a.pptx", "a.epub"])
def test_a_bomb_is_not_unpacked(name: str) -> None:
    data = zip_bytes({"word/document.xml": bytes(30_000_000)})
    assert len(data) < 50_000
    with pytest.raises(LoadError, match="it would unpack to 30,000,000 bytes"):
        parse(Path(name), data)


def test_many_entries_are_too_much() -> None:
    data = zip_bytes({f"{number}": "" for number in range(20_001)})
    with pytest.raises(LoadError, match="20,001 files"):
        parse(Path("a.epub"), data)


def test_the_limit_holds_for_what_is_inside() -> None:
    text = "".join(f"<p>{number} {number * 7}</p>" for number in range(20_000))
    data = epub_bytes([text])
    assert parse(Path("a.epub"), data)
    with pytest.raises(LoadError, match="it would unpack to"):
        parse(Path("a.epub"), data, max_bytes=200_000)


def test_a_size_that_lies_is_found_out() -> None:
    data = bytearray(zip_bytes({"META-INF/container.xml": "x" * 5000}))
    size = (5000).to_bytes(4, "little")
    while size in data:  # both headers say that it unpacks to ten bytes
        at = data.index(size)
        data[at : at + 4] = (10).to_bytes(4, "little")
    with pytest.raises(LoadError, match="damaged"):
        parse(Path("a.epub"), bytes(data))


def test_an_encrypted_container_is_reported() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("word/document.xml", "x")
    data = bytearray(buffer.getvalue())
    data[6] |= 1  # the local header's flag, and the central directory's
    data[data.index(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(LoadError, match="encrypted"):
        parse(Path("a.docx"), bytes(data))
