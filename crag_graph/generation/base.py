"""The generator's Protocol: evidence in, an answer with citation markers out."""

import dataclasses
import datetime
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from crag_graph.budget import Budget
from crag_graph.settings import Settings
from crag_graph.state import Action, NodeUsage, Origin


@dataclasses.dataclass(frozen=True, kw_only=True)
class Evidence:
    """One numbered source: the kept strips of one document, in the order of its text.

    Attributes:
        number: What the answer cites as `[number]`, from 1.
        text: The strips' texts, recomposed.
        strip_ids: Which strips the text is made of.
        strips: Their texts, in the same order as `strip_ids`.
        contexts: What a reader of each must know beside it, in the same order: its headings on one
            line, the header of its table on the next; empty where there is neither.
        scores: Their scores (0–1, None = not judged), in the same order.
        document_id: The document that they come from.
        origin: `internal` or `web`.
        source: Its path or URL.
        title: Its title, heading path or file name.
        locator: Where in the document: page, slide, line; empty when it has none.
        published: An ISO date where one is known, else empty.
    """

    number: int
    text: str
    strip_ids: tuple[str, ...]
    strips: tuple[str, ...]
    contexts: tuple[str, ...] = ()
    scores: tuple[float | None, ...]
    document_id: str
    origin: Origin
    source: str
    title: str = ""
    locator: str = ""
    published: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class GenerationRequest:
    """All that an answer is generated from.

    Attributes:
        question: As it was asked.
        action: What the evidence was gathered by.
        evidence: At least one; refusal without evidence is decided before.
        history: Earlier turns, oldest first, as `{"role", "content"}`.
        today: The date that "now" means.
    """

    question: str
    action: Action
    evidence: Sequence[Evidence]
    history: Sequence[dict[str, Any]] = ()
    today: datetime.date


@dataclasses.dataclass(frozen=True, kw_only=True)
class Generation:
    """An answer as it was generated, its markers not yet checked.

    Attributes:
        answer: Text with markers such as `[1]`; never empty.
        refused: The model declined; the answer says so and cites nothing.
        usage: Calls and tokens that it took.
        warnings: Sentences for the user.
        cited: The numbers that the answer cites, where the generator wrote every marker itself and
            whatever else looks like one is of a source; None has the markers read and checked.
        message_id: The id under which a model's message was streamed, so that chat front ends can
            put the checked answer in its place; empty where nothing was streamed.
    """

    answer: str
    refused: bool = False
    cited: tuple[int, ...] | None = None
    usage: NodeUsage = dataclasses.field(default_factory=NodeUsage)
    warnings: Sequence[str] = ()
    message_id: str = ""


@runtime_checkable
class Generator(Protocol):
    """Answers from evidence, in one call.

    Both methods raise `GenerationError`, with the evidence in hand, when there is no answer.
    """

    name: str

    def generate(
        self, request: GenerationRequest, *, settings: Settings, budget: Budget
    ) -> Generation:
        """Return the answer."""
        ...

    async def agenerate(
        self, request: GenerationRequest, *, settings: Settings, budget: Budget
    ) -> Generation:
        """Return the answer."""
        ...
