"""Evaluators behind a cache, and short ways to ask them."""

import asyncio

from crag_graph.budget import Budget
from crag_graph.evaluators.cached.backends import BoundedMemory
from crag_graph.evaluators.cached.store import GradeStore
from crag_graph.evaluators.cross_encoder import ScoringEvaluator
from crag_graph.settings import Settings
from tests.fakes.grading import (
    QUESTION,
    fused,
    passages,
)
from tests.fakes.openai_server import as_json
from tests.fakes.scorers import StubScorer

GRADED = as_json(fused(("P1", 5, [1]), ("P2", 2, []), ("P3", 1, [])))


def memory():
    return GradeStore(BoundedMemory, label="memory", days=None)


def run(made, given=None, question=QUESTION, **settings):
    given = passages() if given is None else given
    return made.evaluate(question, given, settings=Settings(**settings), budget=Budget())


def arun(made, given=None, question=QUESTION, **settings):
    given = passages() if given is None else given
    knobs = Settings(**settings)
    return asyncio.run(made.aevaluate(question, given, settings=knobs, budget=Budget()))


def scoring(score=lambda text: 0.5, **more):
    scorer = StubScorer(score, **more)
    return ScoringEvaluator(scorer), scorer
