"""Tables that only lay out a page: their cells become paragraphs, since they hold no rows."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_MOST_TABLES = 2000
# Each level of nesting copies what is in it once: no page of anybody's nests as deep as this.
_MOST_COPIES = 20
# What stands in no cell of a table of data; a cell that holds some is a part of the page.
_BLOCKS = "table, h1, h2, h3, h4, h5, h6, dl, pre, hr, section, article"


def unfold_layout(tree: "LexborHTMLParser") -> None:
    """Replace the layout tables of a page by what their cells hold, in the order of the text.

    A table lays out when it says so (`role=presentation`), or when it has no header cell or caption
    and a cell holds a heading, a list of definitions, preformatted text or another table: as pages
    of older tools have it, and code with line numbers.
    """
    from selectolax.lexbor import LexborHTMLParser

    body = tree.body
    if body is None:
        return
    tables = body.css("table")
    if len(tables) > _MOST_TABLES:
        return
    left = _MOST_COPIES * len(body.html or "")
    for table in reversed(tables):  # inner ones first
        cells = [cell for cell in table.css("td, th") if _owner(cell) == table.mem_id]
        if not _is_layout(table, cells):
            continue
        parts = [f"<div>{_inner(cell)}</div>" for cell in cells if cell.text(strip=True)]
        left -= sum(map(len, parts))
        if left < 0:
            return
        block = LexborHTMLParser(f"<div>{''.join(parts)}</div>").css_first("div")
        if block is not None:
            table.insert_after(block)  # a copy of it
        table.decompose()


def _is_layout(table: "LexborNode", cells: "list[LexborNode]") -> bool:
    if table.attributes.get("role") in ("presentation", "none"):
        return True
    if any(cell.tag == "th" for cell in cells) or table.css_first("caption, thead") is not None:
        return False
    return any(cell.css_first(_BLOCKS) is not None for cell in cells)


def _inner(cell: "LexborNode") -> str:
    return "".join(node.html or "" for node in cell.iter(include_text=True))


def _owner(cell: "LexborNode") -> int | None:
    """Return which table a cell belongs to."""
    node = cell.parent
    while node is not None and node.tag != "table":
        node = node.parent
    return None if node is None else node.mem_id
