"""The embeddings that need no key, no server and no network."""

import asyncio
from collections.abc import Sequence

from langchain_core.embeddings import Embeddings

from crag_graph.models.local.minilm import (
    DIMENSION,
    MAX_TOKENS,
    NAME,
    MiniLM,
    TokenVectors,
    shared_minilm,
)


class LocalEmbeddings(Embeddings):
    """all-MiniLM-L6-v2 as LangChain embeddings: 384 components, at most 256 tokens a text.

    Args:
        threads: Threads of one inference; None shares the process's model, with as many as there
            are processors (at most 8).

    Attributes:
        name: What a collection made with it is stored under.
        dimension: Components of a vector.
        max_tokens: From where on a text is cut.
    """

    name = NAME
    dimension = DIMENSION
    max_tokens = MAX_TOKENS

    def __init__(self, *, threads: int | None = None) -> None:
        self._model = shared_minilm() if threads is None else MiniLM(threads=threads)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return a vector of length 1 for each text, cut after 256 tokens."""
        vectors: list[list[float]] = self._model.embed(texts).tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        """Return the question's vector; of a long question the end is kept, and some of the start.

        A 10,000-character question mostly is background with the question proper at its end.
        """
        vector: list[float] = self._model.embed([text], keep="both_ends")[0].tolist()
        return vector

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return what `embed_documents` does, from a thread."""
        return await asyncio.to_thread(self.embed_documents, texts)

    async def aembed_query(self, text: str) -> list[float]:
        """Return what `embed_query` does, from a thread."""
        return await asyncio.to_thread(self.embed_query, text)

    def count_tokens(self, text: str) -> int:
        """Return how many of the model's tokens `text` has, before it is cut."""
        return self._model.count_tokens(text)

    def token_vectors(self, texts: Sequence[str]) -> list[TokenVectors]:
        """Return the vectors of each text's tokens, for late interaction."""
        return self._model.token_vectors(texts)
