"""A question as the local evaluator sees it: weighted terms, names, and the answer it expects."""

import dataclasses
import functools
import math
import unicodedata
from collections.abc import Callable, Mapping, Sequence

import regex

from crag_graph.text.clean import clean_text
from crag_graph.text.terms import Word, content_words, names_and_numbers

# BERT's vocabulary lists its whole words from here on by falling frequency ("the" is the first),
# which makes it a frequency list that is loaded anyway.
_FIRST_WORD = 1996
_VOCABULARY = 30522
_UNKNOWN_RARITY = 0.5

_MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
_NUMERALS = (
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty"
    "|hundred|thousand|million|billion|first|second|third|once|twice"
)


@dataclasses.dataclass(frozen=True)
class _Kind:
    """A kind of answer: what asks for it, and what a strip that may hold it looks like."""

    name: str
    asked: regex.Pattern[str]
    looks: regex.Pattern[str] | None


def _kind(name: str, asked: str, looks: str | None) -> _Kind:
    pattern = None if looks is None else regex.compile(looks, regex.I)
    return _Kind(name, regex.compile(asked, regex.I), pattern)


_KINDS = (
    _kind(
        "date",
        r"\b(?:when|(?:what|which) (?:year|date|day|month|time|decade|century|season)"
        r"|release date|birthday|date of)\b",
        rf"\b(?:1[0-9]{{3}}|20[0-9]{{2}})s?\b|\b(?:{_MONTHS})\b|\bcentury\b",
    ),
    _kind(
        "number",
        r"\bhow (?:many|much|long|old|far|tall|high|big|large|fast|often|deep|wide|heavy|hot|cold"
        r"|close)\b|\b(?:what|which) (?:(?:is|was|are) (?:the )?)?(?:average |total )?"
        r"(?:number|percent\w*|age|population|distance|size|height|speed|rate|temperature|cost"
        r"|price|capacity|length|weight|salary|income|value|area|score)\b",
        rf"\d[\d.,]*|\b(?:{_NUMERALS})\b",
    ),
    _kind(
        "name",
        r"\b(?:who|whose|whom|what (?:is|was) the name|(?:what|which) (?:\w+ )?(?:team|company"
        r"|person|player|actor|actress|band|artist|author|president|king|queen|character|singer"
        r"|director|writer|composer))\b",
        None,
    ),
    _kind(
        "place",
        r"\b(?:where|(?:what|which) (?:\w+ )?(?:city|country|state|county|river|island|continent"
        r"|town|place|location|region|stadium|university|school|college))\b",
        None,
    ),
    _kind(
        "reason",
        r"\bwhy\b|\b(?:what|which) (?:(?:is|was|are|were) )?(?:the )?(?:causes?|reasons?)\b",
        r"\b(?:because|due to|caus\w+|result\w*|reasons?|since|so that|in order to|therefore"
        r"|consequence|led to)\b",
    ),
    _kind(
        "definition",
        r"^what (?:is|are|was|were) (?!(?:the|my|our|your|his|her|its|their|this|that|there)\b)"
        r"|^(?:define|definition|meaning)\b|\bmean(?:s|ing)?\b|\bstands? for\b|\bdefinition\b",
        r"\b(?:is|are|was|were) (?:an?|the|any|one|used)\b|\b(?:means|refers to|stands for"
        r"|known as|defined as|is when|abbreviat\w+|acronym|describ\w+|consists? of)\b",
    ),
)
_PLACED = regex.compile(r"\b(?:in|at|near|from|of|to|on|into|across|through) (?:the )?\p{Lu}")
_ASKS = regex.compile(r"[?？؟]\s*$|^\s*(?:who|whose|whom|what|when|where|why|which|how)\b", regex.I)
_YES_NO = regex.compile(
    r"^\s*(?:is|are|was|were|am|do|does|did|can|could|has|have|had|will|would|shall|should|may"
    r"|might|must)\b",
    regex.I,
)
_LETTER = regex.compile(r"\p{L}")
_LATIN = regex.compile(r"\p{Latin}")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Question:
    """A question, taken apart.

    Attributes:
        text: In compatibility form (NFKC), to which the words' offsets refer.
        words: Its content words, in their order.
        rarity: Content term → how rare it is in English at large, 0–1.
        named: Its names, numbers and codes, as terms.
        kind: The kind of answer that it asks for, or "" where that cannot be told.
        asks: Whether it has the form of a question, rather than of keywords.
        yes_no: Whether yes or no would answer it.
        latin: Whether it is in Latin letters for the most part, those the encoder was trained on.
    """

    text: str
    words: tuple[Word, ...]
    rarity: dict[str, float]
    named: frozenset[str]
    kind: str
    asks: bool
    yes_no: bool
    latin: bool

    def weigh(self, per_term: Mapping[str, float], offsets: Sequence[Sequence[int]]) -> list[float]:
        """Return a weight for each token of the question, 0 for those of function words.

        A question of function words alone has the same weight for each.

        Args:
            per_term: The weight of each term; a word of several terms gets their mean.
            offsets: Where each token starts and ends in `text`.
        """
        weights = []
        for start, end in offsets:
            word = self._word_at(start, end)
            terms = word.terms if word else ()
            weights.append(sum(per_term[term] for term in terms) / len(terms) if terms else 0.0)
        return weights if any(weights) else [1.0] * len(weights)

    def _word_at(self, start: int, end: int) -> Word | None:
        for word in self.words:
            if start < word.start + len(word.surface) and end > word.start:
                return word
        return None


