"""Finding texts that say the same as an earlier one, in about linear time."""

import dataclasses
import heapq
import unicodedata
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import regex

from crag_graph.text.terms import names_and_numbers

_WORD = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}]|[\p{L}\p{M}\p{N}]+")
# What tells copies of a page apart without telling them apart: running page numbers.
_PAGE_NUMBER = regex.compile(
    r"(?i)\b(?:page|seite|p\.)\s*\d+(?:\s*(?:of|/|von)\s*\d+)?|^\W*\d+\W*$"
)
_NEGATION = regex.compile(
    r"(?i)\b(?:not?|never|neither|nor|without|cannot|\w+n['’]t|nicht|kein\w*|ohne|pas|jamais|sans"
    r"|non|nunca|sin|não|sem|niet|geen)\b"
)
_SHINGLE = 3  # words
# Of how many of the smallest hashes two texts must share how many to be compared at all. Where nine
# tenths of the hashes are the same, fewer than three of eight are shared once in 20,000 times.
_SKETCH = 8
_SHARED = 3


def repeated(texts: Sequence[str], *, similarity: float = 0.9) -> list[int | None]:
    """Return for each text the index of the first earlier one that it repeats, or None.

    A text repeats another when both have the same words in the same order, whatever the case,
    punctuation and spacing, or when the Jaccard similarity of their word triples is at least
    `similarity` and they name the same names and numbers and negate as often: a form filled in for
    someone else, or a rule with another number, is not a repetition. Of words that may be names,
    since they open a sentence, one text may have more than the other, but not each its own. Running
    page numbers do not count. Texts without words repeat nothing.
    """
    if len(texts) < 2:  # nothing to compare, and most questions keep few strips
        return [None] * len(texts)
    seen: dict[tuple[str, ...], int] = {}
    similar = _Similar(similarity)
    result: list[int | None] = []
    for index, raw in enumerate(texts):
        text = _PAGE_NUMBER.sub(" ", raw)
        words = tuple(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))
        first = seen.get(words, index)
        if first == index and words:
            first = seen[words] = similar.first_like(index, text, words)
        result.append(first if first != index else None)
    return result


@dataclasses.dataclass(frozen=True, slots=True)
class _Profile:
    shingles: frozenset[int]
    openers: frozenset[str]


class _Similar:
    """Texts by the facts that they name, then by the smallest hashes of their word triples."""

    def __init__(self, similarity: float) -> None:
        self._similarity = similarity
        self._profiles: dict[int, _Profile] = {}
        self._index: defaultdict[tuple[frozenset[str], int, int], list[int]] = defaultdict(list)

    def first_like(self, index: int, text: str, words: Sequence[str]) -> int:
        """Return the first text that this one is like; its own index when there is none."""
        facts = names_and_numbers(text, opening=False)
        profile = _Profile(frozenset(_shingles(words)), names_and_numbers(text) - facts)
        negations = sum(1 for _ in _NEGATION.finditer(text))
        keys = [(facts, negations, part) for part in heapq.nsmallest(_SKETCH, profile.shingles)]
        shared = Counter(other for key in keys for other in self._index[key])
        for other in sorted(shared):
            enough = shared[other] >= min(_SHARED, len(keys))
            if enough and self._alike(profile, self._profiles[other]):
                return other
        # Only originals are compared with: a chain of small changes is not one text.
        self._profiles[index] = profile
        for key in keys:
            self._index[key].append(index)
        return index

    def _alike(self, one: _Profile, other: _Profile) -> bool:
        if not (one.openers <= other.openers or other.openers <= one.openers):
            return False
        common = len(one.shingles & other.shingles)
        union = len(one.shingles) + len(other.shingles) - common
        return common >= self._similarity * union


def _shingles(words: Sequence[str]) -> Iterable[int]:
    last = max(1, len(words) - _SHINGLE + 1)
    for start in range(last):
        # crc32, since the hash of a string differs from process to process.
        yield zlib.crc32(" ".join(words[start : start + _SHINGLE]).encode("utf-8", "replace"))
