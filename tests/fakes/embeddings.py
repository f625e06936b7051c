"""Embeddings that follow from the text alone, and fail where they are told to."""

import hashlib
import math
from collections.abc import Callable

from langchain_core.embeddings import Embeddings

Vector = list[float]


class StubEmbeddings(Embeddings):
    """Four components from the hash of the text; counts what it is asked.

    Attributes:
        calls: The texts of every call, in order.
        fault: Called with the texts of a call before it is answered; may raise.
        broken: Text → the vector to give in place of the right one.
    """

    dimension = 4

    def __init__(self, *, name: str = "stub") -> None:
        self.name = name
        self.calls: list[list[str]] = []
        self.fault: Callable[[list[str]], None] | None = None
        self.broken: dict[str, Vector] = {}

    @property
    def texts(self) -> list[str]:
        """Every text that was embedded."""
        return [text for call in self.calls for text in call]

    def embed_documents(self, texts: list[str]) -> list[Vector]:
        self.calls.append(list(texts))
        if self.fault is not None:
            self.fault(texts)
        return [self.broken.get(text) or self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> Vector:
        digest = hashlib.sha256(text.encode()).digest()
        return [byte / 255 + 0.01 for byte in digest[:4]]


ZEROS: Vector = [0.0] * 4
NANS: Vector = [math.nan] * 4
