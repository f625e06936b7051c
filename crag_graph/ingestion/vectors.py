"""Embedding chunks in batches, so that one bad text costs itself and no other."""

from collections.abc import Sequence

from crag_graph.errors import EmbeddingError
from crag_graph.models.embeddings import NamedEmbeddings

# Failures that another text would meet as well: nothing is gained by trying one by one.
_OF_THE_SERVICE = ("auth", "quota", "transport")
# So many texts in a row without a vector are the model's fault, not theirs.
_TOO_MANY_AT_FIRST = 3
_TOO_MANY_IN_A_ROW = 50


class ChunkEmbedder:
    """Embeds batches of texts, and isolates those that the model fails on.

    Args:
        embeddings: Named embeddings, which refuse zeros, NaN and misshapen answers.
    """

    def __init__(self, embeddings: NamedEmbeddings) -> None:
        self._embeddings = embeddings
        self._proven = False
        self._failed_in_a_row = 0

    def embed(self, texts: Sequence[str]) -> list[list[float] | str]:
        """Return for each text its vector, or one clause that says why there is none.

        A batch that fails is halved until the texts at fault are alone.

        Raises:
            EmbeddingError: The model cannot be reached, refuses the key or is out of quota; or it
                fails on one text after the other.
        """
        try:
            vectors = self._embeddings.embed_documents(list(texts))
        except EmbeddingError as error:
            if error.transient or error.reason in _OF_THE_SERVICE:
                raise
            if len(texts) == 1:
                return [self._failure(error)]
        else:
            self._proven = True
            self._failed_in_a_row = 0
            return list(vectors)
        half = len(texts) // 2
        return [*self.embed(texts[:half]), *self.embed(texts[half:])]

    def _failure(self, error: EmbeddingError) -> str:
        self._failed_in_a_row += 1
        most = _TOO_MANY_IN_A_ROW if self._proven else _TOO_MANY_AT_FIRST
        if self._failed_in_a_row >= most:
            raise error
        return error.message
