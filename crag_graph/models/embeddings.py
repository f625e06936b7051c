"""Embeddings under a name, checked on the way in and out, whoever makes them."""

import os
import threading
from collections.abc import Sequence
from typing import Any

from langchain_core.embeddings import Embeddings

from crag_graph.errors import ConfigurationError, EmbeddingError
from crag_graph.models.embedding_errors import EmbeddingFailures, SetupFailures, unsound_answer
from crag_graph.models.local.embeddings import LocalEmbeddings
from crag_graph.models.local.minilm import shared_minilm

# Endpoints refuse what is longer than their model reads: 4,000 characters are at most about 2,000
# tokens in most languages. The end is where a long question asks.
_QUERY_CHARACTERS = 4000
_QUERY_HEAD = 1000
_SECONDS = 60.0


class NamedEmbeddings(Embeddings):
    """Embeddings whose vectors can be told from those of another model, and are sound.

    Args:
        inner: Who makes the vectors.
        name: What a collection is stored under; the same name means the same space.
        dimension: Components of a vector, where that is known beforehand.

    Attributes:
        name: As given.
        inner: As given.
        max_tokens: From where on the model cuts a text; None where that is not known.
    """

    def __init__(self, inner: Embeddings, *, name: str, dimension: int | None = None) -> None:
        self.inner = inner
        self.name = name
        self.max_tokens: int | None = getattr(inner, "max_tokens", None)
        self._dimension = dimension
        self._lock = threading.Lock()

    @property
    def dimension(self) -> int:
        """Components of a vector. Where no vector was made yet, one is asked for, once.

        Raises:
            EmbeddingError: The model cannot be asked.
        """
        if self._dimension is None:
            self.embed_query("dimension")
        if self._dimension is None:  # pragma: no cover  # embed_query set it or raised
            raise self._error("gave no vector")
        return self._dimension

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return a vector for each text: finite, not all zeros, of the model's dimension.

        Raises:
            EmbeddingError: A text is blank (nothing is sent then), the model failed, or a vector is
                unsound; the message names the model and the first such text's position.
        """
        self._refuse_blank(texts)
        if not texts:
            return []
        with EmbeddingFailures(self.name):
            vectors = self.inner.embed_documents(texts)
        return self._sound(vectors, len(texts))

    def embed_query(self, text: str) -> list[float]:
        """Return the question's vector, as sound as those of documents.

        Of a question that is longer than 4,000 characters the first 1,000 and the last 3,000 go to
        the model; the local one, which knows its tokens, cuts for itself.

        Raises:
            EmbeddingError: As for documents.
        """
        self._refuse_blank([text])
        with EmbeddingFailures(self.name):
            vector = self.inner.embed_query(self._cut(text))
        return self._sound([vector], 1)[0]

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return what `embed_documents` does, through the model's own asynchronous client."""
        self._refuse_blank(texts)
        if not texts:
            return []
        with EmbeddingFailures(self.name):
            vectors = await self.inner.aembed_documents(texts)
        return self._sound(vectors, len(texts))

    async def aembed_query(self, text: str) -> list[float]:
        """Return what `embed_query` does, through the model's own asynchronous client."""
        self._refuse_blank([text])
        with EmbeddingFailures(self.name):
            vector = await self.inner.aembed_query(self._cut(text))
        return self._sound([vector], 1)[0]

    def count_tokens(self, text: str) -> int:
        """Return the tokens of `text`: the model's own count, else that of the local model."""
        count = getattr(self.inner, "count_tokens", shared_minilm().count_tokens)
        return int(count(text))

    def _cut(self, text: str) -> str:
        if len(text) <= _QUERY_CHARACTERS or isinstance(self.inner, LocalEmbeddings):
            return text
        return f"{text[:_QUERY_HEAD]}\n{text[_QUERY_HEAD - _QUERY_CHARACTERS :]}"

    def _refuse_blank(self, texts: Sequence[str]) -> None:
        for position, text in enumerate(texts, 1):
            if not text.strip():
                where = f"text {position} of {len(texts)} is blank"
                raise EmbeddingError(
                    f"{where} and has no vector; leave blank texts out", reason="request"
                )

    def _sound(self, vectors: Any, expected: int) -> list[list[float]]:
        import numpy as np

        try:
            table = np.asarray(vectors, dtype=np.float64)
        except (TypeError, ValueError):
            raise self._error("gave vectors that are not equally long rows of numbers") from None
        if table.ndim != 2 or len(table) != expected or table.shape[1] == 0:
            shape = " x ".join(map(str, table.shape))
            raise self._error(f"gave {shape} numbers for {expected} texts")
        with self._lock:
            if self._dimension is None:
                self._dimension = table.shape[1]
        if table.shape[1] != self._dimension:
            raise self._error(f"gave {table.shape[1]} components where it has {self._dimension}")
        unsound = ~np.isfinite(table).all(axis=1) | ~table.any(axis=1)
        if unsound.any():
            position = int(unsound.argmax())
            kind = "zeros" if np.isfinite(table[position]).all() else "not numbers"
            which = "the text" if expected == 1 else f"text {position + 1} of {expected}"
            raise self._error(f"gave a vector of {kind} for {which}")
        rows: list[list[float]] = table.tolist()
        return rows

    def _error(self, what: str) -> EmbeddingError:
        return unsound_answer(self.name, what)


