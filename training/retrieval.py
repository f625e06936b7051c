"""What competes for a question: hybrid search over a small corpus, and the baselines' scores."""

import functools
import math
from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from crag_graph.evaluators.base import Passage
from crag_graph.models.local.minilm import DIMENSION, Keep, MiniLM, TokenVectors
from crag_graph.text.keywords import content_terms

_K1, _B = 1.2, 0.75  # the usual values (Robertson and Zaragoza 2009)
_DEPTH = 40


class RememberingMiniLM(MiniLM):
    """The encoder, which keeps what it has encoded: a passage competes for many questions."""

    def __init__(self, *, threads: int | None = None) -> None:
        super().__init__(threads=threads)
        self._known: dict[
            str, tuple[NDArray[np.float16], NDArray[np.int32], NDArray[np.float32]]
        ] = {}
        self._pooled: dict[str, NDArray[np.float32]] = {}
        self._counts: dict[str, int] = {}

    def token_vectors(self, texts: Sequence[str], *, keep: Keep = "start") -> list[TokenVectors]:
        """Return the token vectors of `texts`, those not seen before from the model.

        They are kept with half precision: all sets are about a gigabyte so.
        """
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        for text, found in zip(new, super().token_vectors(new, keep=keep), strict=True):
            self._known[text] = (found.vectors.astype(np.float16), found.offsets, found.pooled)
            self._pooled[text] = found.pooled
        return [
            TokenVectors(vectors=vectors.astype(np.float32), offsets=offsets, pooled=pooled)
            for vectors, offsets, pooled in (self._known[text] for text in texts)
        ]

    def embed(self, texts: Sequence[str], *, keep: Keep = "start") -> NDArray[np.float32]:
        """Return the vectors of `texts`, those not seen before from the model."""
        new = [text for text in dict.fromkeys(texts) if text not in self._pooled]
        self._pooled.update(zip(new, super().embed(new, keep=keep), strict=True))
        return np.array([self._pooled[text] for text in texts]).reshape(-1, DIMENSION)

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of `text`."""
        if text not in self._counts:
            self._counts[text] = super().count_tokens(text)
        return self._counts[text]


class BM25:
    """BM25 over content terms, with the statistics of `texts`."""

    def __init__(self, texts: Sequence[str]) -> None:
        counts = [Counter(content_terms(text)) for text in texts]
        self._lengths = np.array([sum(count.values()) for count in counts], dtype=float)
        self._mean = max(1.0, float(self._lengths.mean()))
        self._postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for index, count in enumerate(counts):
            for term, frequency in count.items():
                self._postings[term].append((index, frequency))

    def scores(self, question: str) -> NDArray[np.float64]:
        """Return the score of every text for `question`."""
        total = len(self._lengths)
        found = np.zeros(total)
        for term in set(content_terms(question)):
            postings = self._postings.get(term, [])
            holders = len(postings)
            idf = math.log(1 + (total - holders + 0.5) / (holders + 0.5))
            for index, frequency in postings:
                norm = _K1 * (1 - _B + _B * self._lengths[index] / self._mean)
                found[index] += idf * frequency * (_K1 + 1) / (frequency + norm)
        return found


@functools.cache
def encoder() -> RememberingMiniLM:
    """Return the encoder of this run."""
    return RememberingMiniLM()


def candidates(questions: Sequence[str], corpus: Sequence[Passage]) -> list[list[Passage]]:
    """Return what dense and sparse search find for each question, taken by turns."""
    texts = [
        f"{passage.title}. {passage.text}" if passage.title else passage.text for passage in corpus
    ]
    likeness = encoder().embed(questions) @ encoder().embed(texts).T
    bm25 = BM25(texts)
    found = []
    for row, question in zip(likeness, questions, strict=True):
        dense = np.argsort(-row, kind="stable")[:_DEPTH]
        sparse = np.argsort(-bm25.scores(question), kind="stable")[:_DEPTH]
        order = dict.fromkeys(
            int(index) for pair in zip(dense, sparse, strict=True) for index in pair
        )
        found.append([corpus[index] for index in order])
    return found
