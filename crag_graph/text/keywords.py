"""A keyword query for the web, made without a model."""

import unicodedata
from collections.abc import Iterator

import regex

from crag_graph.text.clean import clean_text, shorten
from crag_graph.text.language import fold
from crag_graph.text.terms import Word, content_terms, content_words, names_and_numbers

__all__ = ["content_terms", "keyword_query", "names_and_numbers"]

# A longer query finds fewer pages, not better ones; Brave's API refuses more than 50 words.
_MOST_WORDS = 24
# In capitals these are orders to a search engine.
_OPERATORS = frozenset({"AND", "OR", "NOT", "NEAR"})
_QUOTED = regex.compile(r"[\"“„«「『]([^\"“”„«»「」『』\n]{2,100})[\"”“»」』]")
_SENTENCE_END = regex.compile(r"[.!?…](?=\s)|[。！？।\n]")


def keyword_query(question: str, *, limit: int = 400) -> str:
    """Return a query for the web made from `question` alone, in at most `limit` characters.

    Quoted phrases, names, numbers and the other content words, each once, in the order of the
    question and without function words. Where it is too long, the sentence that asks comes first,
    then names and numbers, then long words. A question of function words alone is its own query;
    the result is empty only when the question is blank.

    Raises:
        ValueError: `limit` is not at least 1.
    """
    if limit < 1:
        raise ValueError(f"limit must be at least 1, not {limit}")
    text = unicodedata.normalize("NFKC", clean_text(question))
    units = list(_units(text))
    order = sorted(range(len(units)), key=_Rank(text, units))
    chosen: list[int] = []
    characters, words = -1, 0
    for index in order:
        surface = units[index].surface
        if characters + 1 + len(surface) <= limit and words < _MOST_WORDS:
            chosen.append(index)
            characters += 1 + len(surface)
            words += 1 + surface.count(" ")
    query = " ".join(units[index].surface for index in sorted(chosen))
    return query or shorten(units[order[0]].surface if units else text, limit)


def _units(text: str) -> Iterator[Word]:
    """Yield quoted phrases whole, and the content words between them, each unit once."""
    seen: set[str] = set()
    for unit in sorted([*_outside_quotes(text), *_phrases(text)], key=lambda unit: unit.start):
        key = fold(unit.surface)
        if key not in seen:
            seen.add(key)
            yield unit


def _phrases(text: str) -> Iterator[Word]:
    for match in _QUOTED.finditer(text):
        if phrase := match[1].strip():
            yield Word(
                surface=f'"{phrase}"', start=match.start(), terms=(), named=True, opening=False
            )


def _outside_quotes(text: str) -> Iterator[Word]:
    spans = [match.span() for match in _QUOTED.finditer(text)]
    position = 0
    for word in content_words(text):
        while position < len(spans) and spans[position][1] <= word.start:
            position += 1
        quoted = position < len(spans) and word.start >= spans[position][0]
        if not quoted and word.surface not in _OPERATORS:
            yield word


class _Rank:
    """Orders units by what a query that must be cut can least do without."""

    def __init__(self, text: str, units: list[Word]) -> None:
        self._units = units
        self._start, self._end = _asking_sentence(text)

    def __call__(self, index: int) -> tuple[int, int, int]:
        unit = self._units[index]
        if self._start <= unit.start < self._end:
            return 0, 0, index
        return (1, 0, index) if unit.named else (2, -len(unit.surface), index)


def _asking_sentence(text: str) -> tuple[int, int]:
    """Return the span of the last sentence with a question mark, else of the last sentence."""
    text = text.rstrip()
    last = max(text.rfind(mark) for mark in "?？؟")
    end = last if last >= 0 else len(text) - 1
    ends = [match.end() for match in _SENTENCE_END.finditer(text, 0, max(0, end))]
    return ends[-1] if ends else 0, end + 1
