"""Finding where a passage merely repeats the question: that is no evidence of anything."""

from collections.abc import Sequence

import regex

from crag_graph.evaluators.local.question import Question
from crag_graph.evaluators.local.sayings import says_there_is_none, tells_nothing
from crag_graph.text.terms import Word, content_terms

_QUESTION = regex.compile(r"[^.!?。！？\n]*[?？؟]")
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+")
# Of a repeated question most terms are the question's, and most of the question's are in it.
_SHARE_OF_ECHO = 0.7
_SHARE_OF_QUESTION = 0.6
_FEWEST_WORDS = 3


def find_echoes(question: Question, strip: str, words: Sequence[Word]) -> list[tuple[int, int]]:
    """Return the spans of `strip` that repeat the question, ascending; the whole of it, or parts.

    A question in the strip that has nearly the question's terms; the question's own words in their
    order; a strip without a single term that the question has not, since it can answer nothing but
    a question for yes or no, or say that there is none; and one that says only that the answer is
    asked for, or not known. Keywords repeated word for word are no echo: "Eiffel Tower height"
    stands in many a sentence that tells the height.
    """
    asked = frozenset(question.rarity)
    if not asked:
        return []
    found = frozenset(term for word in words for term in word.terms)
    of = {"question": question.text, "kind": question.kind}
    if not question.yes_no and tells_nothing(strip, found, asked, **of):
        return [(0, len(strip))]
    if len(found & asked) < _SHARE_OF_QUESTION * len(asked):
        return []
    if found <= asked and not question.yes_no and not says_there_is_none(strip, asked, **of):
        return [(0, len(strip))]
    spans = [
        match.span()
        for match in _QUESTION.finditer(strip)
        if _repeats(set(content_terms(match[0])), asked)
    ]
    if question.asks and (verbatim := _verbatim(question.text, strip)):
        spans.extend(verbatim)
    return sorted(set(spans))


def _repeats(terms: set[str], asked: frozenset[str]) -> bool:
    return bool(terms) and len(terms & asked) >= _SHARE_OF_ECHO * len(terms)


def _verbatim(question: str, strip: str) -> list[tuple[int, int]]:
    words = [regex.escape(word) for word in _WORD.findall(question)]
    if len(words) < _FEWEST_WORDS or len(question) > len(strip) + 2:
        return []
    pattern = regex.compile(r"[^\p{L}\p{M}\p{N}]+".join(words) + r"[?？؟]?", regex.I)
    return [match.span() for match in pattern.finditer(strip)]
