"""Token vectors of texts that come again: popular passages are retrieved for many questions."""

import dataclasses
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from crag_graph.models.local.minilm import Keep, MiniLM, TokenVectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_TOKENS = 50_000
"""About 300 passages of 120 words, in 38 MB; reading one again takes a fiftieth of the time."""


class RememberedVectors:
    """An encoder's token vectors, the last ones kept. Threads may share one.

    Vectors are kept, and given, rounded to half precision, so that a text has the same vectors the
    first time and later.

    Args:
        model: The encoder.
        most_tokens: How many tokens are kept at most; 0 keeps none. A token takes 768 bytes.
    """

    def __init__(self, model: MiniLM, *, most_tokens: int = MOST_TOKENS) -> None:
        self._model = model
        self._most = most_tokens
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, Keep], _Kept] = OrderedDict()
        self._tokens = 0

    def token_vectors(self, texts: Sequence[str], *, keep: Keep = "start") -> list[TokenVectors]:
        """Return the token vectors of `texts`, in their order; those not kept from the encoder."""
        found: dict[str, _Kept] = {}
        with self._lock:
            for text in texts:
                if (known := self._kept.get((text, keep))) is not None:
                    self._kept.move_to_end((text, keep))
                    found[text] = known
        new = [text for text in dict.fromkeys(texts) if text not in found]
        for text, seen in zip(new, self._model.token_vectors(new, keep=keep), strict=True):
            found[text] = _Kept.of(seen)
        with self._lock:
            for text in new:
                self._keep((text, keep), found[text])
        return [found[text].whole() for text in texts]

    def token_ids(self, text: str) -> list[int]:
        """Return the encoder's ids of the tokens of `text`."""
        return self._model.token_ids(text)

    def count_tokens(self, text: str) -> int:
        """Return the encoder's number of tokens of `text`."""
        return self._model.count_tokens(text)

    def _keep(self, key: tuple[str, Keep], kept: "_Kept") -> None:
        if key in self._kept:
            return
        self._kept[key] = kept
        self._tokens += len(kept.vectors)
        while self._tokens > self._most:
            self._tokens -= len(self._kept.popitem(last=False)[1].vectors)


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Kept:
    """Token vectors with half precision."""

    vectors: "NDArray[np.float16]"
    offsets: "NDArray[np.int32]"
    pooled: "NDArray[np.float32]"

    @classmethod
    def of(cls, seen: TokenVectors) -> "_Kept":
        return cls(vectors=seen.vectors.astype("float16"), offsets=seen.offsets, pooled=seen.pooled)

    def whole(self) -> TokenVectors:
        return TokenVectors(
            vectors=self.vectors.astype("float32"), offsets=self.offsets, pooled=self.pooled
        )
