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
        search_query: A keyword query for the web, where the evaluator made one; one a line where
            `settings.sub_queries` allows several. Each has at most 400 characters.
        usage: Calls and tokens that it took.
        notes: Sentences for the decision card: fallbacks taken, passages cut.
        decided_by: The name of the stage whose grades these are, where the evaluator has several.
        why: One clause on why that stage decided.
    """

    grades: Sequence[Grade]
    strip_scores: Mapping[str, float] = dataclasses.field(default_factory=dict)
    search_query: str = ""
    usage: NodeUsage = dataclasses.field(default_factory=NodeUsage)
    notes: Sequence[str] = ()
    decided_by: str = ""
    why: str = ""


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


@dataclasses.dataclass(frozen=True, kw_only=True)
class Rewrite:
    """The question as queries for the web.

    Attributes:
        queries: At least one, the best first; each at most 400 characters.
        usage: Calls and tokens that it took.
        notes: Sentences for the decision card, such as that the question's own keywords are used.
    """

    queries: Sequence[str]
    usage: NodeUsage = dataclasses.field(default_factory=NodeUsage)
    notes: Sequence[str] = ()


@runtime_checkable
class Cacheable(Protocol):
    """An evaluator that says on what its grades depend, so that a cache never gives a stale one."""

    def cache_key(self, settings: Settings) -> str:
        """Return what grades depend on besides question and passages; it is kept as a hash only.

        That is the model or fit, the prompts, and those settings that change a grade. Thresholds
        are none of them. May read files.
        """
        ...

    def joint(self, settings: Settings) -> bool:
        """Return whether a passage's grade depends on the passages that it is judged beside."""
        ...


def asks_model(evaluator: RetrievalEvaluator) -> bool:
    """Return whether `evaluator` may ask a language model; it does unless it says otherwise.

    An evaluator without a language model says so by an attribute `asks_model` that is False.
    """
    return bool(getattr(evaluator, "asks_model", True))


@runtime_checkable
class StripJudge(Protocol):
    """An evaluator that can judge strips in a step of their own.

    `refine` asks it when `settings.evaluation_mode` is `staged`; in the other modes the evaluation
    holds the scores of strips already. Both methods give the same result and raise what
    `RetrievalEvaluator` raises; the passages are then kept whole.
    """

    def refine(
        self, question: str, passages: Sequence[Passage], *, settings: Settings, budget: Budget
    ) -> Evaluation:
        """Return the scores of the strips of `passages`; there are no grades in it."""
        ...

    async def arefine(
        self, question: str, passages: Sequence[Passage], *, settings: Settings, budget: Budget
    ) -> Evaluation:
        """Return the scores of the strips of `passages`; there are no grades in it."""
        ...


@runtime_checkable
class QueryRewriter(Protocol):
    """An evaluator that can turn the question into queries in a step of its own.

    `web_search` asks it when the evaluation left no query, as in the modes `staged` and
    `per_passage`. It never fails: without a usable rewrite the question's own keywords are the
    query, and the notes say so.
    """

    def rewrite(self, question: str, *, settings: Settings, budget: Budget) -> Rewrite:
        """Return queries for the web."""
        ...

    async def arewrite(self, question: str, *, settings: Settings, budget: Budget) -> Rewrite:
        """Return queries for the web."""
        ...
