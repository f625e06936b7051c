"""Jupyter notebooks: prose as it is, code in fences, printed results beside it."""

import json
from collections.abc import Iterator
from typing import Any

from crag_graph.ingestion.loaders.base import LoadedPart, Source
from crag_graph.ingestion.loaders.encodings import decode
from crag_graph.ingestion.loaders.markdown import tidy_markdown
from crag_graph.text.clean import clean_text, shorten

_OUTPUT_CHARACTERS = 500


def parse_notebook(source: Source) -> Iterator[LoadedPart]:
    """Yield a notebook as one Markdown text.

    Raises:
        LoadError: It is not JSON, or no notebook of format 4.
    """
    try:
        notebook = json.loads(decode(source)[0])
        cells = notebook["cells"]
        blocks = [block for cell in cells for block in _blocks(cell, _language(notebook))]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise source.error("not a Jupyter notebook of format 4") from error
    yield LoadedPart(text="\n\n".join(blocks), kind="markdown")


def _language(notebook: dict[str, Any]) -> str:
    metadata = notebook.get("metadata", {})
    return str(metadata.get("language_info", {}).get("name") or "python")


def _blocks(cell: dict[str, Any], language: str) -> Iterator[str]:
    text = _text(cell["source"]).strip("\n")
    if not text.strip():
        return
    if cell["cell_type"] != "code":
        yield tidy_markdown(text)
        return
    yield f"```{language}\n{text}\n```"
    for output in cell.get("outputs", ()):
        raw = output.get("text") or output.get("data", {}).get("text/plain") or ""
        shown = clean_text(_text(raw))  # before it is cut: half a colour is no colour any more
        if shown.strip():
            yield f"```\n{shorten(shown, _OUTPUT_CHARACTERS)}\n```"


def _text(value: str | list[str]) -> str:
    return value if isinstance(value, str) else "".join(value)
