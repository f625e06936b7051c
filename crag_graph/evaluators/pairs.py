"""From passages to the texts that a pair scorer reads: whole or windowed, and their strips."""

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence

from crag_graph.evaluators.base import Passage
from crag_graph.models.scorers.base import PairScorer

# The marks around and between question and text, at most; roberta has four.
_MARKS = 5
_QUESTION_SHARE = 0.5  # of what the scorer reads; a longer question is cut
_QUESTION_HEAD = 0.25  # of what is left of it; the end is where a long question asks
_TITLE_CHARACTERS = 160
_LEAST_ROOM = 16


@dataclasses.dataclass(frozen=True, kw_only=True)
class Reading:
    """What is read of one passage.

    Attributes:
        passage: The passage.
        windows: The whole text, or overlapping none of it twice where it is too long; none of a
            blank passage.
        strips: Strip id → its text, in windows where it is too long by itself.
    """

    passage: Passage
    windows: tuple[str, ...]
    strips: dict[str, tuple[str, ...]]


class Reader:
    """Prepares texts for one scorer and one question. It may load the scorer's tokenizer.

    Args:
        scorer: Says how much it reads at once.
        question: The question.
        titles: Whether a passage's title stands before each of its texts.

    Attributes:
        question: The question, cut to half of what the scorer reads.
    """

    def __init__(self, scorer: PairScorer, question: str, *, titles: bool) -> None:
        self._count = _Counter(scorer.count_tokens)
        self._titles = titles
        self.question = self._cut(question, int(scorer.max_tokens * _QUESTION_SHARE))
        room = scorer.max_tokens - self._count(self.question) - _MARKS
        self._room = max(_LEAST_ROOM, room)

    def read(self, passage: Passage) -> Reading:
        """Return what is read of `passage`; nothing of it is left out."""
        if not passage.text.strip():
            return Reading(passage=passage, windows=(), strips={})
        title = " ".join(passage.title.split())[:_TITLE_CHARACTERS] if self._titles else ""
        lead = f"{title}. " if title and not passage.text.lstrip().startswith(title) else ""
        if self._count(lead) > self._room // 2:
            lead = ""
        bounds = [strip["start"] for strip in passage.strips][1:]
        return Reading(
            passage=passage,
            windows=tuple(self._windows(lead, passage.text, bounds)),
            strips={
                strip["id"]: tuple(self._windows(lead, strip["text"], ()))
                for strip in passage.strips
                if strip["text"].strip()
            },
        )

    def _windows(self, lead: str, text: str, bounds: Sequence[int]) -> Iterator[str]:
        """Yield `text` in pieces that fit, cut at `bounds` where that is enough, each led."""
        room = self._room - self._count(lead)
        if self._count(text) <= room:
            yield (lead + text).strip()
            return
        edges = [0, *bounds, len(text)]
        pieces = [text[start:end] for start, end in itertools.pairwise(edges)]
        window, used = "", 0
        for piece in itertools.chain.from_iterable(self._halved(each, room) for each in pieces):
            tokens = self._count(piece)
            if window.strip() and used + tokens > room:
                yield (lead + window).strip()
                window, used = "", 0
            window += piece
            used += tokens
        if window.strip():
            yield (lead + window).strip()

    def _halved(self, text: str, room: int) -> Iterator[str]:
        """Yield `text` in pieces of at most `room` tokens, cut at spaces where there are some."""
        if self._count(text) <= room or len(text) < 2:
            yield text
            return
        middle = len(text) // 2
        space = text.rfind(" ", 1, middle + 1)
        cut = space if space > middle // 2 else middle
        yield from self._halved(text[:cut], room)
        yield from self._halved(text[cut:], room)

    def _cut(self, question: str, room: int) -> str:
        """Return `question` within `room` tokens: its start, and most of its end."""
        question = " ".join(question.split())
        while (tokens := self._count(question)) > room and len(question) > 1:
            kept = min(len(question) - 2, int(len(question) * room / tokens))
            head = int(kept * _QUESTION_HEAD)
            question = f"{question[:head]} {question[len(question) - (kept - head) :]}"
        return question


class _Counter:
    """Counts tokens, each text once."""

    def __init__(self, count: Callable[[str], int]) -> None:
        self._ask = count
        self._known: dict[str, int] = {"": 0}

    def __call__(self, text: str) -> int:
        if text not in self._known:
            self._known[text] = self._ask(text)
        return self._known[text]
