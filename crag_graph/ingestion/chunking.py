"""Cutting documents into the chunks that are embedded and found.

The default fits an encoder that reads 256 tokens, as all-MiniLM-L6-v2 does: 200 tokens a chunk. Two
of the 256 are special; and where tokens are only estimated, one text in a hundred has a fifth more
than the estimate, which still leaves 240 to 250. Longer chunks would lose their ends unseen,
shorter ones lose context and cost more embedding a page. An overlap of at most 32 tokens is one or
two sentences: enough that a sentence beside a cut is found with the one before it, at about a tenth
more to embed.
"""

import dataclasses
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, Self

from crag_graph.errors import ConfigurationError
from crag_graph.ingestion.loaders.base import LoadedPart
from crag_graph.ingestion.packing import Limits, Packed, pack
from crag_graph.ingestion.token_counts import ESTIMATE, TokenCounter, counter_for
from crag_graph.ingestion.units import find_units
from crag_graph.text.clean import is_blank, shorten

Strategy = Literal["recursive", "markdown", "sentences"]

DEFAULT_SIZE = 200
DEFAULT_OVERLAP = 32
SMALLEST_SIZE = 20

_VERSION = 1  # raised when the same text would be cut in another way
_SEPARATOR = " > "
_LONGEST_HEADING = 300


@dataclasses.dataclass(frozen=True, kw_only=True)
class Chunk:
    """A piece of a document: `text == prefix + part.text[start:end]`, never blank.

    Attributes:
        text: What is embedded, searched and shown.
        prefix: What is repeated from further up: the header of a table, the heading of a section.
        part: Index of its part in the document, from 0.
        start: Offset of its first character in the part.
        end: Offset behind its last.
        position: Its place in the document, from 0.
        metadata: The part's metadata, with `heading` down to the section that the chunk is in.
    """

    text: str
    prefix: str
    part: int
    start: int
    end: int
    position: int
    metadata: Mapping[str, Any]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Chunker:
    """A way of cutting documents into chunks.

    Attributes:
        strategy: `recursive` fills chunks up to `size`, cutting at sections, blocks, sentences and
            words, in this order; `markdown` also begins a chunk at every heading; `sentences` takes
            `sentences` of them at a time, `size` being the limit all the same.
        size: Tokens of a chunk at most, from 20.
        overlap: Tokens that a chunk may repeat of the one before it, in whole sentences, at most
            half of `size`; None for 32, or a quarter of `size` where that is less. Not for
            `sentences`.
        sentences: Sentences of a chunk, for `sentences`.
        sentence_overlap: How many of them the next chunk repeats.
        counter: What counts tokens.
    """

    strategy: Strategy = "recursive"
    size: int = DEFAULT_SIZE
    overlap: int | None = None
    sentences: int = 4
    sentence_overlap: int = 1
    counter: TokenCounter = ESTIMATE

    def __post_init__(self) -> None:
        if self.strategy not in ("recursive", "markdown", "sentences"):
            raise ConfigurationError(
                f"chunking strategy {self.strategy!r} is not known: "
                "use recursive, markdown or sentences"
            )
        if self.size < SMALLEST_SIZE:
            raise ConfigurationError(
                f"chunk size {self.size} is too small: give at least {SMALLEST_SIZE} tokens"
            )
        if not 0 <= self._overlap <= self.size // 2:
            raise ConfigurationError(
                f"chunk overlap {self.overlap} must be between 0 and half of the size, "
                f"{self.size // 2}"
            )
        if not 0 <= self.sentence_overlap < self.sentences:
            raise ConfigurationError(
                f"sentence overlap {self.sentence_overlap} must be between 0 and "
                f"{self.sentences - 1}, fewer than the {self.sentences} sentences of a chunk"
            )

    @classmethod
    def for_embeddings(cls, embeddings: object, **options: Any) -> Self:
        """Return a chunker that counts with the tokenizer of `embeddings`, where it has one.

        Args:
            embeddings: LangChain embeddings.
            options: Fields of the chunker. Where `size` is not among them and the model reads fewer
                tokens than the default (its `max_tokens`), the size is the most that it reads.
        """
        limit = getattr(embeddings, "max_tokens", None)
        if "size" not in options and isinstance(limit, int) and limit - 2 < DEFAULT_SIZE:
            options["size"] = max(SMALLEST_SIZE, limit - 2)
        return cls(counter=counter_for(embeddings), **options)

    @property
    def _overlap(self) -> int:
        return min(DEFAULT_OVERLAP, self.size // 4) if self.overlap is None else self.overlap

    @property
    def fingerprint(self) -> str:
        """What the chunks of a text depend on, in one line: another one means to cut again."""
        how = f"{self.strategy} size={self.size}"
        if self.strategy == "sentences":
            how += f" sentences={self.sentences}/{self.sentence_overlap}"
        else:
            how += f" overlap={self._overlap}"
        return f"chunks-{_VERSION} {how} tokens={self.counter.name}"

    def chunk(self, parts: Iterable[LoadedPart]) -> list[Chunk]:
        """Return the chunks of a document, in its order, none blank and none twice.

        Text that comes again word for word in the same document (a licence on every page, the same
        slide twice) is kept where it comes first: copies would fill the places of a search.
        """
        chunks: list[Chunk] = []
        seen: set[bytes] = set()
        for index, part in enumerate(parts):
            for packed in self._packed(part):
                start, end = packed.units[0].start, packed.units[-1].end
                text = packed.prefix + part.text[start:end]
                key = hashlib.sha256(" ".join(text.split()).encode()).digest()
                if key in seen or _says_nothing(text):
                    continue
                seen.add(key)
                chunks.append(
                    Chunk(
                        text=text,
                        prefix=packed.prefix,
                        part=index,
                        start=start,
                        end=end,
                        position=len(chunks),
                        metadata=_with_heading(part, packed),
                    )
                )
        return chunks

    def _packed(self, part: LoadedPart) -> Iterator[Packed]:
        limits = Limits(
            size=self.size,
            overlap=self._overlap,
            sentences=self.sentences if self.strategy == "sentences" else None,
            sentence_overlap=self.sentence_overlap,
            sections_apart=self.strategy == "markdown",
        )
        # Smaller than a chunk, so that a heading or a header still fits in beside the largest.
        units = find_units(part, size=self.size * 7 // 8, count=self.counter)
        return pack(units, text=part.text, limits=limits, count=self.counter)


def _says_nothing(text: str) -> bool:
    """Return whether a text is blank, or nothing but rules, brackets and the like."""
    return is_blank(text) or (text.isascii() and not any(map(str.isalnum, text)))


def _with_heading(part: LoadedPart, packed: Packed) -> dict[str, Any]:
    """Return the part's metadata with the headings above the chunk's first text."""
    metadata = dict(part.metadata)
    texts = [unit for unit in packed.units if unit.kind != "heading"] or packed.units
    above = metadata.get("heading")
    path = [above, *texts[0].path] if above else texts[0].path
    if path:
        metadata["heading"] = shorten(_SEPARATOR.join(path), _LONGEST_HEADING)
    return metadata
