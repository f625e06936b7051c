"""Word documents as Markdown: headings, lists, tables, text boxes and footnotes."""

import io
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from crag_graph.ingestion.loaders.archives import core_properties, open_archive, parse_xml
from crag_graph.ingestion.loaders.base import LoadedPart, Source
from crag_graph.ingestion.loaders.markdown import table_lines

if TYPE_CHECKING:
    from docx.document import Document

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_HEADING = re.compile(r"heading (\d)", re.IGNORECASE)
_DEEPEST_LIST = 8
_SPACING = {f"{_W}tab": " ", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-"}


def parse_docx(source: Source) -> Iterator[LoadedPart]:
    """Yield a Word document as one Markdown text.

    The body is walked over here, since python-docx passes over what is in content controls, text
    boxes, footnotes and tracked insertions, and people read these too. Deleted text is left out.
    """
    import docx

    with open_archive(source, kind="a Word document") as archive:
        metadata = core_properties(archive)
    document = docx.Document(io.BytesIO(source.data))
    if metadata.get("title") == "Word Document":  # what the program's template says
        del metadata["title"]
    text = "\n".join(_Body(document).lines()).strip()
    yield LoadedPart(text=text, kind="markdown", metadata=metadata)


class _Body:
    def __init__(self, document: "Document") -> None:
        self._body = document.element.body
        self._styles = {
            style.style_id: (style.name or "").lower()
            for style in document.styles
            if style.style_id
        }
        self._levels = _outline_levels(document.styles.element)
        self._notes = _footnotes(document)

    def lines(self) -> Iterator[str]:
        """Yield the lines of the document; blocks but for items of a list are set apart."""
        in_list = False
        for element in _blocks(self._body):
            if element.tag == f"{_W}tbl":
                block, is_item = "\n".join(table_lines(list(self._rows(element)))), False
            else:
                block, is_item = self._paragraph(element)
            if block.strip():
                if not (in_list and is_item):
                    yield ""
                yield block
                in_list = is_item
            for box in _text_boxes(element):
                yield ""
                yield box

    def _paragraph(self, element: Any) -> tuple[str, bool]:
        """Return a paragraph as Markdown, and whether it is an item of a list."""
        text = _text(element).strip()
        notes = [self._notes.get(name, "") for name in _references(element)]
        text += "".join(f" (Note: {note})" for note in notes if note)
        style = _value(element, "pPr/pStyle")
        level = self._levels.get(style)
        if level is not None and text:
            return f"{'#' * level} {' '.join(text.split())}", False
        numbering = element.find(f"{_W}pPr/{_W}numPr")
        if numbering is not None or self._styles.get(style, "").startswith("list"):
            depth = _value(element, "pPr/numPr/ilvl")
            indent = "  " * min(int(depth), _DEEPEST_LIST) if depth.isdigit() else ""
            return f"{indent}- {text}" if text else "", True
        return text, False

    def _rows(self, table: Any) -> Iterator[list[str]]:
        for row in table.iterfind(f".//{_W}tr"):
            if next(row.iterancestors(f"{_W}tbl")) is not table:
                continue  # of a table inside a cell: its text is in the cell
            cells: list[str] = []
            for cell in row.iter(f"{_W}tc"):
                if next(cell.iterancestors(f"{_W}tr")) is not row:
                    continue
                inner = " ".join(_text(paragraph) for paragraph in cell.iter(f"{_W}p"))
                # A cell merged with the one above it repeats nothing, one over several columns
                # leaves the others empty.
                span = _value(cell, "tcPr/gridSpan")
                cells += [" ".join(inner.split()), *[""] * (int(span) - 1 if span.isdigit() else 0)]
            yield cells


def _blocks(element: Any) -> Iterator[Any]:
    """Yield paragraphs and tables in their order, those inside of content controls too."""
    for child in element:
        if child.tag in (f"{_W}p", f"{_W}tbl"):
            yield child
        elif child.tag in (f"{_W}sdt", f"{_W}sdtContent", f"{_W}customXml", f"{_W}ins"):
            yield from _blocks(child)


def _text(element: Any, *, box: bool = False) -> str:
    """Return the text of a paragraph without that of text boxes anchored in it."""
    pieces = []
    for node in element.iter(f"{_W}t", *_SPACING):
        above = {ancestor.tag for ancestor in node.iterancestors()}
        if not box and f"{_W}txbxContent" in above:
            continue
        if f"{_W}tabs" not in above:  # the stops of the ruler are no text
            pieces.append(_SPACING.get(node.tag) or node.text or "")
    return "".join(pieces)


def _text_boxes(element: Any) -> Iterator[str]:
    """Yield the texts of the boxes anchored in a block.

    Each box is there twice, the second time for old versions of Word.
    """
    for box in element.iter(f"{_W}txbxContent"):
        if next(box.iterancestors(_FALLBACK), None) is None:
            yield "\n".join(_text(paragraph, box=True) for paragraph in box.iter(f"{_W}p")).strip()


def _references(element: Any) -> list[str]:
    return [str(node.get(f"{_W}id")) for node in element.iter(f"{_W}footnoteReference")]


def _footnotes(document: "Document") -> dict[str, str]:
    for relation in document.part.rels.values():
        if relation.reltype.endswith("/footnotes") and not relation.is_external:
            root = parse_xml(relation.target_part.blob)
            return {
                str(note.get(f"{_W}id")): " ".join(_text(note).split())
                for note in root.iter(f"{_W}footnote")
                if note.get(f"{_W}type") is None  # the others are rules between text and notes
            }
    return {}


def _outline_levels(styles: Any) -> dict[str, int]:
    """Return the level, from 1, of the styles that are headings.

    By their outline level, which styles of one's own have too, inherited from the style that they
    are based on; built-in ones by their name, which is English in every language of Word.
    """
    own: dict[str, int] = {}
    base: dict[str, str] = {}
    for style in styles.iter(f"{_W}style"):
        identifier = str(style.get(f"{_W}styleId"))
        base[identifier] = _value(style, "basedOn")
        name = _value(style, "name").lower()
        outline = _value(style, "pPr/outlineLvl")
        if match := _HEADING.fullmatch(name):
            own[identifier] = int(match[1])
        elif outline.isdigit() and int(outline) < 9:  # 9 is body text
            own[identifier] = int(outline) + 1
        elif name in ("title", "subtitle"):
            own[identifier] = 1 if name == "title" else 2
    for identifier in base:
        above, steps = identifier, 0
        while above and above not in own and steps < 10:
            above, steps = base.get(above, ""), steps + 1
        if above in own:
            own.setdefault(identifier, own[above])
    return {identifier: min(level, 6) for identifier, level in own.items()}


def _value(element: Any, path: str) -> str:
    """Return the `w:val` of a descendant, empty where there is none."""
    found = element.find("/".join(f"{_W}{step}" for step in path.split("/")))
    return "" if found is None else str(found.get(f"{_W}val") or "")
