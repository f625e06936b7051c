"""CSV and TSV: each row a line that carries the names of its columns."""

import csv
import io
import re
from collections.abc import Iterator, Sequence

from crag_graph.ingestion.loaders.base import LoadedPart, Source
from crag_graph.ingestion.loaders.encodings import read_text
from crag_graph.ingestion.loaders.records import Group
from crag_graph.text.csv_fields import allow_long_fields

_SNIFF_CHARACTERS = 20_000
_DELIMITERS = ",;\t|"
_NUMBER = re.compile(r"[-+]?[\d.,]+%?$")
_SHORT_ROW = 300
# A first line by which Excel is told what parts the cells.
_TOLD = re.compile(r'"?sep=([^"\r\n])"?(?=[\r\n])', re.IGNORECASE)


def parse_table(source: Source) -> Iterator[LoadedPart]:
    """Yield a few rows a part, each cell beside its column's name, with the numbers of the rows.

    A cell without its header means nothing, and a chunk of bare rows has no header: so every row
    becomes `part: K7; torque: 9 Nm`.

    Raises:
        LoadError: A quoted cell never ends.
    """
    text, metadata = read_text(source)
    group = Group(metadata=metadata)
    for number, line in enumerate(_records(source, text), start=1):
        if line:
            yield from group.add(line, number)
    yield from group.rest()


def _records(source: Source, text: str) -> Iterator[str]:
    allow_long_fields()
    told = _TOLD.match(text)
    text = text[told.end() :] if told else text  # the end of the line stays, and lines are counted
    lines = list(io.StringIO(text, newline=""))
    dialect = _parted(told[1]) if told else _dialect(source, text)
    rows = csv.reader(lines, dialect)
    begun = before = 0
    names: list[str] | None = None
    try:
        for row in rows:
            begun, before = before, rows.line_num
            cells = [" ".join(cell.split()) for cell in row]
            if names is None:
                if not any(cells):
                    continue
                names = cells if _is_header(cells) else []
                if names:
                    continue
            yield _record(names, cells)
    except csv.Error as error:
        raise source.error(f"line {rows.line_num} is no CSV: {error}") from error
    if _never_ends(lines[begun:], dialect):
        raise source.error(f"line {begun + 1} is no CSV: a quoted cell begins there and never ends")


def _never_ends(lines: Sequence[str], dialect: type[csv.Dialect]) -> bool:
    """Return whether the last row is cut off inside of quotes, which may hold half of the file."""
    try:
        for _ in csv.reader(lines, dialect, strict=True):
            pass
    except csv.Error as error:
        return "unexpected end" in str(error)
    return False


def _dialect(source: Source, text: str) -> type[csv.Dialect]:
    if source.suffix == ".tsv":
        return csv.excel_tab
    try:
        return csv.Sniffer().sniff(text[:_SNIFF_CHARACTERS], _DELIMITERS)
    except csv.Error:
        return csv.excel


def _parted(delimiter: str) -> type[csv.Dialect]:
    return type("Told", (csv.excel,), {"delimiter": delimiter})


def _is_header(cells: Sequence[str]) -> bool:
    """Return whether the first row names the columns: words, each once, and no numbers."""
    named = [cell for cell in cells if cell]
    return (
        len(named) >= max(1, len(cells) - 1)
        and len(set(named)) == len(named)
        and not any(_NUMBER.match(cell) for cell in named)
    )


def _record(names: Sequence[str], cells: Sequence[str]) -> str:
    pairs = [
        f"{names[at] if at < len(names) and names[at] else f'column {at + 1}'}: {cell}"
        for at, cell in enumerate(cells)
        if cell
    ]
    line = "; ".join(pairs)
    return line if len(line) <= _SHORT_ROW else "\n".join(pairs)
