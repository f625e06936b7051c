"""PDF, a page a part, through PDFium."""

import dataclasses
import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from crag_graph.ingestion.loaders.base import Heading, LoadedPart, Source
from crag_graph.ingestion.loaders.dates import iso_date
from crag_graph.ingestion.loaders.sniffing import describe, has_pdf_header
from crag_graph.text.clean import clean_text, is_blank

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument

# PDFium marks a hyphen at the end of a line with U+0002 (U+FFFE in older versions) and joins the
# lines itself.
_HYPHEN = re.compile("[\x02\ufffe](?:\r?\n)?")
_LEADERS = re.compile(r"(?:\s?[.·…_]){5,}")
_DIGITS = re.compile(r"\d{1,9}")
_NUMBERS_A_LINE = 6
_ROMAN_NUMBER = re.compile(r"[ivxlc]{1,7}", re.IGNORECASE)
# A line that is at the top or bottom of so many pages is a running title.
_RUNNING_SHARE = 0.3
_RUNNING_PAGES = 3
_NUMBERED_SHARE = 0.5
_NUMBERING = re.compile(
    r"^(?:chapter|section|appendix)?\s*[\dA-Z]{0,4}(?:\.\d+)*[.:]?\s+", re.IGNORECASE
)


def parse_pdf(source: Source) -> Iterator[LoadedPart]:
    """Yield the pages that have text, without running titles; the outline gives the headings.

    Raises:
        LoadError: No text layer, encrypted, damaged, or no PDF at all.
    """
    if not has_pdf_header(source.data):
        raise source.error(f"not a PDF but {describe(source.data)}")
    with _open(source) as document:
        metadata = _metadata(document)
        outline = _outline(document)
        pages = [_page_lines(document, number) for number in range(len(document))]
    if all(not lines for lines in pages):
        raise source.error("no text layer (a scan?): run text recognition (OCR) over it first")
    running = _running_lines(pages)
    path: list[Heading] = []
    for number, lines in enumerate(pages):
        text = "\n".join(_without_running(number, lines, running))
        headings = _place(outline.get(number, []), text)
        if not is_blank(text):
            page = {**metadata, "page": number + 1}
            yield LoadedPart(text=text, metadata=page, headings=(*path, *headings))
        for heading in headings:
            above = [entry for entry in path if entry.level < heading.level]
            path = [*above, dataclasses.replace(heading, start=0, end=0)]


def _open(source: Source) -> "PdfDocument":
    from pypdfium2 import PdfDocument, PdfiumError

    try:
        return PdfDocument(source.data)
    except PdfiumError as error:
        if "password" in str(error).lower() or "security" in str(error).lower():
            raise source.error("encrypted: save it without a password") from error
        raise source.error("damaged or cut off: it cannot be opened") from error


def _metadata(document: "PdfDocument") -> dict[str, Any]:
    found = document.get_metadata_dict()
    metadata: dict[str, Any] = {}
    if (title := found.get("Title", "").strip()) and not _is_file_name(title):
        metadata["title"] = title
    if published := iso_date(found.get("CreationDate")):
        metadata["published"] = published
    return metadata


def _is_file_name(title: str) -> bool:
    """Return whether a title is what a converter put there: `Microsoft Word - draft3.docx`."""
    return title.startswith("Microsoft ") or bool(re.search(r"\.\w{2,4}$", title))


def _outline(document: "PdfDocument") -> dict[int, list[tuple[int, str]]]:
    """Return (level from 1, title) of the outline's entries by page, from 0."""
    entries: dict[int, list[tuple[int, str]]] = {}
    for bookmark in document.get_toc(max_depth=6):
        target = bookmark.get_dest()
        page = None if target is None else target.get_index()
        title = " ".join(clean_text(bookmark.get_title()).split())
        if page is not None and title:
            entries.setdefault(page, []).append((bookmark.level + 1, title))
    return entries


def _page_lines(document: "PdfDocument", number: int) -> list[str]:
    page = document[number]
    try:
        textpage = page.get_textpage()
        raw = textpage.get_text_bounded()
        textpage.close()
    finally:
        page.close()
    text = clean_text(_HYPHEN.sub("", raw))
    lines = [_LEADERS.sub(" … ", line).rstrip() for line in text.split("\n")]
    return [line for line in lines if not is_blank(line)]


def _running_lines(pages: list[list[str]]) -> frozenset[tuple[str, int | None]]:
    """Return the first and last lines that pages share: word for word, or but for page numbers.

    Numbers are page numbers where most pages have one that is equally far from their own: other
    numbers must be equal, or the totals at the bottom of invoices would be lost.
    """
    counts: Counter[tuple[str, int | None]] = Counter()
    distances: Counter[int] = Counter()
    for number, lines in enumerate(pages):
        edges = {*lines[:1], *lines[-1:]}
        keys = {key for line in edges for key in _running_keys(number, line)}
        counts.update(keys)
        distances.update({distance for _, distance in keys if distance is not None})
    often = max(_RUNNING_PAGES, len(pages) * _RUNNING_SHARE)
    numbered = {
        distance
        for distance, count in distances.items()
        if count >= max(_RUNNING_PAGES, len(pages) * _NUMBERED_SHARE)
    }
    return frozenset(
        (line, distance)
        for (line, distance), count in counts.items()
        if (count >= often if distance is None else count > 1 and distance in numbered)
    )


def _running_keys(number: int, line: str) -> Iterator[tuple[str, int | None]]:
    """Yield the line; and without its numbers, beside how far each is from the page's."""
    line = line.strip()
    yield line, None
    blanked = _DIGITS.sub("0", line)
    for digits in _DIGITS.findall(line)[:_NUMBERS_A_LINE]:
        yield blanked, int(digits) - number


def _without_running(
    number: int, lines: list[str], running: frozenset[tuple[str, int | None]]
) -> list[str]:
    def is_running(line: str) -> bool:
        keys = _running_keys(number, line)
        return bool(_ROMAN_NUMBER.fullmatch(line.strip())) or not running.isdisjoint(keys)

    start = 1 if lines and is_running(lines[0]) else 0
    end = len(lines)
    if end > start and is_running(lines[-1]):
        end -= 1
    return lines[start:end]


def _place(entries: list[tuple[int, str]], text: str) -> tuple[Heading, ...]:
    """Return the outline's entries of a page where their lines are found, in order.

    An entry whose line is not found stands, without a line, where the one before it ended.
    """
    placed: list[Heading] = []
    position = 0
    for level, title in entries:
        start, end = _line_of(title, text, position) or (position, position)
        placed.append(Heading(start=start, end=end, level=level, title=title))
        position = end
    return tuple(placed)


def _line_of(title: str, text: str, start: int) -> tuple[int, int] | None:
    bare = _NUMBERING.sub("", title).casefold()
    for line in text[start:].split("\n"):
        if _NUMBERING.sub("", line.strip()).casefold() == bare:
            return start, start + len(line)
        start += len(line) + 1
    return None
