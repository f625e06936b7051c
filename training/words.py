"""Comparing texts by their words alone."""

import re
import unicodedata
from collections.abc import Sequence


def words_of(text: str) -> str:
    """Return the words of `text` alone, in lower case, without accents."""
    return " ".join(re.findall(r"\w+", unicodedata.normalize("NFKD", text).lower()))


def holds(text: str, answers: Sequence[str]) -> bool:
    """Return whether any of the answers stands in `text`, word for word."""
    padded = f" {words_of(text)} "
    return any(f" {words} " in padded for answer in answers if (words := words_of(answer)))
