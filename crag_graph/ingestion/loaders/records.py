"""JSON and JSON Lines: each record as lines of `key: value`."""

import dataclasses
import json
from collections.abc import Iterator, Mapping
from typing import Any

from crag_graph.ingestion.loaders.base import Heading, LoadedPart, PartKind, Source
from crag_graph.ingestion.loaders.encodings import read_text

# Characters of records that share a part: about 150 tokens, so that a part is one chunk, and its
# row numbers are those of the chunk.
_GROUP_CHARACTERS = 600
_INLINE_LIST = 200
_INLINE_OBJECT = 150
_DEEPEST_SECTION = 4


@dataclasses.dataclass(kw_only=True)
class Group:
    """Collects records until they fill a part."""

    metadata: Mapping[str, Any]
    _records: list[str] = dataclasses.field(default_factory=list)
    _first: int = 0
    _last: int = 0

    def add(self, record: str, number: int) -> Iterator[LoadedPart]:
        """Yield a part when it is full, after taking the record with this number, from 1."""
        size = sum(map(len, self._records))
        if self._records and size + len(record) > _GROUP_CHARACTERS:
            yield from self.rest()
        if not self._records:
            self._first = number
        self._records.append(record)
        self._last = number

    def rest(self) -> Iterator[LoadedPart]:
        """Yield what was collected since the last part, if anything."""
        if not self._records:
            return
        rows = {"row": self._first}
        if self._last > self._first:
            rows["row_end"] = self._last
        multiline = any("\n" in record for record in self._records)
        kind: PartKind = "records" if max(map(len, self._records)) <= _GROUP_CHARACTERS else "prose"
        text = ("\n\n" if multiline else "\n").join(self._records)
        self._records.clear()
        yield LoadedPart(text=text, kind=kind, metadata={**self.metadata, **rows})


def parse_json(source: Source) -> Iterator[LoadedPart]:
    """Yield the records of a JSON list, or the one document, as lines of `key: value`.

    Raises:
        LoadError: It is not JSON; the message names the line.
    """
    text, metadata = read_text(source)
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":  # JSON Lines under the plain name
            yield from _lines(source, text, metadata)
            return
        raise source.error(
            f"not JSON: {error.msg} in line {error.lineno}, column {error.colno}"
        ) from error
    if isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        yield from _grouped(enumerate(value, start=1), metadata)
    else:
        lines: list[str] = []
        headings = tuple(_sections(value, "", 1, lines))
        yield LoadedPart(text="\n".join(lines), metadata=metadata, headings=headings)


def parse_json_lines(source: Source) -> Iterator[LoadedPart]:
    """Yield the records of a JSON Lines file.

    Raises:
        LoadError: A line is not JSON; the message names it.
    """
    yield from _lines(source, *read_text(source))


def _lines(source: Source, text: str, metadata: Mapping[str, Any]) -> Iterator[LoadedPart]:
    def values() -> Iterator[tuple[int, Any]]:
        for number, line in enumerate(text.split("\n"), start=1):
            if not line.strip():
                continue
            try:
                yield number, json.loads(line)
            except json.JSONDecodeError as error:
                raise source.error(f"line {number} is not JSON: {error.msg}") from error

    yield from _grouped(values(), metadata)


def _grouped(values: Any, metadata: Mapping[str, Any]) -> Iterator[LoadedPart]:
    group = Group(metadata=metadata)
    for number, value in values:
        if record := render(value):
            yield from group.add(record, number)
    yield from group.rest()


def _sections(value: Any, key: str, level: int, lines: list[str]) -> Iterator[Heading]:
    """Yield the headings of a document, and write its lines: large inner objects are sections.

    Otherwise every line would carry the whole path to it, which costs more tokens than it says.
    """
    if isinstance(value, dict):
        items = {str(name): inner for name, inner in value.items()}
    elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        items = {f"[{at}]": inner for at, inner in enumerate(value, start=1)}
    else:
        lines.extend(_render(value, ""))
        return
    large: dict[str, Any] = {}
    for name, inner in items.items():
        rendered = list(_render(inner, name)) if level <= _DEEPEST_SECTION else []
        if isinstance(inner, dict | list) and sum(map(len, rendered)) > _INLINE_OBJECT:
            large[name] = inner
        else:
            lines.extend(rendered or _render(inner, name))
    for name, inner in large.items():
        path = f"{key}{name}" if name.startswith("[") or not key else f"{key}.{name}"
        lines.append("")
        start = sum(map(len, lines)) + len(lines)
        lines.append(path)
        yield Heading(start=start, end=start + len(path), level=level, title=name)
        yield from _sections(inner, path, level + 1, lines)


def render(value: Any) -> str:
    """Return a JSON value as lines of `key: value`; keys of inner objects are joined by dots."""
    return "\n".join(_render(value, ""))


def _render(value: Any, key: str) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _render(inner, f"{key}.{name}" if key else str(name))
    elif isinstance(value, list):
        if all(not isinstance(item, dict | list) for item in value):
            scalars = [text for item in value if (text := _scalar(item))]
            if sum(map(len, scalars)) <= _INLINE_LIST:
                if scalars:
                    yield _pair(key, ", ".join(scalars))
            else:
                for text in scalars:
                    yield _pair(key, text)
            return
        for at, item in enumerate(value, start=1):
            yield from _render(item, f"{key}[{at}]" if key else f"[{at}]")
    elif text := _scalar(value):
        yield _pair(key, text)


def _scalar(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value).strip()


def _pair(key: str, text: str) -> str:
    if not key:
        return text
    return f"{key}:\n{text}" if "\n" in text else f"{key}: {text}"
