"""Recall of dense, sparse and hybrid retrieval on labelled sets, through the product's retriever.

    python -m benchmarks.retrieval_quality --data DIR [--sets xquad_en,nq_open_oracle,hotpot_100]
        [--weight 0.6] [--questions 1200]

The distinct passages of a set become one embedded collection, embedded as ingestion does. Each
question is asked in each mode. Recall@5 is the share of its answering passages among the first five
(of two needed passages, one found counts half); MRR is the mean of one over the rank of the first,
within the first ten. Exits with 1 where hybrid is more than 0.01 below dense. Takes about 5 minutes
on two cores.
"""

import argparse
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Sequence
from pathlib import Path

from crag_graph.models.embeddings import load_embeddings
from crag_graph.retrieval.index import CollectionSchema, Point, VectorIndex
from crag_graph.retrieval.retriever import HybridRetriever
from crag_graph.retrieval.store import open_index
from crag_graph.settings import Settings
from training.labelled import read_rows

SETS = ("xquad_en", "nq_open_oracle", "hotpot_100")
MODES = ("dense", "sparse", "hybrid")
MARGIN = 0.01
_DEPTH = 10
_BATCH = 256


def fill(index: VectorIndex, texts: Sequence[str]) -> None:
    """Store the texts, embedded as ingestion embeds chunks."""
    embeddings = load_embeddings()
    for start in range(0, len(texts), _BATCH):
        batch = list(texts[start : start + _BATCH])
        vectors = embeddings.embed_documents(batch)
        index.upsert(
            [
                Point(
                    id=str(uuid.uuid5(uuid.NAMESPACE_URL, text)),
                    vector=vector,
                    text=text,
                    payload={"document_id": f"passage-{start + offset}", "source": "benchmark"},
                )
                for offset, (text, vector) in enumerate(zip(batch, vectors, strict=True))
            ]
        )
    index.flush()


def measure(
    retriever: HybridRetriever, wanted: Sequence[tuple[str, set[str]]], settings: Settings
) -> tuple[float, float]:
    """Return recall@5 and MRR@10 over the questions and the texts that answer them."""
    recalls, reciprocals = [], []
    for question, answering in wanted:
        found = [d.page_content for d in retriever.retrieve(question, settings=settings)]
        recalls.append(len(answering & set(found[:5])) / len(answering))
        ranks = [rank for rank, text in enumerate(found, 1) if text in answering]
        reciprocals.append(1 / ranks[0] if ranks else 0.0)
    return statistics.mean(recalls), statistics.mean(reciprocals)


def run(name: str, options: argparse.Namespace, home: Path) -> dict[str, float]:
    """Print the figures of one set; return mode → recall@5."""
    rows = read_rows(options.data, name)
    texts = list(dict.fromkeys(given["text"] for row in rows for given in row["passages"]))
    wanted = [
        (row["question"], {given["text"] for given in row["passages"] if given["label"]})
        for row in rows
    ]
    wanted = [(question, answering) for question, answering in wanted if answering]
    wanted = wanted[:: max(1, -(-len(wanted) // options.questions))]
    embeddings = load_embeddings()
    schema = CollectionSchema(
        name=name, embedding_model=embeddings.name, dimension=embeddings.dimension
    )
    started = time.perf_counter()
    index = open_index(home=home, collection=name, create=schema)
    fill(index, texts)
    took = time.perf_counter() - started
    print(f"{name}: {len(texts)} passages in {took:.0f} s, {len(wanted)} questions", flush=True)
    retriever = HybridRetriever(embeddings=embeddings, index=index)
    recalls = {}
    for mode in MODES:
        settings = Settings(retrieval_mode=mode, top_k=_DEPTH, dense_weight=options.weight)
        recalls[mode], reciprocal = measure(retriever, wanted, settings)
        print(f"  {mode:7} recall@5 {recalls[mode]:.3f}   MRR {reciprocal:.3f}", flush=True)
    retriever.close()
    return recalls


def main() -> int:
    """Measure all sets; return 0 when hybrid holds up on each."""
    parser = argparse.ArgumentParser(description="Recall of dense, sparse and hybrid retrieval.")
    parser.add_argument("--data", type=Path, required=True, help="the folder of labelled sets")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument(
        "--weight", type=float, default=Settings().dense_weight, help="of the dense list"
    )
    parser.add_argument("--questions", type=int, default=100_000, help="at most so many a set")
    options = parser.parse_args()
    held = True
    with tempfile.TemporaryDirectory() as home:
        for name in options.sets.split(","):
            recalls = run(name, options, Path(home))
            held &= recalls["hybrid"] >= recalls["dense"] - MARGIN
    print("hybrid holds up on every set" if held else "hybrid is below dense")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
