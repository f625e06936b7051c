from pathlib import Path

import pytest

from crag_graph.errors import LoadError
from crag_graph.ingestion.loaders.base import Source
from crag_graph.ingestion.loaders.encodings import decode, read_text

POLISH = "Zażółć gęślą jaźń. Wszystkie dzieci poszły do szkoły wcześnie rano. "
RUSSIAN = "Клапан закрывается при давлении выше трёх бар. "


def source(data: bytes, name: str = "notes.txt") -> Source:
    path = Path(name)
    return Source(path=path, data=data, suffix=path.suffix, max_bytes=10**6)


@pytest.mark.case(93)
def test_windows_text_keeps_every_letter() -> None:
    text, encoding = decode(source(b"Caf\xe9 \x93quoted\x94 \x80 12"))
    assert (text, encoding) == ("Café “quoted” € 12", "cp1252")


@pytest.mark.case(93)
@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("The café’s “quoted” price was €12. ", "cp1252"),
        ("L’été dernier, où étiez-vous ? Ça coûte 12 €, dit-elle. ", "cp1252"),
        ("A válvula não está à venda; promoção até amanhã. ", "cp1252"),
        ("Die Straße führt über die Brücke nach Köln. ", "cp1252"),
        (POLISH, "cp1250"),
        ("Příliš žluťoučký kůň úpěl ďábelské ódy. ", "cp1250"),
        ("Árvíztűrő tükörfúrógép, a szelep bezár. ", "cp1250"),
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "koi8_r"),
        ("Η βαλβίδα κλείνει όταν η πίεση υπερβαίνει τα τρία μπαρ. ", "cp1253"),
        ("ポンプ場の弁は三バールを超えると閉じます。点検してください。", "cp932"),
        ("水泵站的阀门在压力超过三巴时关闭。请检查水泵。", "gb18030"),
        ("펌프장의 밸브는 3바를 넘으면 닫힙니다. 확인하세요. ", "cp949"),
    ],
)
def test_legacy_encodings_are_told_apart(text: str, encoding: str) -> None:
    assert decode(source((text * 6).encode(encoding)))[0] == text * 6


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32", "utf-16-le", "utf-16-be"])
def test_unicode_is_read_with_and_without_a_mark(encoding: str) -> None:
    text = "The valve at Malmö closes at 3 bar – says the café.\n" * 3
    assert decode(source(text.encode(encoding)))[0] == text


def test_asian_utf16_is_read_by_its_mark() -> None:
    assert decode(source("水泵站的阀门".encode("utf-16")))[0] == "水泵站的阀门"


@pytest.mark.case(93)
def test_a_few_foreign_bytes_do_not_turn_a_file_into_rubbish() -> None:
    good = "Ökologische Größe für Köln. " * 20
    text, encoding = decode(source(good.encode() + b"caf\xe9"))
    assert text == good + "café"
    assert encoding == "utf-8"


def test_the_declared_encoding_is_believed_when_it_fits() -> None:
    data = RUSSIAN.encode("iso8859_5")
    assert decode(source(data), declared="ISO-8859-5") == (RUSSIAN, "iso8859-5")
    assert decode(source(b"caf\xe9 \x80 5"), declared="latin-1") == ("café € 5", "cp1252")
    assert decode(source("für".encode()), declared="latin-1") == ("für", "utf-8")
    assert decode(source(b"caf\xe9 au lait"), declared="no-such-thing")[0] == "café au lait"


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"%PDF-1.4\n1 0 obj", "a PDF"),
        (b"PK\x03\x04" + bytes(40), "a ZIP archive or an Office document"),
        (b"\x89PNG\r\n\x1a\n" + bytes(40), "a PNG image"),
        (bytes(range(256)) * 20, "binary data, not text"),
        (b"\x00\x01\x02\x03" * 100 + b"text", "binary data, not text"),
    ],
)
def test_binary_under_a_text_name_is_reported(data: bytes, what: str) -> None:
    with pytest.raises(LoadError, match=what) as caught:
        decode(source(data))
    assert caught.value.path == "notes.txt"


def test_the_metadata_names_an_encoding_that_is_not_utf8() -> None:
    assert read_text(source(b"Caf\xe9 cr\xe8me"))[1] == {"encoding": "cp1252"}
    assert read_text(source("Café".encode()))[1] == {}


@pytest.mark.case(90)
def test_a_stray_nul_is_dirt_and_not_binary() -> None:
    assert read_text(source(b"pump\x00 house, valve and all the rest of it"))[0].startswith(
        "pump house"
    )
