"""What a model is shown of passages: their strips in a fence, long ones windowed, in batches."""

import dataclasses
from collections.abc import Iterator, Sequence

from crag_graph.evaluators.base import Passage
from crag_graph.models.fencing import Fence, inert, numbered
from crag_graph.models.injection import addresses_reader
from crag_graph.settings import Settings
from crag_graph.text.clean import shorten
from crag_graph.text.terms import content_terms
from crag_graph.text.tokens import estimate_tokens

_FRAME_TOKENS = 24  # tags, label and title of one passage, about
_STRIP_TOKENS = 3  # the number in brackets
_HEAD_SHARE = 0.25  # of a window for the beginning: titles, definitions, dates stand there
_CHARS_PER_TOKEN = 4


@dataclasses.dataclass(frozen=True, kw_only=True)
class Excerpt:
    """What is shown of one passage.

    Attributes:
        passage: The passage.
        shown: Number of the strip, from 1 → its text as it is shown, in the order of the text. A
            passage without strips counts as one strip.
        withheld: Numbers of the strips that are kept from the model because they give it orders.
        cut: Whether strips were left out for length.
        title: The passage's title, empty where that gives orders.
    """

    passage: Passage
    shown: dict[int, str]
    withheld: tuple[int, ...] = ()
    cut: bool = False
    title: str = ""

    @property
    def tokens(self) -> int:
        """Tokens in a prompt, about."""
        texts = (estimate_tokens(text) + _STRIP_TOKENS for text in self.shown.values())
        return _FRAME_TOKENS + sum(texts)

    @property
    def name(self) -> str:
        """What people know the passage by."""
        return self.title or self.passage.id

    def render(self, fence: Fence, label: str) -> str:
        """Return the passage in its fence under `label`, its strips numbered."""
        return fence.wrap(numbered(list(self.shown.items())), id=label, title=self.title)

    def strip_id(self, number: int) -> str | None:
        """Return the id of a shown strip, None where there is none of that number."""
        strips = self.passage.strips
        return strips[number - 1]["id"] if number in self.shown and strips else None


def excerpt(passage: Passage, question: str, settings: Settings) -> Excerpt:
    """Return what is shown of `passage`, in about `settings.passage_tokens`.

    A longer passage is shown by its beginning and by the strips that share the most terms with the
    question, each with its neighbours as far as there is room.
    """
    texts = [strip["text"] for strip in passage.strips] or [passage.text]
    chosen = _window(texts, question, settings.passage_tokens)
    cut = len(chosen) < len(texts)
    longest = settings.passage_tokens * _CHARS_PER_TOKEN
    shown: dict[int, str] = {}
    withheld: list[int] = []
    for index in chosen:
        text = texts[index]
        if len(text) > longest:
            text, cut = shorten(text, longest), True
        if not text.strip():
            continue
        if settings.withhold_instructions and addresses_reader(text):
            withheld.append(index + 1)
        else:
            shown[index + 1] = inert(text)
    orders = settings.withhold_instructions and addresses_reader(passage.title)
    return Excerpt(
        passage=passage,
        shown=shown,
        withheld=tuple(withheld),
        cut=cut,
        title="" if orders else passage.title,
    )


def batches(excerpts: Sequence[Excerpt], settings: Settings) -> list[list[Excerpt]]:
    """Return the excerpts in groups that one call may hold.

    Web pages and passages of the corpus never share a call: what anybody can write is not put
    beside what it might talk down.
    """
    groups: list[list[Excerpt]] = []
    for origin in ("internal", "web"):
        room = 0
        for item in excerpts:
            if item.passage.origin != origin:
                continue
            tokens = item.tokens
            if tokens > room or len(groups[-1]) >= settings.batch_passages:
                groups.append([])
                room = settings.batch_tokens
            groups[-1].append(item)
            room -= tokens
    return groups


def _window(texts: Sequence[str], question: str, tokens: int) -> list[int]:
    """Return the indices of the texts that are shown, in order."""
    costs = [estimate_tokens(text) + _STRIP_TOKENS for text in texts]
    if sum(costs) <= tokens:
        return list(range(len(texts)))
    chosen: dict[int, None] = {}
    room = tokens

    def take(index: int) -> bool:
        nonlocal room
        if not 0 <= index < len(texts) or index in chosen or costs[index] > room:
            return False
        chosen[index] = None
        room -= costs[index]
        return True

    head = tokens * _HEAD_SHARE
    for index, cost in enumerate(costs):
        if tokens - room + cost > head or not take(index):
            break
    for index in _by_overlap(texts, question):
        if take(index):
            take(index - 1)
            take(index + 1)
    return sorted(chosen) or [0]


def _by_overlap(texts: Sequence[str], question: str) -> Iterator[int]:
    """Yield indices, those that share the most terms with the question first."""
    asked = set(content_terms(question))
    overlap = [len(asked & set(content_terms(text))) for text in texts]
    yield from sorted(range(len(texts)), key=lambda index: (-overlap[index], index))
