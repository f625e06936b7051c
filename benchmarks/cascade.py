"""What the cascade costs and keeps: a scripted model alone, the local evaluator alone, and both.

    python -m benchmarks.cascade --data DIR [--questions N]

The model is an oracle with noise, so that nothing is asked of anybody: what it would say of each
question is known, and with the stated probability it says one of the other two instead. Each
question has one of three truths:

* correct: the candidates hold all that the answer needs;
* ambiguous: they hold a part of it, a question of several steps with one of its passages taken out
  (hotpot, musique);
* incorrect: they hold none of it.

A question of hotpot or musique comes in one of the three forms, drawn by a hash of its words, one
of wikiqa or xquad with its answering passages or without; at most five candidates, as the graph
retrieves them. The oracle reads the whole set, as one call does: a passage that is needed gets 5
where nothing is missing and 3 where something is; every other one 1 or 2.

All questions are ones that the local evaluator was not fitted on (4 of 10, by a hash of their
words). The grey band is chosen on one half of them and used on the other, both ways, so that each
question is reported with a band that was chosen without it: three-way macro-F1 and the share of the
model's calls, with 95 % bootstrap intervals over questions. The bar: at least 0.98 of the model's
macro-F1 at 40 % of its calls. Beside it stand the band that is used when none is set, the two-way
F1 of the questions that are not ambiguous, and the ceiling: a routing that knew where the local
evaluator errs. Takes about two minutes on two cores.
"""

import abc
import argparse
import random
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.cascade_measures import (
    Outcome,
    best_routing,
    draws,
    interval,
    joined,
    macro_f1,
    two_way_f1,
)
from benchmarks.cascade_questions import ACTIONS, Asked, key_of, read_asked
from crag_graph.budget import Budget
from crag_graph.evaluators.base import Evaluation, Passage
from crag_graph.evaluators.cascade import CascadeEvaluator
from crag_graph.evaluators.local import LocalEvaluator
from crag_graph.settings import Settings
from crag_graph.state import Grade
from crag_graph.verdict import decide

_NOISE = (0.0, 0.1, 0.2)
_JUDGED = 0.1
_SHARE = 0.4
_BAR = 0.98
_GRID = 41


class Scripted(abc.ABC):
    """An evaluator that knows all answers beforehand."""

    name = "scripted"

    @abc.abstractmethod
    def evaluate(
        self, question: str, passages: Sequence[Passage], *, settings: Settings, budget: Budget
    ) -> Evaluation:
        """Return the evaluation of `passages`."""

    async def aevaluate(
        self, question: str, passages: Sequence[Passage], *, settings: Settings, budget: Budget
    ) -> Evaluation:
        """Return what `evaluate` does."""
        return self.evaluate(question, passages, settings=settings, budget=budget)


class Oracle(Scripted):
    """A model that knows the truth, and mistakes a question for another with a probability."""

    name = "oracle"

    def __init__(self, asked: Sequence[Asked], noise: float) -> None:
        self._known = {key_of(one.question, one.passages): one for one in asked}
        self._noise = noise

    def evaluate(
        self, question: str, passages: Sequence[Passage], *, settings: Settings, budget: Budget
    ) -> Evaluation:
        """Return the grades of one call."""
        del settings
        budget.spend(llm_calls=1)
        one = self._known[key_of(question, passages)]
        # The same question is mistaken in the same way, whoever puts it.
        draw = random.Random(f"{self._noise} {key_of(question, passages)}")
        said = one.truth
        if draw.random() < self._noise:
            said = draw.choice([action for action in ACTIONS if action != one.truth])
        best = {"correct": 5, "ambiguous": 3, "incorrect": draw.choice([1, 2])}[said]
        needed = one.needed or {draw.choice(passages).id}
        return Evaluation(
            grades=[
                Grade(
                    document_id=passage.id,
                    score=((best if passage.id in needed else 1) - 1) / 4,
                    raw=None,
                    status="scored",
                    reason="",
                    evaluator=self.name,
                )
                for passage in passages
            ],
            usage={"llm_calls": 1},
        )


class Known(Scripted):
    """The local evaluator's grades, made once for all bands."""

    name = "local"

    def __init__(self, asked: Sequence[Asked]) -> None:
        local = LocalEvaluator()
        settings, budget = Settings(), Budget()
        self._grades: dict[str, Evaluation] = {
            key_of(one.question, one.passages): local.evaluate(
                one.question, one.passages, settings=settings, budget=budget
            )
            for one in asked
        }

    def evaluate(
        self, question: str, passages: Sequence[Passage], *, settings: Settings, budget: Budget
    ) -> Evaluation:
        """Return what the local evaluator said."""
        del settings, budget
        return self._grades[key_of(question, passages)]


