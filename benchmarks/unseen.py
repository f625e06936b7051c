"""Which questions the fit of the local evaluator never saw."""

import hashlib

from training.labelled import FITTED, FOLDS
from training.words import words_of


def is_unseen(question: str) -> bool:
    """Return whether the question is in none of the folds that are fitted on."""
    digest = hashlib.sha256(words_of(question).encode()).hexdigest()
    return int(digest, 16) % FOLDS not in FITTED
