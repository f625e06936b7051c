"""A question and one window of a passage as the cross-encoder reads them: arrays from evidence."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from crag_graph.evaluators.local.features import Evidence, Gathered, unit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

QUESTION_TOKENS = 64
"""Of a longer question the last tokens are read, where it asks what it asks."""
INPUTS = (
    "question",
    "question_alive",
    "question_weights",
    "passage",
    "passage_alive",
    "strips",
    "passage_features",
    "strip_features",
)
# What a strip that only repeats the question has for evidence, on the logit scale, and a passage
# of such strips alone; and what logits are divided by, so that they are about as large as the rest.
_NOTHING = -9.0
_LOGIT_SCALE = 4.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pair:
    """One pair.

    Attributes:
        question: float, (question tokens, 384), rows of length 1.
        weights: float, (question tokens,): rarity of each token's word; they sum to 1.
        passage: float, (tokens, 384), rows of length 1.
        alive: bool, (tokens,): False where the passage only repeats the question.
        owned: For each strip of the window, where its tokens start and end.
        passage_features: float, (`PASSAGE_FEATURES` and the first judgement's logit,).
        strip_features: float, (strips, `STRIP_FEATURES` and the strip's evidence).
    """

    question: "NDArray[np.floating[Any]]"
    weights: "NDArray[np.floating[Any]]"
    passage: "NDArray[np.floating[Any]]"
    alive: "NDArray[np.bool_]"
    owned: tuple[tuple[int, int], ...]
    passage_features: "NDArray[np.float32]"
    strip_features: "NDArray[np.float32]"


def pairs_of(
    gathered: Gathered, evidence: Evidence, *, logit: float, strips: "NDArray[np.float64]"
) -> Iterator[Pair]:
    """Yield a pair for each window of a passage, in the order of the text.

    Args:
        gathered: What was read of the question.
        evidence: What was read of the passage.
        logit: The first judgement of the passage, on the logit scale.
        strips: The evidence of each strip by itself, on the logit scale.
    """
    import numpy as np

    empty = np.array([piece.empty for piece in evidence.reading.pieces], dtype=bool)
    own = np.where(empty, _NOTHING, strips) / _LOGIT_SCALE
    first = (_NOTHING if empty.all() else logit) / _LOGIT_SCALE
    rows = np.concatenate([evidence.strips, own[:, None]], axis=1).astype(np.float32)
    weights = gathered.weights[-QUESTION_TOKENS:]
    question = unit(gathered.tokens.vectors[-QUESTION_TOKENS:])
    for seen in evidence.windows:
        yield Pair(
            question=question,
            weights=weights / max(float(weights.sum()), 1e-6),
            passage=unit(seen.tokens.vectors),
            alive=seen.alive,
            owned=tuple((own.start, own.stop) for own in seen.owned),
            passage_features=np.append(evidence.passage, first).astype(np.float32),
            strip_features=rows[seen.window.first : seen.window.last + 1],
        )


def stack(pairs: Sequence[Pair]) -> "dict[str, NDArray[Any]]":
    """Return the pairs as one batch, padded: the arrays that `INPUTS` names.

    `question` (pairs, question tokens, 384), `question_alive` and `question_weights` (pairs,
    question tokens), `passage` (pairs, tokens, 384), `passage_alive` (pairs, tokens), `strips`
    (pairs, strips, tokens) with 1 where a token is a strip's, and both rows of features.
    """
    import numpy as np

    size = len(pairs)
    asked = max(1, *(len(pair.question) for pair in pairs), 1)
    read = max(1, *(len(pair.passage) for pair in pairs), 1)
    most = max(1, *(len(pair.owned) for pair in pairs), 1)
    width = pairs[0].passage_features.shape[0], pairs[0].strip_features.shape[1]
    dimension = pairs[0].passage.shape[1]
    found: dict[str, NDArray[Any]] = {
        "question": np.zeros((size, asked, dimension), dtype=np.float32),
        "question_alive": np.zeros((size, asked), dtype=bool),
        "question_weights": np.zeros((size, asked), dtype=np.float32),
        "passage": np.zeros((size, read, dimension), dtype=np.float32),
        "passage_alive": np.zeros((size, read), dtype=bool),
        "strips": np.zeros((size, most, read), dtype=np.float32),
        "passage_features": np.zeros((size, width[0]), dtype=np.float32),
        "strip_features": np.zeros((size, most, width[1]), dtype=np.float32),
    }
    for at, pair in enumerate(pairs):
        found["question"][at, : len(pair.question)] = pair.question
        found["question_alive"][at, : len(pair.question)] = True
        found["question_weights"][at, : len(pair.question)] = pair.weights
        found["passage"][at, : len(pair.passage)] = pair.passage
        found["passage_alive"][at, : len(pair.passage)] = pair.alive
        for strip, (start, end) in enumerate(pair.owned):
            found["strips"][at, strip, start:end] = 1.0
        found["passage_features"][at] = pair.passage_features
        found["strip_features"][at, : len(pair.owned)] = pair.strip_features
    for name in ("question_alive", "passage_alive"):
        # Attention over nothing is not a number.
        found[name][:, 0] |= ~found[name].any(axis=1)
    return found
