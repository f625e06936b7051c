"""The evidence that needs no vectors: which of the question's terms stand where, and how rare."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from crag_graph.evaluators.local.pieces import Piece, Reading
from crag_graph.evaluators.local.question import Question

# The share of a term's weight that does not depend on how many of the candidate strips hold it.
_FIXED_SHARE = 0.2
_NO_NAMES = 0.5


def term_weights(question: Question, readings: Sequence[Reading]) -> dict[str, float]:
    """Return the weight of each term: rarity in English, and among the candidate strips.

    A term that every candidate holds says nothing about which of them answers.
    """
    total = sum(len(reading.pieces) for reading in readings)
    holders = Counter(
        term
        for reading in readings
        for piece in reading.pieces
        for term in piece.terms & question.rarity.keys()
    )
    most = math.log((total + 1) / 0.5)
    return {
        term: rarity
        * (_FIXED_SHARE + (1 - _FIXED_SHARE) * math.log((total + 1) / (holders[term] + 0.5)) / most)
        for term, rarity in question.rarity.items()
    }


def beyond_title(question: Question, title: frozenset[str]) -> dict[str, float]:
    """Return the rarity of the terms that the title does not hold; of all where it holds all."""
    left = {term: 0.0 if term in title else rarity for term, rarity in question.rarity.items()}
    return left if any(left.values()) else question.rarity


def lexical_row(question: Question, weights: Mapping[str, float], piece: Piece) -> list[float]:
    """Return the features of a strip that need no vectors, from `coverage` on."""
    near = piece.terms | piece.around
    return [
        share(weights, near),
        share_of_names(question, near),
        piece.fits,
        len(piece.terms - question.rarity.keys()) / max(1, len(piece.terms)),
        math.log1p(len(piece.terms)),
    ]


def share(weights: Mapping[str, float], held: frozenset[str]) -> float:
    """Return the share of the terms in `held`, by weight."""
    total = sum(weights.values())
    return sum(weight for term, weight in weights.items() if term in held) / total if total else 0.0


def share_of_names(question: Question, held: frozenset[str]) -> float:
    """Return the share of the question's names and numbers in `held`; a half where it has none."""
    if not question.named:
        return _NO_NAMES
    return len(question.named & held) / len(question.named)


def share_of_numbers(question: Question, held: frozenset[str]) -> float:
    """Return the share of the question's numbers and codes in `held`; 1 where it has none."""
    asked = {term for term in question.named if any(map(str.isdigit, term))}
    return len(asked & held) / len(asked) if asked else 1.0
