"""PowerPoint documents: a slide a part, with its notes."""

import io
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from crag_graph.ingestion.loaders.archives import core_properties, open_archive
from crag_graph.ingestion.loaders.base import LoadedPart, Source
from crag_graph.ingestion.loaders.markdown import table_lines

if TYPE_CHECKING:
    from pptx.shapes.base import BaseShape
    from pptx.slide import Slide


def parse_pptx(source: Source) -> Iterator[LoadedPart]:
    """Yield the slides that have text, as Markdown, with their speaker notes.

    Raises:
        LoadError: There is no text on any slide.
    """
    from pptx import Presentation

    with open_archive(source, kind="a PowerPoint document") as archive:
        metadata = core_properties(archive)
    if metadata.get("title") == "PowerPoint Presentation":  # what the program writes by itself
        del metadata["title"]
    for number, slide in enumerate(Presentation(io.BytesIO(source.data)).slides, start=1):
        text = "\n\n".join(_slide_blocks(slide))
        if text.strip():
            yield LoadedPart(text=text, kind="markdown", metadata={**metadata, "slide": number})


def _slide_blocks(slide: "Slide") -> Iterator[str]:
    title = slide.shapes.title
    if title is not None and title.text_frame.text.strip():
        yield f"# {' '.join(title.text_frame.text.split())}"
    for shape in _in_reading_order(slide.shapes):
        if title is None or shape.shape_id != title.shape_id:
            yield from _shape_blocks(shape)
    if slide.has_notes_slide:
        notes = slide.notes_slide.notes_text_frame
        if notes is not None and notes.text.strip():
            yield f"Notes: {notes.text.strip()}"


def _in_reading_order(shapes: "Iterable[BaseShape]") -> list[Any]:
    """Return shapes top to bottom, then left to right; those without a place keep theirs."""
    return sorted(shapes, key=lambda shape: (shape.top or 0, shape.left or 0))


def _shape_blocks(shape: Any) -> Iterator[str]:
    if getattr(shape, "shapes", None) is not None:  # a group
        for inner in _in_reading_order(shape.shapes):
            yield from _shape_blocks(inner)
    elif getattr(shape, "has_table", False):
        rows = [[cell.text for cell in row.cells] for row in shape.table.rows]
        yield "\n".join(table_lines(rows))
    elif shape.has_text_frame:
        lines = [
            f"{'  ' * paragraph.level}- {words}" if paragraph.level else words
            for paragraph in shape.text_frame.paragraphs
            if (words := " ".join(paragraph.text.split()))
        ]
        if lines:
            yield "\n\n".join(lines) if len(lines) < 3 else "\n".join(_as_list(lines))


def _as_list(lines: list[str]) -> list[str]:
    return [line if line.lstrip().startswith("- ") else f"- {line}" for line in lines]
