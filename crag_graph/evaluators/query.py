"""From what a model writes to a query for the web that is never worse than none."""

import re
import unicodedata
from collections.abc import Sequence

from crag_graph.text.clean import clean_text, shorten
from crag_graph.text.keywords import keyword_query
from crag_graph.text.terms import content_terms

LONGEST_QUERY = 400
"""Characters; Tavily and Brave refuse longer ones."""

_MOST_WORDS = 40  # more is an answer or an explanation, not a query
_LABEL = re.compile(
    r"^(?:(?:the |my |a )?(?:web |search |rewritten |final |best )*"
    r"(?:quer(?:y|ies)|keywords?|search)(?: \d+)?|q\d*)\s*[:=-]\s*",
    re.I,
)
_BULLET = re.compile(r"^\s*(?:[-*•–]|\(?\d{1,2}[.):]|[a-c][.)])\s+")
_CHATTER = re.compile(
    r"^(?:sure|certainly|of course|here (?:are|is)|okay|ok\b|i (?:would|can|cannot|can't|think|am)|"
    r"sorry|as an ai|to answer|based on|note:|explanation|this query)",
    re.I,
)
_FENCE = re.compile(r"^\s*```\w*\s*$")
_QUOTES = "\"'`“”„«»‘’"
_OPERATOR = re.compile(r"(?i)\b(?:site|inurl|intitle|filetype|cache|related):\S+")
_ADDRESS = re.compile(r"(?i)\b(?:https?://|www\.)\S+|\S+@\S+\.\w+")
_YEAR = re.compile(r"(?:19|20)\d\d")
_SENTENCE = re.compile(r"[.!?](?:\s|$)")


def usable_queries(raw: Sequence[str], *, question: str, year: int, most: int) -> list[str]:
    """Return at most `most` queries from what a model wrote, cleaned; none when none is of use.

    A query is one line of keywords without labels, bullets, quotation marks around it, or chatter.
    Web addresses, e-mail addresses, search operators and numbers that the question does not hold
    are taken out: they were made up, or come from a passage and are nobody's business outside. The
    years from last year to next year may stay. What shares no word with the question is dropped.

    Args:
        raw: Lines or whole replies.
        question: What they are to find.
        year: The year that it is.
        most: How many are wanted.
    """
    found: dict[str, None] = {}
    asked = frozenset(content_terms(question))
    for text in raw:
        for line in _lines(text):
            query = _cleaned(line, question, asked, year)
            if query and _is_query(query, asked):
                found.setdefault(query)
    return list(found)[:most]


def own_query(question: str) -> str:
    """Return the query that the question itself makes."""
    return keyword_query(question, limit=LONGEST_QUERY)


def _lines(text: str) -> list[str]:
    """Return the lines that may be queries: list items where there are some, else the others."""
    lines = [line.strip() for line in clean_text(text).splitlines() if not _FENCE.match(line)]
    items = [_BULLET.sub("", line) for line in lines if _BULLET.match(line)]
    candidates = items or lines
    plain = [line.replace("**", "").replace("__", "").strip() for line in candidates]
    stripped = [_LABEL.sub("", line).strip() for line in plain]
    return [line for line in stripped if line and not _CHATTER.match(line.lstrip(_QUOTES))]


def _cleaned(line: str, question: str, asked: frozenset[str], year: int) -> str:
    line = unicodedata.normalize("NFC", line)
    if line[0] in _QUOTES and line[-1] in _QUOTES and line.count(line[0]) <= 2:
        line = line[1:-1]
    line = _ADDRESS.sub(" ", line) if not _ADDRESS.search(question) else line
    line = _OPERATOR.sub(" ", line) if not _OPERATOR.search(question) else line
    words = [word for word in line.split() if _may_stay(word, asked, year)]
    return shorten(" ".join(words), LONGEST_QUERY) if words else ""


def _may_stay(word: str, asked: frozenset[str], year: int) -> bool:
    if not any(character.isdigit() for character in word):
        return True
    bare = word.strip(".,;:!?()[]\"'")
    if _YEAR.fullmatch(bare) and abs(int(bare) - year) <= 1:
        return True
    return any(term in asked for term in content_terms(bare) if any(c.isdigit() for c in term))


def _is_query(query: str, asked: frozenset[str]) -> bool:
    words = query.split()
    if len(words) > _MOST_WORDS or len(_SENTENCE.findall(query)) > 1:
        return False
    return not asked or not asked.isdisjoint(content_terms(query))