def read_question(question: str, token_ids: Callable[[str], list[int]]) -> Question:
    """Return the question, taken apart; `token_ids` is the encoder's tokeniser."""
    text = unicodedata.normalize("NFKC", clean_text(question)).strip()
    words = tuple(content_words(text))
    terms = dict.fromkeys(term for word in words for term in word.terms)
    letters = len(_LETTER.findall(text))
    return Question(
        text=text,
        words=words,
        rarity={term: rarity(term, token_ids) for term in terms},
        named=names_and_numbers(text, opening=False),
        kind=next((kind.name for kind in _KINDS if kind.asked.search(text)), ""),
        asks=_ASKS.search(text) is not None,
        yes_no=_YES_NO.search(text) is not None,
        latin=not letters or 2 * len(_LATIN.findall(text)) >= letters,
    )


@functools.lru_cache(maxsize=8192)
def rarity(term: str, token_ids: Callable[[str], list[int]]) -> float:
    """Return how rare `term` is in English at large: near 0 for "the", 1 for a word of pieces."""
    ids = token_ids(term)
    if len(ids) > 1:
        return 1.0
    if not ids or ids[0] < _FIRST_WORD:
        return _UNKNOWN_RARITY
    return max(0.05, math.log(1 + ids[0] - _FIRST_WORD) / math.log(_VOCABULARY - _FIRST_WORD))


def fits_kind(question: Question, strip: str, words: Sequence[Word]) -> float:
    """Return whether the strip holds what may be the answer, by its kind: 1, 0 or −1.

    What the question itself says does not count. 0 is said where the kind of the answer cannot be
    told, and where the only name is a capital at the start of a sentence.
    """
    if question.kind in ("name", "place"):
        new = [
            word
            for word in words
            if word.named
            and not any(term in question.rarity or term[0].isdigit() for term in word.terms)
        ]
        if question.kind == "place":
            return -1.0 if not new else 1.0 if _PLACED.search(strip) else 0.3
        return -1.0 if not new else float(any(not word.opening for word in new))
    looks = next((kind.looks for kind in _KINDS if kind.name == question.kind), None)
    if looks is None:
        return 0.0
    if question.kind in ("reason", "definition"):
        return 1.0 if looks.search(strip) else -1.0
    asked = question.text.casefold()
    return 1.0 if any(m[0].casefold() not in asked for m in looks.finditer(strip)) else -1.0