def outcome(
    evaluator: Oracle | Known | CascadeEvaluator, asked: Sequence[Asked], settings: Settings
) -> Outcome:
    """Return the actions that the graph would take by the grades of `evaluator`."""
    thresholds = settings.thresholds()
    actions, called = [], []
    for one in asked:
        budget = Budget()
        evaluation = evaluator.evaluate(
            one.question, one.passages, settings=settings, budget=budget
        )
        actions.append(ACTIONS.index(decide(evaluation.grades, thresholds).action))
        called.append(budget.llm_calls > 0)
    return Outcome(actions=np.array(actions), called=np.array(called))


def choose_band(known: Known, oracle: Oracle, asked: Sequence[Asked]) -> tuple[float, float]:
    """Return the band of the highest macro-F1 that asks about at most 40 % of `asked`."""
    truth = _truths(asked)
    first = outcome(known, asked, Settings()).actions
    then = outcome(oracle, asked, Settings()).actions
    scores = np.array([_aggregate(known, one) for one in asked])
    grid = np.linspace(0, 1, _GRID)
    best = (-1.0, 0.0, 0.0)
    for low in grid:
        for high in grid[grid >= low]:
            grey = (scores > low) & (scores < high)
            if grey.mean() <= _SHARE:
                value = macro_f1(np.where(grey, then, first), truth)
                best = max(best, (value, float(low), float(high)))
    return best[1], best[2]


def _aggregate(known: Known, one: Asked) -> float:
    found = known.evaluate(one.question, one.passages, settings=Settings(), budget=Budget())
    return decide(found.grades, Settings().thresholds()).score or 0.0


def _truths(asked: Sequence[Asked]) -> NDArray[np.intp]:
    return np.array([ACTIONS.index(one.truth) for one in asked])


def report(known: Known, halves: Sequence[Sequence[Asked]], noise: float) -> bool:
    """Print the figures for a model of this noise; return whether the bar is reached."""
    every = [one for half in halves for one in half]
    oracle = Oracle(every, noise)
    cascade = CascadeEvaluator(known, oracle)
    parts, bands = [], []
    for half, other in (halves, halves[::-1]):
        low, high = choose_band(known, oracle, other)
        parts.append(outcome(cascade, half, Settings(grey_lower=low, grey_upper=high)))
        bands.append(f"{low:.3f}–{high:.3f}")
    runs = {
        "model alone": outcome(oracle, every, Settings()),
        "local alone": outcome(known, every, Settings()),
        "cascade": joined(parts),
        "band unset": outcome(cascade, every, Settings()),
    }
    truth = _truths(every)
    model, local = runs["model alone"], runs["local alone"]
    runs["best routing"] = best_routing(local, model, truth, _SHARE)
    print(f"noise {noise:.0%}: grey bands {' and '.join(bands)}")
    rounds = draws(len(every))
    for name, run in runs.items():
        values = [macro_f1(run.actions[at], truth[at]) for at in rounds]
        of_model = [
            value / macro_f1(model.actions[at], truth[at])
            for value, at in zip(values, rounds, strict=True)
        ]
        value, ratio = macro_f1(run.actions, truth), _ratio(run, model, truth)
        print(
            f"  {name:12} macro-F1 {value:.3f} {interval(values)}  of the model's {ratio:.3f} "
            f"{interval(of_model)}  without ambiguous {two_way_f1(run.actions, truth):.3f}  "
            f"calls {run.called.mean():.1%}"
        )
    ours = runs["cascade"]
    return _ratio(ours, model, truth) >= _BAR and float(ours.called.mean()) <= _SHARE


def _ratio(run: Outcome, model: Outcome, truth: NDArray[np.intp]) -> float:
    return macro_f1(run.actions, truth) / macro_f1(model.actions, truth)


def main() -> int:
    """Print everything."""
    parser = argparse.ArgumentParser(description="Cost and quality of the cascade.")
    parser.add_argument("--data", type=Path, required=True, help="the folder of labelled sets")
    parser.add_argument("--questions", type=int, default=300, help="of each single-step set")
    options = parser.parse_args()
    every = read_asked(options.data, most=options.questions)
    halves = [[one for one in every if one.half == half] for half in (0, 1)]
    for half in halves:
        counts = [f"{sum(one.truth == action for one in half)} {action}" for action in ACTIONS]
        print(f"half of {len(half)} questions: {', '.join(counts)}")
    known = Known(every)
    reached = {noise: report(known, halves, noise) for noise in _NOISE}
    verdict = "reached" if reached[_JUDGED] else "MISSED"
    print(
        f"bar ({_BAR} of the model's macro-F1 at {_SHARE:.0%} of its calls, noise {_JUDGED:.0%}): "
        f"{verdict}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
