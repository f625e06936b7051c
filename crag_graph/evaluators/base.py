"""The retrieval evaluator's Protocol: passages in, grades out, aligned by id."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from crag_graph.budget import Budget
from crag_graph.settings import Settings
from crag_graph.state import Grade, NodeUsage, Origin, Strip


@dataclasses.dataclass(frozen=True, kw_only=True)
class Passage:
    """A retrieved passage, or a web result, already cut into strips.

    Attributes:
        id: The document's id; grades refer to it.
        text: The whole text; a strip is `text[strip["start"]:strip["end"]]`.
        title: The document's title or heading path; empty when it has none.
        strips: In the order of the text, none overlapping.
        origin: Whether it comes from the corpus or from the web.
    """

    id: str
    text: str
    title: str = ""
    strips: tuple[Strip, ...] = ()
    origin: Origin = "internal"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Evaluation:
    """What an evaluator says of some passages.

    Attributes:
        grades: One a passage, in any order; a passage without one counts as unknown.
        strip_scores: Strip id → score on 0–1. A strip that is missing was not judged on its own.
        search_query: A keyword query for the web, where the evaluator made one.
        usage: Calls and tokens that it took.
        notes: Sentences for the decision card: fallbacks taken, passages cut.
    """

    grades: Sequence[Grade]
    strip_scores: Mapping[str, float] = dataclasses.field(default_factory=dict)
    search_query: str = ""
    usage: NodeUsage = dataclasses.field(default_factory=NodeUsage)
    notes: Sequence[str] = ()


@runtime_checkable
class RetrievalEvaluator(Protocol):
    """Grades passages by whether they help to answer the question.

    Both methods give the same result. They raise `EvaluationError` when nothing at all could be
    graded, `BudgetExceededError` when the budget forbids the call; a failure of some passages is a
    grade with status `failed`.
    """

    name: str

    def evaluate(
        self, question: str, passages: Sequence[Passage], *, settings: Settings, budget: Budget
    ) -> Evaluation:
        """Return the evaluation of `passages`."""
        ...

    async def aevaluate(
        self, question: str, passages: Sequence[Passage], *, settings: Settings, budget: Budget
    ) -> Evaluation:
        """Return the evaluation of `passages`."""
        ...
