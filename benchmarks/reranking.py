"""What reranking gains or costs: recall@5 and nDCG before and after, on labelled sets.

    python -m benchmarks.reranking --data DIR [--sets hotpot_100,xquad_en,nq_open_oracle]
        [--from 20] [--questions 40] [--evaluator local]

The distinct passages of a set become one embedded collection, as in `benchmarks.retrieval_quality`;
hybrid retrieval finds the candidates, and the product's reranking orders them by the evaluator's
scores. Before and after are the same candidates, so the differences are paired; the intervals are
95 % bootstrap intervals over questions. A line warns where reranking hurts. The questions are every
n-th of those that the local evaluator was not fitted on. Takes about 3 minutes on two idle cores.
"""

import argparse
import dataclasses
import sys
import tempfile
from collections.abc import Hashable, Sequence
from pathlib import Path

from benchmarks.retrieval_quality import SETS, fill
from benchmarks.unseen import is_unseen
from crag_graph.assembly import load_evaluator
from crag_graph.budget import Budget
from crag_graph.environment import Environment
from crag_graph.evaluation.bootstrap import Bootstrap, Figure
from crag_graph.evaluation.cautions import reranking_cautions
from crag_graph.evaluation.measures import Pair, retrieval
from crag_graph.evaluators.base import RetrievalEvaluator
from crag_graph.evaluators.local import LocalEvaluator
from crag_graph.lazy import Lazy
from crag_graph.models.embeddings import load_embeddings
from crag_graph.nodes.reranking import rerank, widened
from crag_graph.retrieval.index import CollectionSchema
from crag_graph.retrieval.retriever import HybridRetriever
from crag_graph.retrieval.store import open_index
from crag_graph.services import Services
from crag_graph.settings import Settings
from training.labelled import read_rows
from training.retrieval import encoder

_DEPTHS = (5, 10)
_TOLD = ("recall@5", "ndcg@5", "ndcg@10")


def measure(
    services: Services, wanted: Sequence[tuple[str, set[str]]], settings: Settings
) -> tuple[list[dict[str, Pair]], list[dict[str, Pair]]]:
    """Return the measures of each question in the fused order, and those after reranking."""
    before: list[dict[str, Pair]] = []
    after: list[dict[str, Pair]] = []
    retriever = services.retriever.get()
    for question, answering in wanted:
        found = retriever.retrieve(question, settings=widened(settings))
        ranking = rerank(services, question, found, settings=settings, budget=Budget())
        if ranking.error is not None:
            raise ranking.error
        grades: dict[Hashable, float] = dict.fromkeys(answering, 1.0)
        for documents, measured in ((found, before), (ranking.documents, after)):
            texts = [document.page_content for document in documents]
            ranked = [text if text in answering else None for text in texts]
            measured.append(retrieval(ranked, grades, depths=_DEPTHS))
    return before, after


def run(name: str, options: argparse.Namespace, evaluator: RetrievalEvaluator, home: Path) -> bool:
    """Print the figures of one set; return whether reranking hurts nowhere."""
    rows = read_rows(options.data, name)
    texts = list(dict.fromkeys(given["text"] for row in rows for given in row["passages"]))
    wanted = [
        (row["question"], {given["text"] for given in row["passages"] if given["label"]})
        for row in rows
        if is_unseen(row["question"])
    ]
    wanted = [(question, answering) for question, answering in wanted if answering]
    wanted = wanted[:: max(1, -(-len(wanted) // options.questions))]
    embeddings = load_embeddings()
    schema = CollectionSchema(
        name=name, embedding_model=embeddings.name, dimension=embeddings.dimension
    )
    index = open_index(home=home, collection=name, create=schema)
    fill(index, texts)
    settings = Settings(top_k=max(_DEPTHS), rerank_from=options.candidates)
    retriever = HybridRetriever(embeddings=embeddings, index=index)
    services = Services(
        retriever=retriever, evaluator=evaluator, local_evaluator=LocalEvaluator(model=encoder())
    )
    print(f"{name}: {len(texts)} passages, {len(wanted)} questions", flush=True)
    before, after = measure(services, wanted, settings)
    retriever.close()
    draws = Bootstrap(len(wanted), seed=options.seed)
    differences: dict[str, Figure] = {}
    for measured in _TOLD:
        first, second = ([one[measured] for one in each] for each in (before, after))
        figures = draws.ratio(first), draws.ratio(second), draws.difference(second, first)
        old, new, difference = figures
        if old is None or new is None or difference is None:
            continue
        differences[measured] = difference
        print(
            f"  {measured:8} before {_shown(old)}   after {_shown(new)}   "
            f"difference {_shown(difference, sign='+')}",
            flush=True,
        )
    warnings = reranking_cautions(differences, settings)
    for warning in warnings:
        print(f"  ! {warning}", flush=True)
    return not warnings


def _shown(figure: Figure, *, sign: str = "") -> str:
    return f"{figure.value:{sign}.3f} [{figure.low:{sign}.3f}, {figure.high:{sign}.3f}]"


def main() -> int:
    """Measure all sets; return 0, since a set where reranking hurts is a finding and no failure."""
    parser = argparse.ArgumentParser(description="What reranking gains or costs.")
    parser.add_argument("--data", type=Path, required=True, help="the folder of labelled sets")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--from", dest="candidates", type=int, default=20, metavar="N")
    parser.add_argument("--questions", type=int, default=40, help="at most so many a set")
    parser.add_argument("--evaluator", default="local", help="as in CRAG_EVALUATOR")
    parser.add_argument("--seed", type=int, default=0, help="of the intervals")
    options = parser.parse_args()
    local: RetrievalEvaluator = LocalEvaluator(model=encoder())
    environment = dataclasses.replace(Environment.read(), evaluator=options.evaluator)
    evaluator = load_evaluator(environment, Lazy.of(local))
    print(f"reranking by {evaluator.name}, {options.candidates} candidates", flush=True)
    with tempfile.TemporaryDirectory() as home:
        held = [run(name, options, evaluator, Path(home)) for name in options.sets.split(",")]
    hurt = len(held) - sum(held)
    print(f"reranking hurts on {hurt} of {len(held)} sets" if hurt else "reranking hurts nowhere")
    return 0


if __name__ == "__main__":
    sys.exit(main())
