"""What refinement keeps: sentence-level precision and recall over the floor and the top k.

    python -m benchmarks.strips --data DIR [--sets hotpot_100,qed_dev,wikiqa_dev] [--questions 120]
        [--floors 0.05,0.1,…] [--tops 2,3,5,8,12] [--beta 2] [--evaluator local]

The passages of each question that has evidence are graded and refined as the graph does it. A
labelled sentence counts as kept when at least half of it is. Precision is the share of evidence
among the kept sentences, recall the share of the evidence that is kept, kept text the share of all
characters; all are pooled over the questions of a set.

Floor and top k are chosen on the questions that the local evaluator was fitted on, by the means
over the sets, in two ways: by F-beta (beta 2: recall counts twice as much as precision), and as the
pair that keeps least text among those whose recall is within 0.02 of the highest, since what
refinement drops no generator can say. Both are reported on the other questions beside the defaults,
with 95 % bootstrap intervals over questions. A question of `qed_dev` and `wikiqa_dev` has one
passage: a top k that is chosen on these alone is low for five. Takes about 2 minutes on two idle
cores.
"""

import argparse
import dataclasses
import itertools
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from langchain_core.documents import Document

from benchmarks.unseen import is_unseen
from crag_graph.assembly import load_evaluator, load_retriever
from crag_graph.budget import Budget
from crag_graph.environment import Environment
from crag_graph.evaluation.bootstrap import Bootstrap
from crag_graph.evaluation.examples import Example, example_of
from crag_graph.evaluation.gold import PASSAGE
from crag_graph.evaluation.measures import Pair, strips
from crag_graph.evaluators.base import RetrievalEvaluator
from crag_graph.evaluators.grading import align_grades, as_passages, scored_strips
from crag_graph.evaluators.local import LocalEvaluator
from crag_graph.lazy import Lazy
from crag_graph.nodes.refine import RefineNode
from crag_graph.services import Services
from crag_graph.settings import Settings
from crag_graph.state import CRAGState
from training.labelled import read_rows

SETS = ("hotpot_100", "qed_dev", "wikiqa_dev")
FLOORS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
TOPS = (2, 3, 5, 8, 12)
_TOLD = ("precision", "recall", "kept_text")
_NEAR = 0.02

Pairs = list[Mapping[str, Pair]]


@dataclasses.dataclass(frozen=True)
class Graded:
    """A question whose passages are graded, ready to be refined."""

    example: Example
    state: CRAGState


def graded(rows: Sequence[dict[str, Any]], evaluator: RetrievalEvaluator) -> Iterator[Graded]:
    """Yield the questions with evidence, their passages graded."""
    for row in rows:
        example = example_of(row, default_id=str(row["id"]), relevant_from=1)
        if not any(label for each in example.passages for _, label in each.sentences):
            continue
        documents = [
            Document(
                id=f"{example.id}:{place}",
                page_content=passage.text,
                metadata={"title": passage.title, PASSAGE: place, "source": f"passage {place}"},
            )
            for place, passage in enumerate(example.passages)
        ]
        passages = as_passages(documents, origin="internal")
        evaluation = evaluator.evaluate(
            example.question, passages, settings=Settings(), budget=Budget()
        )
        yield Graded(
            example,
            {
                "question": example.question,
                "documents": documents,
                "grades": align_grades(passages, evaluation, evaluator=evaluator.name),
                "strips": scored_strips(passages, evaluation.strip_scores),
            },
        )


def refined(questions: Sequence[Graded], node: RefineNode, *, floor: float, top_k: int) -> Pairs:
    """Return the measures of each question under a floor and a top k."""
    settings = Settings(strip_floor=floor, strip_top_k=top_k)
    return [
        strips(
            node.run(each.state, settings).get("strips", []),
            each.state["documents"],
            each.example,
        )
        for each in questions
    ]


def pooled(pairs: Pairs, name: str) -> float:
    """Return the sum of the first by the sum of the second; 0 where nothing was kept."""
    above, below = (sum(pair[name][side] for pair in pairs) for side in (0, 1))
    return above / below if below else 0.0


def f_beta(pairs: Pairs, *, beta: float) -> float:
    """Return the weighted harmonic mean of pooled precision and recall."""
    precision, recall = pooled(pairs, "precision"), pooled(pairs, "recall")
    below = beta**2 * precision + recall
    return (1 + beta**2) * precision * recall / below if below else 0.0


