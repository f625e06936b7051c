"""The queries of a run: taken apart, kept within the budget, never the same one twice."""

from collections.abc import Sequence

import regex

from crag_graph.search.base import MAX_QUERY_CHARACTERS
from crag_graph.text.clean import clean_text, is_blank, shorten
from crag_graph.text.keywords import keyword_query
from crag_graph.text.terms import content_terms, content_words

_BULLET = regex.compile(r"^\s*(?:[-*•–]\s+|\(?\d{1,2}[.)]\s+)")
_WORD = regex.compile(r"\w+")
_QUOTED = regex.compile(r"^([\"'`])([^\"'`]+)\1$")


def sub_queries(raw: object) -> list[str]:
    """Return the queries in `raw`, each once, each at most 400 characters.

    Args:
        raw: Text with one query a line, or a list of such texts; whoever wrote it, a model or a
            person in Studio, may have numbered or quoted them. Anything else holds no query.
    """
    texts = raw if isinstance(raw, list | tuple) else [raw]
    found: dict[frozenset[str], str] = {}
    for text in texts:
        for line in clean_text(text).splitlines() if isinstance(text, str) else ():
            query = " ".join(_QUOTED.sub(r"\2", _BULLET.sub("", line).strip()).split())
            if not is_blank(query):
                found.setdefault(query_key(query), shorten(query, MAX_QUERY_CHARACTERS))
    return list(found.values())


def query_key(query: str) -> frozenset[str]:
    """Return what tells queries apart: their content words, in whatever order and case."""
    return frozenset(content_terms(query)) or frozenset(_WORD.findall(query.casefold()))


def fitted(queries: Sequence[str], most: int) -> list[str]:
    """Return `queries` in at most `most`, from 1: those beyond are merged into the last.

    A word that the merged query holds already is not repeated in it.
    """
    if len(queries) <= most:
        return list(queries)
    words: dict[str, str] = {}
    for query in queries[most - 1 :]:
        for word in query.split():
            words.setdefault(word.casefold(), word)
    return [*queries[: most - 1], shorten(" ".join(words.values()), MAX_QUERY_CHARACTERS)]


def another_query(question: str, used: Sequence[str], suggested: str = "") -> str | None:
    """Return a query for `question` that differs from all of `used`; None when there is none.

    Tried in this order: what was suggested, the question's keywords, two thirds of these, half of
    them. A query with the same content words is the same query.
    """
    keys = {query_key(query) for query in used}
    candidates = [*sub_queries(suggested), keyword_query(question), *_broader(question)]
    for query in candidates:
        if query and query_key(query) not in keys:
            return query
    return None


def _broader(question: str) -> list[str]:
    """Return queries with fewer of the question's words, which more pages match.

    Two thirds of the words, then half of them: names and numbers first, then the longest.
    """
    words = content_words(question)
    ranked = sorted(words, key=lambda word: (not word.named, -len(word.surface)))
    sizes = (-(-2 * len(words) // 3), len(words) // 2)
    kept = [sorted(ranked[: max(2, size)], key=lambda word: word.start) for size in sizes]
    return [
        shorten(" ".join(dict.fromkeys(word.surface for word in group)), MAX_QUERY_CHARACTERS)
        for group in kept
        if group
    ]
