"""Hybrid retrieval in memory, for questions that bring passages of their own."""

import math
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence

import numpy as np
from langchain_core.documents import Document
from numpy.typing import NDArray

from crag_graph.errors import InputError
from crag_graph.evaluation.examples import Example
from crag_graph.evaluation.gold import PASSAGE
from crag_graph.models.embeddings import NamedEmbeddings
from crag_graph.retrieval.fusion import fuse
from crag_graph.retrieval.index import DENSE, SPARSE, Filter, Scored
from crag_graph.settings import Settings
from crag_graph.text.terms import content_terms

EXAMPLE = "example"
"""The field of the filter, and of the metadata, that says whose passages are meant."""

_K1, _B = 1.2, 0.75  # the usual values (Robertson and Zaragoza 2009)
_KEPT = 256  # questions whose vectors are kept: both arms ask, and others meanwhile


class OwnPassages:
    """A retriever over the passages of one question at a time, which the filter names.

    They are ranked as the product ranks a collection, dense and BM25 fused by the settings of the
    run; BM25 has its statistics from the question's own passages.

    Args:
        examples: The questions with their passages.
        embeddings: Makes the dense vectors.
    """

    name: str | None = "own passages"

    def __init__(self, examples: Sequence[Example], *, embeddings: NamedEmbeddings) -> None:
        self._examples = {example.id: example for example in examples}
        self._embeddings = embeddings
        self._vectors: OrderedDict[str, NDArray[np.float64]] = OrderedDict()

    def prepare(self, example: Example) -> None:
        """Embed the passages of `example`, as ingestion would have done before the question."""
        if example.id not in self._vectors and example.passages:
            texts = [passage.text for passage in example.passages]
            self._vectors[example.id] = np.array(self._embeddings.embed_documents(texts))
            while len(self._vectors) > _KEPT:
                self._vectors.popitem(last=False)

    def retrieve(
        self, question: str, *, settings: Settings, where: Filter | None = None
    ) -> list[Document]:
        """Return at most `settings.top_k` of the passages, best first."""
        example = self._example(where)
        vector = self._embeddings.embed_query(question) if _by_meaning(settings) else None
        return self._ranked(example, question, vector, settings)

    async def aretrieve(
        self, question: str, *, settings: Settings, where: Filter | None = None
    ) -> list[Document]:
        """Return what `retrieve` does."""
        example = self._example(where)
        vector = await self._embeddings.aembed_query(question) if _by_meaning(settings) else None
        return self._ranked(example, question, vector, settings)

    def is_empty(self) -> bool:
        """Return whether there is no passage at all."""
        return not any(example.passages for example in self._examples.values())

    def _example(self, where: Filter | None) -> Example:
        example = self._examples.get(str((where or {}).get(EXAMPLE)))
        if example is None:
            raise InputError(f"the filter must name the question, as in {{'{EXAMPLE}': 'q1'}}")
        self.prepare(example)
        return example

    def _ranked(
        self, example: Example, question: str, vector: list[float] | None, settings: Settings
    ) -> list[Document]:
        weight = {"hybrid": settings.dense_weight, "dense": 1.0, "sparse": 0.0}
        dense = weight[settings.retrieval_mode]
        lists: dict[str, list[Scored]] = {}
        if vector is not None:
            lists[DENSE] = _scored(_cosines(self._vectors[example.id], vector))
        texts = [passage.text for passage in example.passages]
        lists[SPARSE] = [hit for hit in _scored(bm25(question, texts)) if hit.score > 0]
        fused = fuse(lists, weights={DENSE: dense, SPARSE: 1.0 - dense})
        return [_document(example, int(item.id), item.score) for item in fused[: settings.top_k]]


def bm25(question: str, texts: Sequence[str]) -> list[float]:
    """Return the BM25 score of each text, with the statistics of `texts`."""
    counts = [Counter(content_terms(text)) for text in texts]
    average = max(1.0, sum(count.total() for count in counts) / max(1, len(counts)))
    terms = set(content_terms(question))
    holders = {term: sum(term in count for count in counts) for term in terms}
    rarity: Mapping[str, float] = {
        term: math.log(1 + (len(texts) - holding + 0.5) / (holding + 0.5))
        for term, holding in holders.items()
    }
    return [
        sum(
            rarity[term] * count[term] * (_K1 + 1)
            / (count[term] + _K1 * (1 - _B + _B * count.total() / average))
            for term in terms
        )
        for count in counts
    ]  # fmt: skip


def _by_meaning(settings: Settings) -> bool:
    return settings.retrieval_mode != "sparse"


def _cosines(vectors: NDArray[np.float64], vector: Sequence[float]) -> list[float]:
    query = np.asarray(vector)
    norms = np.linalg.norm(vectors, axis=1) * np.linalg.norm(query)
    return [float(value) for value in vectors @ query / norms]


def _scored(scores: Sequence[float]) -> list[Scored]:
    # Numbers of one width, so that equal scores are ordered by the place in the list.
    return [Scored(id=f"{place:06}", score=score) for place, score in enumerate(scores)]


def _document(example: Example, place: int, score: float) -> Document:
    passage = example.passages[place]
    metadata = {
        "source": f"{example.id}/{place + 1}",
        "title": passage.title,
        EXAMPLE: example.id,
        PASSAGE: place,
        "retrieval": {"score": score},
    }
    return Document(id=f"{example.id}:{place}", page_content=passage.text, metadata=metadata)
