"""The committed fit of the local evaluator: from evidence to scores.

`fit.json` is written by `python -m training.fit_local_evaluator --data DIR`, which also says
on which questions it was fitted and how well it does on others.
"""

import dataclasses
import functools
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from crag_graph.evaluators.local.features import PASSAGE_FEATURES, STRIP_FEATURES, Evidence

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FIT = Path(__file__).with_name("fit.json")
READING = 1
"""Raised when the code comes to read texts so that scores change: thresholds depend on them."""
EVIDENCE = "best_strip"
"""The passage feature that is the best strip's own evidence, on the logit scale."""
# Evidence of a strip by its terms alone: about what strips with none or all of them have otherwise.
_NO_TERM, _ALL_TERMS = -5.0, 2.0
LEXICAL_FEATURES = ("coverage", "best_coverage", "named")
"""Of a passage in a script that the encoder cannot read: what needs no vectors."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Linear:
    """A weighted sum: `bias` and one weight a feature, in a fixed order."""

    bias: float
    weights: tuple[float, ...]

    @classmethod
    def of(cls, fields: Mapping[str, Any], names: Sequence[str]) -> Self:
        """Return the sum that `fields` describes.

        Raises:
            KeyError: A feature has no weight.
            ValueError: A weight is no finite number.
        """
        weights = tuple(float(fields["weights"][name]) for name in names)
        bias = float(fields["bias"])
        if not all(map(math.isfinite, (bias, *weights))):
            raise ValueError("a weight is not a finite number")
        return cls(bias=bias, weights=weights)

    def __call__(self, features: "NDArray[np.float32]") -> Any:
        """Return the sum for each row of `features`, or for the one row."""
        import numpy as np

        return features.astype(np.float64) @ np.asarray(self.weights) + self.bias


@dataclasses.dataclass(frozen=True, kw_only=True)
class Judgement:
    """What the fit makes of one passage.

    Attributes:
        score: 0–1.
        raw: The same on the logit scale.
        strips: The score of each piece, 0–1.
        evidence: What each piece has by itself, on the logit scale.
        best: The index of the best piece; -1 when none is evidence.
    """

    score: float
    raw: float
    strips: tuple[float, ...]
    evidence: tuple[float, ...]
    best: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Fit:
    """Logistic models, one on top of another.

    A strip's evidence is a weighted sum of its features. A passage's score is logistic in its own
    features and in the evidence of its best strip. A strip's score is logistic in its evidence and
    in its passage's. Where the encoder cannot read the script, terms alone decide.
    """

    strip: Linear
    passage: Linear
    strip_score: Linear
    lexical: Linear

    def judge(self, evidence: Evidence, *, readable: bool) -> Judgement:
        """Return the scores of a passage and its strips; `readable`: whether by the encoder."""
        import numpy as np

        pieces = evidence.reading.pieces
        alive = [index for index, piece in enumerate(pieces) if not piece.empty]
        if not alive:
            return Judgement(
                score=0.0,
                raw=-math.inf,
                strips=(0.0,) * len(pieces),
                evidence=(_NO_TERM,) * len(pieces),
                best=-1,
            )
        own = self.strip(evidence.strips)
        best = max(alive, key=lambda index: (own[index], -index))
        if readable:
            raw = float(self.passage(np.append(evidence.passage, own[best])))
        else:
            coverage = evidence.strips[:, STRIP_FEATURES.index("coverage")]
            own = _NO_TERM + (_ALL_TERMS - _NO_TERM) * coverage
            best = max(alive, key=lambda index: (own[index], -index))
            raw = float(self.lexical(lexical_features(evidence)))
        together = np.stack([own, np.full(len(own), raw)], axis=1)
        scores = [logistic(float(logit)) for logit in self.strip_score(together)]
        return Judgement(
            score=logistic(raw),
            raw=raw,
            strips=tuple(
                0.0 if piece.empty else score for piece, score in zip(pieces, scores, strict=True)
            ),
            evidence=tuple(float(value) for value in own),
            best=best,
        )


def lexical_features(evidence: Evidence) -> "NDArray[np.float32]":
    """Return `LEXICAL_FEATURES` of a passage."""
    import numpy as np

    coverage = evidence.strips[:, STRIP_FEATURES.index("coverage")]
    at = PASSAGE_FEATURES.index
    return np.array(
        [
            evidence.passage[at("coverage")],
            coverage.max(initial=0.0),
            evidence.passage[at("named")],
        ],
        dtype=np.float32,
    )


@functools.cache
def load_fit(path: Path = FIT) -> Fit:
    """Return the fit in `path`, by default the committed one."""
    fields = json.loads(path.read_text(encoding="utf-8"))
    return Fit(
        strip=Linear.of(fields["strip"], STRIP_FEATURES),
        passage=Linear.of(fields["passage"], (*PASSAGE_FEATURES, EVIDENCE)),
        strip_score=Linear.of(fields["strip_score"], ("evidence", "passage")),
        lexical=Linear.of(fields["lexical"], LEXICAL_FEATURES),
    )


def logistic(logit: float) -> float:
    """Return the probability of a logit."""
    return 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, logit))))


@functools.cache
def digest_of_fit(path: Path = FIT) -> str:
    """Return a digest of what the evidence's scores follow from: the fit in `path`, and `READING`.

    Raises:
        OSError: The file cannot be read.
    """
    return hashlib.sha256(f"{READING}\0".encode() + path.read_bytes()).hexdigest()[:12]
