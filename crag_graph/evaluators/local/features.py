"""The evidence of each strip and passage for the question, as numbers on 0–1 or nearly so."""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from crag_graph.evaluators.base import Passage
from crag_graph.evaluators.local.pieces import Reading, Window, read_passage, windows
from crag_graph.evaluators.local.question import Question, read_question
from crag_graph.evaluators.local.terms import (
    beyond_title,
    lexical_row,
    share,
    share_of_names,
    share_of_numbers,
    term_weights,
)
from crag_graph.models.local.minilm import Keep, TokenVectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

STRIP_FEATURES = (
    "similarity",  # cosine of the question's vector and the mean of the strip's token vectors
    "interaction",  # late interaction: the question's terms, weighted by rarity, in the strip
    "beyond_title",  # the same over the terms that the title does not hold
    "coverage",  # share of the question's terms in the strip, weighted by rarity
    "named",  # share of the question's names and numbers in the strip and around it
    "fits",  # whether it holds what may be the answer, by its kind: 1, 0 or -1
    "novelty",  # share of its terms that the question has not
    "length",  # log of 1 + the number of terms
)
PASSAGE_FEATURES = (
    "similarity",  # cosine of the question's vector and the passage's
    "best_similarity",  # the best strip's
    "interaction",  # late interaction over the whole passage
    "coverage",  # share of the question's terms in the passage and its title, weighted by rarity
    "named",  # share of the question's names and numbers in the passage and its title
    "numbers",  # share of its numbers and codes alone; 1 where it has none
)


