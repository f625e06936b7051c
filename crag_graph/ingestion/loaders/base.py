"""What loaders take and give: bytes, and parts of text that know where they come from."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from crag_graph.errors import LoadError

PartKind = Literal["prose", "markdown", "code", "records"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Heading:
    """A heading that the text itself does not mark.

    Attributes:
        start: Offset of its line.
        end: Offset behind it, an underline included; `start` where it is on an earlier page.
        level: From 1.
        title: The heading without numbers or marks of its own format.
    """

    start: int
    end: int
    level: int
    title: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class LoadedPart:
    """A stretch of a document: a page, a slide, a chapter, a few rows, or all of it.

    Attributes:
        text: Clean text, never blank.
        kind: What the text is: `prose`, `markdown`, `code`, or `records` (every line stands for
            itself). It tells the chunker where the text may be cut.
        metadata: Plain JSON, where the format has it: `title`, `published` (ISO date), `page`,
            `slide`, `section` (all from 1), `heading` (the path of headings above the part, joined
            by ` > `), `row` and `row_end` (from 1, the header not counted), `language` (of code),
            `encoding` (of a text that is not UTF-8).
        headings: Headings of a `prose` part, in their order; in Markdown the text marks them.
    """

    text: str
    kind: PartKind = "prose"
    metadata: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    headings: tuple[Heading, ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Source:
    """A document's bytes, read once, so that what is hashed is what is loaded.

    Attributes:
        path: The file, as it was given.
        data: All of it.
        suffix: Its extension in lower case, with the dot.
        max_bytes: The most that it may unpack to.
    """

    path: Path
    data: bytes
    suffix: str
    max_bytes: int

    def error(self, reason: str) -> LoadError:
        """Return the error that says why this document cannot be read, to be raised."""
        return LoadError(str(self.path), reason)
