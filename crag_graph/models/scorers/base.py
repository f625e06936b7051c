"""The pair scorer's Protocol: a question and texts in, one score a text out."""

import asyncio
import dataclasses
import math
from collections.abc import Sequence
from typing import Literal, Protocol, runtime_checkable

ScaleName = Literal["logit", "unit", "signed"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Calibration:
    """Platt's numbers: the probability of a raw score s is 1 / (1 + exp(−(slope·s + intercept))).

    Source: Platt 1999, Probabilistic Outputs for Support Vector Machines.
    """

    slope: float
    intercept: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class ScoreScale:
    """How raw scores of a scorer map onto 0–1.

    Attributes:
        name: `logit` (log-odds, any number: the logistic function), `unit` (0–1 already) or
            `signed` (−1…1 as (s+1)/2; what a regression says beyond the ends counts as the end).
        calibration: In place of that mapping, where it was fitted.
    """

    name: ScaleName = "logit"
    calibration: Calibration | None = None

    def to_unit(self, raw: float | None) -> float | None:
        """Return `raw` on 0–1; None where it is no score on this scale."""
        if raw is None or isinstance(raw, bool) or not math.isfinite(raw):
            return None
        if self.calibration is not None:
            return _logistic(self.calibration.slope * raw + self.calibration.intercept)
        if self.name == "logit":
            return _logistic(raw)
        if self.name == "signed":
            return (min(1.0, max(-1.0, raw)) + 1) / 2
        return raw if 0.0 <= raw <= 1.0 else None

    def __str__(self) -> str:
        fitted = self.calibration
        return self.name + (f"({fitted.slope!r},{fitted.intercept!r})" if fitted else "")


@runtime_checkable
class PairScorer(Protocol):
    """Scores how well each text answers a question. Threads and event loops may share one.

    A score depends on its own pair alone, never on the other texts of the call. `ascore` does not
    block the event loop that it is awaited on; everything else may load the model.
    """

    @property
    def name(self) -> str:
        """What decision cards call it, for example `cross-encoder:ms-marco-MiniLM-L6-v2`."""
        ...

    @property
    def scale(self) -> ScoreScale:
        """What maps raw scores onto 0–1."""
        ...

    @property
    def max_tokens(self) -> int:
        """How long question and text may be together; what is longer is cut."""
        ...

    @property
    def most_texts(self) -> int:
        """How many texts one call may hold so that nothing but the call as a whole can fail."""
        ...

    def fingerprint(self) -> str:
        """Return what the scores depend on: model, files, scale. May read files for a while."""
        ...

    def count_tokens(self, text: str) -> int:
        """Return how many tokens `text` takes, without marks around it."""
        ...

    def score(
        self, question: str, texts: Sequence[str], *, seconds: float | None = None
    ) -> list[float | None]:
        """Return the raw score of each text, in their order; None where there is none.

        Args:
            question: The question.
            texts: None of them blank.
            seconds: How long a hosted scorer may take; others take what they need.

        Raises:
            ModelError: There is no score at all.
            ConfigurationError: The model cannot be loaded.
        """
        ...

    async def ascore(
        self, question: str, texts: Sequence[str], *, seconds: float | None = None
    ) -> list[float | None]:
        """Return what `score` does."""
        ...


class InProcess:
    """The asynchronous entry of scorers that compute in this process: a thread."""

    def score(
        self, question: str, texts: Sequence[str], *, seconds: float | None = None
    ) -> list[float | None]:
        """Return the raw score of each text."""
        raise NotImplementedError

    async def ascore(
        self, question: str, texts: Sequence[str], *, seconds: float | None = None
    ) -> list[float | None]:
        """Return what `score` does, from a thread, so that the event loop goes on."""
        return await asyncio.to_thread(self.score, question, texts, seconds=seconds)


def finite(value: object) -> float | None:
    """Return `value` as a float where it is a finite number, else None; a boolean is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def _logistic(logit: float) -> float:
    return 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, logit))))