class Encoder(Protocol):
    """What token vectors come from."""

    def token_vectors(self, texts: Sequence[str], *, keep: Keep) -> list[TokenVectors]:
        """Return the token vectors of `texts`, in their order."""
        ...

    def token_ids(self, text: str) -> list[int]:
        """Return the ids of the tokens of `text`."""
        ...

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of `text`."""
        ...


@dataclasses.dataclass(frozen=True, kw_only=True)
class SeenWindow:
    """A window as the encoder sees it.

    Attributes:
        window: Which strips it holds.
        tokens: Its tokens.
        alive: bool, (tokens,): False where it only repeats the question.
        owned: The tokens of each of its strips.
    """

    window: Window
    tokens: TokenVectors
    alive: "NDArray[np.bool_]"
    owned: tuple[slice, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Evidence:
    """What one passage has to say for itself.

    Attributes:
        reading: What was read of it.
        windows: What the encoder saw of it, in the order of the text.
        strips: float32, (pieces, `STRIP_FEATURES`); a row of zeros where a strip is an echo.
        passage: float32, (`PASSAGE_FEATURES`,).
        missing: The question's names and numbers that are nowhere in it.
    """

    reading: Reading
    windows: tuple[SeenWindow, ...]
    strips: "NDArray[np.float32]"
    passage: "NDArray[np.float32]"
    missing: tuple[str, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Gathered:
    """A question with the evidence of the passages that compete for it.

    Attributes:
        question: The question, taken apart.
        tokens: The question as the encoder sees it.
        weights: float32, (tokens,): the rarity of each token's word; they sum to 1.
        passages: The evidence of each passage.
    """

    question: Question
    tokens: TokenVectors
    weights: "NDArray[np.float32]"
    passages: tuple[Evidence, ...]


def gather(question: str, passages: Sequence[Passage], model: Encoder) -> Gathered:
    """Return the question taken apart, and the evidence of each passage, in their order.

    The question and all passages go through the encoder once, in batches of like length.
    """
    asked = read_question(question, model.token_ids)
    readings = [read_passage(asked, passage) for passage in passages]
    planned = [windows(reading, model.count_tokens) for reading in readings]
    texts = [asked.text, *(window.text for plan in planned for window in plan)]
    vectors = model.token_vectors(texts, keep="both_ends")
    weights = term_weights(asked, readings)
    found: list[Evidence] = []
    position = 1
    for reading, plan in zip(readings, planned, strict=True):
        seen = [
            _seen(reading, window, tokens)
            for window, tokens in zip(plan, vectors[position : position + len(plan)], strict=True)
        ]
        position += len(plan)
        found.append(_evidence(asked, weights, vectors[0], reading, seen))
    by_token = _normalised(asked.weigh(weights, vectors[0].offsets.tolist()))
    return Gathered(question=asked, tokens=vectors[0], weights=by_token, passages=tuple(found))


def _evidence(
    question: Question,
    weights: dict[str, float],
    asked: TokenVectors,
    reading: Reading,
    seen: Sequence[SeenWindow],
) -> Evidence:
    import numpy as np

    strips = np.zeros((len(reading.pieces), len(STRIP_FEATURES)), dtype=np.float32)
    passage = np.zeros(len(PASSAGE_FEATURES), dtype=np.float32)
    spans = asked.offsets.tolist()
    by_token = _normalised(question.weigh(weights, spans))
    beyond = _normalised(question.weigh(beyond_title(question, reading.title), spans))
    asking = unit(asked.vectors)
    best = np.full(len(asking), -1.0, dtype=np.float32)
    for shown in seen:
        tokens, alive = shown.tokens, shown.alive
        likeness = asking @ unit(tokens.vectors).T
        likeness[:, ~alive] = -1.0
        passage[0] = max(passage[0], _similarity(asked, tokens, alive))
        if likeness.size:
            np.maximum(best, likeness.max(axis=1), out=best)
        for index, own in enumerate(shown.owned, shown.window.first):
            if not alive[own].any() or not len(asking):
                continue
            mean = tokens.vectors[own][alive[own]].mean(axis=0)
            most = likeness[:, own].max(axis=1)
            strips[index, 0] = float(unit(mean) @ asked.pooled)
            strips[index, 1] = float(most @ by_token)
            strips[index, 2] = float(most @ beyond)
    for index, piece in enumerate(reading.pieces):
        if piece.empty:
            strips[index] = 0.0
        else:
            strips[index, 3:] = lexical_row(question, weights, piece)
    held = frozenset().union(
        reading.title, *(piece.terms | piece.around for piece in reading.pieces)
    )
    passage[1] = strips[:, 0].max(initial=0.0)
    passage[2] = (
        float(best @ by_token)
        if len(best) and not all(piece.empty for piece in reading.pieces)
        else 0.0
    )
    passage[3] = share(weights, held)
    passage[4] = share_of_names(question, held)
    passage[5] = share_of_numbers(question, held)
    return Evidence(
        reading=reading,
        windows=tuple(seen),
        strips=strips,
        passage=passage,
        missing=tuple(sorted(question.named - held)),
    )


def _seen(reading: Reading, window: Window, tokens: TokenVectors) -> SeenWindow:
    """Return the window, with which tokens are evidence and no echo, and which are each strip's."""
    import numpy as np

    starts = tokens.offsets[:, 0]
    alive = np.ones(len(starts), dtype=bool)
    owned: list[slice] = []
    shift = len(window.lead) - reading.pieces[window.first].start
    for piece in reading.pieces[window.first : window.last + 1]:
        begin = piece.start + shift
        low, high = np.searchsorted(starts, (begin, begin + len(piece.text)))
        owned.append(slice(int(low), int(high)))
        for start, end in piece.echoes:
            low, high = np.searchsorted(starts, (begin + start, begin + end))
            alive[low:high] = False
    return SeenWindow(window=window, tokens=tokens, alive=alive, owned=tuple(owned))


def _similarity(asked: TokenVectors, tokens: TokenVectors, alive: "NDArray[np.bool_]") -> float:
    if alive.all():
        return float(tokens.pooled @ asked.pooled)
    rest = tokens.vectors[alive]
    return float(unit(rest.mean(axis=0)) @ asked.pooled) if len(rest) else 0.0


def _normalised(weights: Sequence[float]) -> "NDArray[np.float32]":
    import numpy as np

    found = np.asarray(weights, dtype=np.float32)
    return found / max(float(found.sum()), 1e-9)


def unit(vectors: "NDArray[np.floating[Any]]") -> "NDArray[np.float32]":
    """Return the rows of `vectors`, each of length 1; zeros stay zeros."""
    import numpy as np

    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: NDArray[np.float32] = vectors / np.maximum(lengths, 1e-9)
    return scaled
