"""What of a passage the local evaluator reads: its strips, their words, and windows over them."""

import dataclasses
import functools
from collections import Counter
from collections.abc import Callable, Sequence

from crag_graph.evaluators.base import Passage
from crag_graph.evaluators.local.echo import find_echoes
from crag_graph.evaluators.local.question import Question, fits_kind
from crag_graph.models.injection import addresses_reader
from crag_graph.state import Strip
from crag_graph.text.strips import strip_context
from crag_graph.text.terms import Word, content_words
from crag_graph.text.tokens import estimate_tokens

# What is longer is read at its start and where the question's terms are. 1,500 tokens are read in
# about 0.2 s on two cores.
_MOST_TOKENS = 1500
_HEAD_TOKENS = 375
_MOST_CHARACTERS = 6000
# What the encoder takes, less its two marks and a few for a title cut by characters.
_WINDOW_TOKENS = 250
_TITLE_CHARACTERS = 160

# Finding the words takes as long as the features made of them, and popular passages come again.
_words = functools.lru_cache(maxsize=2048)(content_words)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Piece:
    """One strip that is read.

    Attributes:
        id: The strip's id; empty for a passage that came without strips.
        start: Its offset in the passage.
        text: Its text.
        terms: Its content terms, without those of an echo.
        named: Those of them that are names, numbers or codes.
        around: The terms of its title, headings and table header.
        echoes: Spans of the text that only repeat the question.
        fits: Whether it holds what may be the answer, by its kind: 1, 0 or −1.
    """

    id: str
    start: int
    text: str
    terms: frozenset[str]
    named: frozenset[str]
    around: frozenset[str]
    echoes: tuple[tuple[int, int], ...]
    fits: float

    @property
    def empty(self) -> bool:
        """Whether nothing is left of it without the echoes."""
        covered = sum(end - start for start, end in self.echoes)
        return bool(self.echoes) and covered >= len(self.text.strip())


@dataclasses.dataclass(frozen=True, kw_only=True)
class Reading:
    """What is read of one passage.

    Attributes:
        passage: The passage.
        pieces: The strips that are read, in the order of the text; none of a blank passage.
        title: The terms of its title.
        skipped: How many strips are not read, since the passage is too long.
        withheld: The ids of strips that are not read, since they give orders to their reader.
    """

    passage: Passage
    pieces: tuple[Piece, ...]
    title: frozenset[str]
    skipped: int = 0
    withheld: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Window:
    """Strips that the encoder reads together: `lead` is the title before them."""

    lead: str
    first: int
    last: int
    text: str


def read_passage(question: Question, passage: Passage) -> Reading:
    """Return what is read of `passage`: all of it, or the promising parts of a long one."""
    if not passage.text.strip():
        return Reading(passage=passage, pieces=(), title=frozenset())
    spans: list[tuple[int, int, Strip | None]] = [
        (strip["start"], strip["end"], strip) for strip in passage.strips if strip["text"].strip()
    ]
    spans = spans or [(0, min(len(passage.text), _MOST_CHARACTERS), None)]
    orders = [span for span in spans if addresses_reader(passage.text[span[0] : span[1]])]
    spans = [span for span in spans if span not in orders]
    chosen = spans
    if estimate_tokens(passage.text) > _MOST_TOKENS:
        wanted = _promising(question, [passage.text[start:end] for start, end, _ in spans])
        chosen = [spans[position] for position in wanted]
    title = frozenset(_terms(_words(passage.title[:_TITLE_CHARACTERS])))
    pieces = tuple(
        _piece(question, passage.text[start:end], start, _around(passage, strip) | title, strip)
        for start, end, strip in chosen
    )
    return Reading(
        passage=passage,
        pieces=pieces,
        title=title,
        skipped=len(spans) - len(chosen),
        withheld=tuple(strip["id"] if strip else "" for _, _, strip in orders),
    )


def windows(reading: Reading, count_tokens: Callable[[str], int]) -> list[Window]:
    """Return the pieces in windows that the encoder reads whole, each led by the title."""
    lead = reading.passage.title[:_TITLE_CHARACTERS].strip()
    lead = f"{lead}. " if lead else ""
    room = _WINDOW_TOKENS - count_tokens(lead)
    found: list[Window] = []
    first, tokens = 0, 0
    for position, piece in enumerate(reading.pieces):
        size = count_tokens(piece.text)
        if position > first and (
            tokens + size > room or _apart(reading, reading.pieces[position - 1], piece)
        ):
            found.append(_window(reading, lead, first, position - 1))
            first, tokens = position, 0
        tokens += size
    if reading.pieces:
        found.append(_window(reading, lead, first, len(reading.pieces) - 1))
    return found


def _window(reading: Reading, lead: str, first: int, last: int) -> Window:
    start, end = reading.pieces[first].start, reading.pieces[last]
    text = reading.passage.text[start : end.start + len(end.text)]
    return Window(lead=lead, first=first, last=last, text=lead + text)


def _apart(reading: Reading, before: Piece, after: Piece) -> bool:
    """Return whether strips that are not read lie between the two."""
    between = reading.passage.text[before.start + len(before.text) : after.start]
    return bool(between.strip())


def _piece(
    question: Question, text: str, start: int, around: frozenset[str], strip: Strip | None
) -> Piece:
    words = _words(text)
    echoes = tuple(find_echoes(question, text, words))
    kept = text
    for begin, end in reversed(echoes):
        kept = f"{kept[:begin]} {kept[end:]}"
    if echoes:
        words = content_words(kept)
    return Piece(
        id=strip["id"] if strip else "",
        start=start,
        text=text,
        terms=frozenset(_terms(words)),
        named=frozenset(_terms([word for word in words if word.named])),
        around=around,
        echoes=echoes,
        fits=fits_kind(question, kept, words),
    )


def _around(passage: Passage, strip: Strip | None) -> frozenset[str]:
    if strip is None or not any(mark in passage.text for mark in "#|="):
        return frozenset()
    return frozenset(_terms(_words(strip_context(passage.text, strip))))


def _terms(words: Sequence[Word]) -> list[str]:
    return [term for word in words for term in word.terms]


def _promising(question: Question, texts: Sequence[str]) -> list[int]:
    """Return the positions of the strips at the start and of those with the question's terms."""
    found = [set(_terms(content_words(text))) & question.rarity.keys() for text in texts]
    holders = Counter(term for terms in found for term in terms)
    worth = [sum(question.rarity[term] / holders[term] for term in terms) for terms in found]
    sizes = [estimate_tokens(text) for text in texts]
    chosen: set[int] = set()
    room = _MOST_TOKENS
    for position, size in enumerate(sizes):
        if chosen and _MOST_TOKENS - room + size > _HEAD_TOKENS:
            break
        chosen.add(position)
        room -= size
    for position in sorted(range(len(texts)), key=lambda position: (-worth[position], position)):
        if not worth[position]:
            break
        # What comes just before and after explains a strip: who "he" is, what "it" was.
        for near in (position, position - 1, position + 1):
            if 0 <= near < len(texts) and near not in chosen and sizes[near] <= room:
                chosen.add(near)
                room -= sizes[near]
    return sorted(chosen)