def load_embeddings(spec: str | Embeddings | None = None) -> NamedEmbeddings:
    """Return the embeddings that `spec` names.

    Args:
        spec: None, blank or `local` for the packaged model; `provider:model` for LangChain's
            `init_embeddings`; or LangChain embeddings, named by their `name`, else by their class
            and model.

    Raises:
        ConfigurationError: There is no such provider, its package is missing, or it cannot be set
            up, for want of a key say.
    """
    if isinstance(spec, NamedEmbeddings):
        return spec
    if isinstance(spec, Embeddings):
        dimension = getattr(spec, "dimension", None)
        return NamedEmbeddings(
            spec, name=_name_of(spec), dimension=dimension if isinstance(dimension, int) else None
        )
    wanted = (spec or "").strip()
    if wanted.lower() in ("", "local"):
        local = LocalEmbeddings()
        return NamedEmbeddings(local, name=local.name, dimension=local.dimension)
    provider, _, model = wanted.partition(":")
    if not model:
        raise ConfigurationError(
            f"embeddings {wanted!r} are not known; write local, or provider:model such as "
            "openai:text-embedding-3-small"
        )
    name = f"{provider.strip().lower()}:{model.strip()}"
    return NamedEmbeddings(_init(name), name=name)


def _init(name: str) -> Embeddings:
    from langchain.embeddings import init_embeddings

    with SetupFailures(name):
        return init_embeddings(name, **_options(name))


def _options(name: str) -> dict[str, Any]:
    """Return what makes OpenAI's class fit for the servers that only speak its protocol."""
    if not name.startswith("openai:"):
        return {}
    # Plain strings instead of token ids, which other servers refuse; and no tokeniser is fetched.
    options: dict[str, Any] = {"check_embedding_ctx_length": False, "timeout": _SECONDS}
    base_url = os.environ.get("OPENAI_BASE_URL", "").strip()
    if base_url:
        options["base_url"] = base_url
    if not os.environ.get("OPENAI_API_KEY", "").strip():
        if not base_url:
            raise ConfigurationError(
                f"embeddings {name!r} need OPENAI_API_KEY; set it, or use local"
            )
        options["api_key"] = "not-needed"  # a server of one's own; the client insists on one
    return options


def _name_of(embeddings: Embeddings) -> str:
    name = getattr(embeddings, "name", None)
    if isinstance(name, str) and name:
        return name
    for attribute in ("model", "model_name", "model_id"):
        model = getattr(embeddings, attribute, None)
        if isinstance(model, str) and model:
            return f"{type(embeddings).__name__}:{model}"
    return type(embeddings).__name__
