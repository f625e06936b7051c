"""What is kept of each question that was run: plain data, from which everything is reported."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal, Self

from crag_graph.evaluation.measures import Pair

Arm = Literal["crag", "plain"]

USAGE = ("llm_calls", "evaluator_calls", "web_searches", "input_tokens", "output_tokens")
"""What is counted of a run's usage."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Outcome:
    """What one arm made of a question.

    Attributes:
        status: `answered`, `refused` or `failed`.
        error: The sentence of the failure; empty without one.
        action: What the verdict was; None without one, or where nothing could be graded.
        score: The aggregate that it rests on, 0–1.
        answer: As it was given.
        seconds: Wall time.
        usage: What was spent, by the names of `USAGE`.
        pairs: Group → measure → its pair, only those that the labels allow.
        degraded: What failed on the way without ending the run.
    """

    status: Literal["answered", "refused", "failed"]
    error: str = ""
    action: str | None = None
    score: float | None = None
    answer: str = ""
    seconds: float = 0.0
    usage: Mapping[str, float] = dataclasses.field(default_factory=dict)
    pairs: Mapping[str, Mapping[str, Pair]] = dataclasses.field(default_factory=dict)
    degraded: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Record:
    """One question, and what each arm made of it.

    Attributes:
        id: The example's.
        question: As it was asked.
        should_answer: Whether an answer is wanted; None where that is not known.
        supported: Whether what was retrieved can be answered from: the label of the question, and
            where gold passages are known, whether one was found.
        arms: By name; only those that were run.
    """

    id: str
    question: str
    should_answer: bool | None = None
    supported: bool | None = None
    arms: Mapping[str, Outcome]

    @property
    def failed(self) -> bool:
        """Whether any arm failed."""
        return any(outcome.status == "failed" for outcome in self.arms.values())

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return dataclasses.asdict(self)

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Self:
        """Return the record that `as_dict` made the data of."""
        arms = {
            name: Outcome(
                **{
                    **arm,
                    "degraded": tuple(arm["degraded"]),
                    "pairs": {
                        group: {key: (pair[0], pair[1]) for key, pair in pairs.items()}
                        for group, pairs in arm["pairs"].items()
                    },
                }
            )
            for name, arm in data["arms"].items()
        }
        return cls(**{**data, "arms": arms})