def choose(
    sets: Mapping[str, Sequence[Graded]], node: RefineNode, options: argparse.Namespace
) -> dict[str, tuple[float, int]]:
    """Return the choices of floor and top k on these questions; print the grid."""
    tried: dict[tuple[float, int], dict[str, float]] = {}
    print(f"\nfitted questions, mean over the sets: F{options.beta:g} / precision / recall / kept")
    print("floor  " + "".join(f"{f'top {top}':>26}" for top in options.tops))
    for floor in options.floors:
        for top_k in options.tops:
            found = [refined(each, node, floor=floor, top_k=top_k) for each in sets.values()]
            scores = [f_beta(pairs, beta=options.beta) for pairs in found]
            tried[floor, top_k] = {"f": statistics.mean(scores)} | {
                name: statistics.mean(pooled(pairs, name) for pairs in found) for name in _TOLD
            }
        cells = (tried[floor, top_k].values() for top_k in options.tops)
        shown = (" / ".join(f"{value:.2f}" for value in cell) for cell in cells)
        print(f"{floor:<7g}" + "".join(f"{cell:>26}" for cell in shown), flush=True)
    most = max(cell["recall"] for cell in tried.values())
    near = [pair for pair, cell in tried.items() if cell["recall"] >= most - _NEAR]
    return {
        f"best F{options.beta:g}": max(tried, key=lambda pair: tried[pair]["f"]),
        "recall": min(near, key=lambda pair: tried[pair]["kept_text"]),
    }


def report(
    sets: Mapping[str, Sequence[Graded]],
    node: RefineNode,
    candidates: Mapping[str, tuple[float, int]],
    options: argparse.Namespace,
) -> None:
    """Print what each pair of floor and top k comes to on the unseen questions."""
    print("\nunseen questions")
    for name, questions in sets.items():
        print(f"{name}: {len(questions)} questions")
        draws = Bootstrap(len(questions), seed=options.seed)
        for label, (floor, top_k) in candidates.items():
            pairs = refined(questions, node, floor=floor, top_k=top_k)
            cells = [f"F{options.beta:g} {f_beta(pairs, beta=options.beta):.3f}"]
            for measured in _TOLD:
                figure = draws.ratio([pair[measured] for pair in pairs])
                if figure is not None:
                    ends = f"[{figure.low:.3f}, {figure.high:.3f}]"
                    cells.append(f"{measured} {figure.value:.3f} {ends}")
            print(f"  {label:9} floor {floor:g}, top {top_k}: {'  '.join(cells)}", flush=True)


def _numbers(text: str) -> list[float]:
    return [float(part) for part in text.split(",")]


def main() -> int:
    """Choose on the fitted questions, report on the others; return 0."""
    parser = argparse.ArgumentParser(description="What refinement keeps.")
    parser.add_argument("--data", type=Path, required=True, help="the folder of labelled sets")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--questions", type=int, default=120, help="at most, a set and side")
    parser.add_argument("--floors", type=_numbers, default=list(FLOORS))
    parser.add_argument(
        "--tops", type=lambda text: [int(part) for part in text.split(",")], default=list(TOPS)
    )
    parser.add_argument("--beta", type=float, default=2.0, help="how much recall counts")
    parser.add_argument("--evaluator", default="local", help="as in CRAG_EVALUATOR")
    parser.add_argument("--seed", type=int, default=0, help="of the intervals")
    options = parser.parse_args()
    local: RetrievalEvaluator = LocalEvaluator()
    environment = dataclasses.replace(Environment.read(), evaluator=options.evaluator)
    evaluator = load_evaluator(environment, Lazy.of(local))
    services = Services(
        retriever=Lazy(lambda: load_retriever(environment)),  # nothing is retrieved here
        evaluator=evaluator,
        local_evaluator=local,
    )
    node = RefineNode(services)
    fitted: dict[str, list[Graded]] = {}
    unseen: dict[str, list[Graded]] = {}
    for name in options.sets.split(","):
        rows = read_rows(options.data, name)
        for side, is_wanted in ((fitted, False), (unseen, True)):
            own = [row for row in rows if is_unseen(row["question"]) == is_wanted]
            side[name] = list(itertools.islice(graded(own, evaluator), options.questions))
        print(
            f"{name}: {len(fitted[name])} fitted and {len(unseen[name])} unseen questions with "
            f"evidence, graded by {evaluator.name}",
            flush=True,
        )
    chosen = choose(fitted, node, options)
    defaults = Settings()
    report(
        unseen,
        node,
        {"defaults": (defaults.strip_floor, defaults.strip_top_k)} | chosen,
        options,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
