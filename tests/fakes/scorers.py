"""A pair scorer that scores as a test says, and remembers what it was asked."""

import asyncio
import threading
from collections.abc import Callable, Sequence

from crag_graph.models.scorers.base import ScoreScale

Score = Callable[[str], float | None]


class StubScorer:
    """Scores each text by `score`; words are tokens. An exception of `score` fails the whole call.

    Attributes:
        calls: The texts of each call.
        questions: The question of each call.
        seconds: The time that each call was given.
    """

    def __init__(
        self,
        score: Score,
        *,
        scale: ScoreScale | None = None,
        max_tokens: int = 64,
        most_texts: int = 100,
        key: str = "stub-1",
    ) -> None:
        self.name = "stub-scorer"
        self.scale = scale or ScoreScale(name="unit")
        self.max_tokens = max_tokens
        self.most_texts = most_texts
        self._score = score
        self._key = key
        self.calls: list[list[str]] = []
        self.questions: list[str] = []
        self.seconds: list[float | None] = []
        self.threads: set[int] = set()

    def fingerprint(self) -> str:
        return self._key

    def count_tokens(self, text: str) -> int:
        self.threads.add(threading.get_ident())
        return len(text.split())

    def score(
        self, question: str, texts: Sequence[str], *, seconds: float | None = None
    ) -> list[float | None]:
        self.calls.append(list(texts))
        self.questions.append(question)
        self.seconds.append(seconds)
        return [self._score(text) for text in texts]

    async def ascore(
        self, question: str, texts: Sequence[str], *, seconds: float | None = None
    ) -> list[float | None]:
        await asyncio.sleep(0)
        return self.score(question, texts, seconds=seconds)
