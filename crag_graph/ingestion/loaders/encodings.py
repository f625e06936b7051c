"""Turning the bytes of a text file into text: nothing is dropped, doubtful bytes are reported."""

import codecs
import re

from crag_graph.ingestion.loaders.base import Source
from crag_graph.ingestion.loaders.sniffing import sniff
from crag_graph.text.clean import clean_text

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it starts with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# The encodings that text files still come in. DOS and Macintosh code pages are left out: they are
# rare by now, and among them a guess goes wrong far more often than it helps.
_LEGACY = [
    "cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "koi8_r",
    "cp874", "cp932", "euc_jp", "gb18030", "big5", "cp949",
]  # fmt: skip
_SAMPLE = 200_000
_MAX_CONTROL_SHARE = 0.01
# A mostly UTF-8 file with a few bytes of something else: one bad byte in so many good characters.
_STRAY_BYTES = 20
_MULTIBYTE = re.compile(rb"[\xc2-\xf4][\x80-\xbf]+")
_CONTROLS = bytes(range(0x09)) + bytes(range(0x0E, 0x1B)) + bytes(range(0x1C, 0x20)) + b"\x7f"
# What Central European words look like in Western eyes: symbols inside words (ł ą ż read as ³ ¹ ¿),
# or š and ž, which the languages of Western Europe do not have.
_CENTRAL = re.compile(r"[a-zà-ÿ][³¹¿¾º¼¥£þ]|[³¹¿¾¼¥£þ][a-zà-ÿ]|[šžŠŽ]", re.IGNORECASE)
_WESTERN = re.compile(r"[àèùêçãñâîôåæøëÀÈÊÇÃÑÅÆØ]")
_HUNGARIAN = re.compile(r"[õûÕÛ]")


def read_text(source: Source) -> tuple[str, dict[str, object]]:
    """Return the clean text of `source`, and metadata that names its encoding if it is not UTF-8.

    Raises:
        LoadError: As for `decode`.
    """
    text, encoding = decode(source)
    return clean_text(text), {} if encoding == "utf-8" else {"encoding": encoding}


def decode(source: Source, *, declared: str | None = None) -> tuple[str, str]:
    """Return the text of `source` and the encoding that it was in.

    In this order: a byte-order mark, UTF-8, UTF-16 without a mark, UTF-8 with a few stray bytes
    (read as Windows-1252), the declared encoding, the most probable legacy encoding.

    Args:
        source: The file.
        declared: What the document says of itself, as HTML does.

    Raises:
        LoadError: It is binary, or in an encoding that cannot be told.
    """
    data = source.data
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace"), encoding
    kind = sniff(data)
    if kind is not None:
        raise source.error(f"named {source.suffix or 'as text'} but the content is {kind}")
    wide = _utf16(data)
    if wide is not None:
        return data.decode(wide, "replace"), wide
    _refuse_binary(source)
    try:
        return data.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        pass
    if _mostly_utf8(data):
        return data.decode("utf-8", _stray_bytes()), "utf-8"
    return _legacy(source, declared)


def _refuse_binary(source: Source) -> None:
    sample = source.data[:_SAMPLE]
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    # A single NUL or form feed is dirt that cleaning removes; many are something else than text.
    if controls > 2 and controls > len(sample) * _MAX_CONTROL_SHARE:
        raise source.error("binary data, not text")


def _utf16(data: bytes) -> str | None:
    """Return UTF-16 with the byte order that `data` shows, or None.

    Western text has a NUL in every second place, and scarcely one in the others.
    """
    sample = data[:_SAMPLE]
    if len(sample) < 4 or len(data) % 2:
        return None
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    half = len(sample) // 2
    if odd > half * 0.7 and even < half * 0.05:
        return "utf-16-le"
    if even > half * 0.7 and odd < half * 0.05:
        return "utf-16-be"
    return None


def _mostly_utf8(data: bytes) -> bool:
    good = len(_MULTIBYTE.findall(data))
    if good < _STRAY_BYTES:
        return False
    bad = data.decode("utf-8", "replace").count("\ufffd")
    return bad * _STRAY_BYTES <= good


def _stray_bytes() -> str:
    """Return the name of the error handler that reads stray bytes as Windows-1252."""
    name = "crag_graph.windows_1252"
    try:
        codecs.lookup_error(name)
    except LookupError:
        codecs.register_error(name, _read_stray)
    return name


def _read_stray(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end


def _legacy(source: Source, declared: str | None) -> tuple[str, str]:
    data = source.data
    if declared is not None:
        try:
            name = codecs.lookup(declared).name
            # Browsers read Latin-1 as Windows-1252 (WHATWG Encoding), and so was it written.
            name = "cp1252" if name in ("iso8859-1", "ascii") else name
            return data.decode(name), name
        except (LookupError, UnicodeDecodeError):
            pass
    from charset_normalizer import from_bytes

    best = from_bytes(data, cp_isolation=_LEGACY).best()
    if best is None:
        raise source.error("the encoding cannot be told: save it as UTF-8")
    if best.encoding == "cp1250" and (western := _western(data)) is not None:
        return western, "cp1252"
    return str(best), best.encoding


def _western(data: bytes) -> str | None:
    """Return `data` as Windows-1252 where it is no Central European text, else None.

    The two share most letters, and statistics take French or Portuguese for Windows-1250.
    """
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:
        return None
    if _CENTRAL.search(text) or (_HUNGARIAN.search(text) and not _WESTERN.search(text)):
        return None
    return text
