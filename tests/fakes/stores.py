"""Chunks, and the stores that must treat them alike."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings

from crag_graph.retrieval.index import CollectionSchema, Point, VectorIndex
from crag_graph.retrieval.store import open_index

DIMENSION = 16
SCHEMA = CollectionSchema(name="papers", embedding_model="stub", dimension=DIMENSION)


def vector_of(text: str, *, dimension: int = DIMENSION) -> list[float]:
    """A vector that follows from the text and looks like no other's."""
    seed = int.from_bytes(hashlib.sha256(text.encode("utf-8", "replace")).digest()[:8])
    vector: list[float] = np.random.default_rng(seed).standard_normal(dimension).tolist()
    return vector


def chunk(name: str, text: str, *, vector: Sequence[float] | None = None, **payload: Any) -> Point:
    """A chunk called `name` of the document of that name unless the payload says otherwise."""
    return Point(
        id=name,
        vector=vector_of(text) if vector is None else vector,
        text=text,
        payload={"document_id": name, "source": f"{name}.md", "version": "1"} | payload,
    )


class StubEmbeddings(Embeddings):
    """Embeds a text as `vector_of` does, unless it is given other vectors."""

    def __init__(
        self, *, name: str = "stub", dimension: int = DIMENSION, vector: Any = None
    ) -> None:
        self.name = name
        self.dimension = dimension
        self.vector = vector
        self.queries: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [vector_of(text, dimension=self.dimension) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        self.queries.append(text)
        return vector_of(text, dimension=self.dimension) if self.vector is None else self.vector


class Backend:
    """A store that collections are opened in: embedded under `home`, or a server at `url`."""

    def __init__(self, home: Path, *, url: str | None = None, prefix: str = "") -> None:
        self.home = home
        self.url = url
        self.prefix = prefix
        self._opened: list[VectorIndex] = []

    def schema(self, **changes: Any) -> CollectionSchema:
        given = {
            "name": f"{self.prefix}papers",
            "embedding_model": SCHEMA.embedding_model,
            "dimension": SCHEMA.dimension,
        }
        return CollectionSchema(**(given | changes))

    def make(self, **changes: Any) -> VectorIndex:
        schema = self.schema(**changes)
        return self._open(schema.name, create=schema)

    def open(self) -> VectorIndex:
        return self._open(self.schema().name)

    def _open(self, name: str, **options: Any) -> VectorIndex:
        index = open_index(home=self.home, collection=name, url=self.url, **options)
        self._opened.append(index)
        return index

    def close(self) -> None:
        for index in self._opened:
            index.close()
