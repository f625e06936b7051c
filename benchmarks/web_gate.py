"""What the gate before web results is worth: cited gold and refusals, with it and without.

    python -m benchmarks.web_gate --data DIR [--questions 100] [--seed 0]

DIR holds nq_open_oracle.jsonl.gz: questions with the one passage each that answers it. Some of
those that the local evaluator was not fitted on are asked of a corpus that holds half of all
passages, and none of theirs, searched by the local embeddings. A web on loopback, in Tavily's wire
format, gives the passages of the other half that are nearest to the question and do not hold its
answer; for every second question also the one that does, at a place of chance. Everything runs
without a language model: the local evaluator grades, the extractive generator quotes. Beside it the
same runs without the gate: the same scores, but nothing from the web is turned away. Intervals are
95 % bootstrap intervals over the questions.
"""

import argparse
import dataclasses
import gzip
import hashlib
import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from langchain_core.documents import Document

from benchmarks.web_loopback import LoopbackWeb, Result
from crag_graph.budget import Budget
from crag_graph.evaluators.base import Evaluation, Passage, RetrievalEvaluator
from crag_graph.evaluators.local import LocalEvaluator
from crag_graph.graph import build_graph
from crag_graph.models.embeddings import load_embeddings
from crag_graph.retrieval.index import Filter
from crag_graph.search.queries import query_key
from crag_graph.search.tavily import TavilySearch
from crag_graph.services import Services
from crag_graph.settings import Settings
from crag_graph.text.keywords import keyword_query
from training.labelled import FITTED, FOLDS
from training.words import words_of

_DISTRACTORS = 4
_RESAMPLES = 2000


@dataclasses.dataclass(frozen=True)
class Row:
    """A question with its answers and the passage that holds them."""

    question: str
    answers: tuple[str, ...]
    title: str
    text: str
    url: str


class DenseCorpus:
    """Passages, found by the cosine of their vectors with the question's."""

    name = "dense corpus"

    def __init__(self, rows: Sequence[Row], vectors: Any, embed: Callable[[str], Any]) -> None:
        self._rows = rows
        self._vectors = vectors
        self._embed = embed

    def retrieve(
        self, question: str, *, settings: Settings, where: Filter | None = None
    ) -> list[Document]:
        """Return the nearest passages."""
        del where
        order = np.argsort(-(self._vectors @ self._embed(question)))[: settings.top_k]
        return [
            Document(
                id=f"c{index}",
                page_content=self._rows[index].text,
                metadata={"source": f"corpus/{index}.txt", "title": self._rows[index].title},
            )
            for index in order
        ]

    async def aretrieve(
        self, question: str, *, settings: Settings, where: Filter | None = None
    ) -> list[Document]:
        """Return the nearest passages."""
        return self.retrieve(question, settings=settings, where=where)

    def is_empty(self) -> bool:
        """Return False."""
        return False


class OpenGate:
    """The local evaluator's scores, lifted so that nothing is turned away; their order stays."""

    name = "open gate"

    def __init__(self, inner: RetrievalEvaluator) -> None:
        self._inner = inner

    def evaluate(
        self, question: str, passages: Sequence[Passage], *, settings: Settings, budget: Budget
    ) -> Evaluation:
        """Return the evaluation with every score in the upper half of what passes."""
        found = self._inner.evaluate(question, passages, settings=settings, budget=budget)
        return Evaluation(
            grades=[{**grade, "score": 1.0, "status": "scored"} for grade in found.grades],
            strip_scores={
                strip["id"]: 0.5 + found.strip_scores.get(strip["id"], 0.0) / 2
                for passage in passages
                for strip in passage.strips
            },
        )

    async def aevaluate(
        self, question: str, passages: Sequence[Passage], *, settings: Settings, budget: Budget
    ) -> Evaluation:
        """Return the evaluation with every score in the upper half of what passes."""
        return self.evaluate(question, passages, settings=settings, budget=budget)


def read(folder: Path) -> list[Row]:
    """Return the questions of the set in `folder`."""
    with gzip.open(folder / "nq_open_oracle.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [
        Row(
            question=row["question"],
            answers=tuple(row["answers"]),
            title=row["passages"][0].get("title") or "",
            text=row["passages"][0]["text"],
            url=f"https://web.example/{number}",
        )
        for number, row in enumerate(rows)
    ]


def unseen(question: str) -> bool:
    """Return whether the fit of the local evaluator did not see `question`."""
    digest = hashlib.sha256(words_of(question).encode()).hexdigest()
    return int(digest, 16) % FOLDS not in FITTED


def holds(text: str, answers: Sequence[str]) -> bool:
    """Return whether one of `answers` is in `text`, whatever the case."""
    return any(answer.lower() in text.lower() for answer in answers)


def interval(hits: Sequence[bool], seed: int) -> str:
    """Return the share of `hits` with its interval, as a percentage."""
    values = np.array(hits, dtype=float)
    draws = np.random.default_rng(seed).choice(values, (_RESAMPLES, len(values))).mean(axis=1)
    low, high = np.quantile(draws, [0.025, 0.975])
    return f"{values.mean():6.1%} [{low:.0%}, {high:.0%}]"


def run(
    asked: Sequence[Row], corpus: DenseCorpus, web: LoopbackWeb, gate: RetrievalEvaluator
) -> list[dict[str, Any]]:
    """Return the final state of each question's run."""
    services = Services(
        retriever=corpus,
        evaluator=LocalEvaluator(),
        local_evaluator=gate,
        web=TavilySearch(api_key="benchmark", base_url=web.url),
    )
    graph = build_graph(services)
    states = []
    for row in asked:
        given: Any = {"question": row.question}
        states.append(dict(graph.invoke(given)))
    return states


def main() -> int:
    """Print both tables; return the exit code."""
    parser = argparse.ArgumentParser(description="What the gate before web results is worth.")
    parser.add_argument("--data", type=Path, required=True, help="the folder of the labelled sets")
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    chance = random.Random(given.seed)
    rows = read(given.data)
    chance.shuffle(rows)
    asked = [row for row in rows if unseen(row.question)][: given.questions]
    rest = [row for row in rows if row not in asked]
    inside, outside = rest[: len(rest) // 2], rest[len(rest) // 2 :]
    embeddings = load_embeddings("local")

    def vectors(texts: list[str]) -> Any:
        return np.array(embeddings.embed_documents(texts), dtype=np.float32)

    def embed(question: str) -> Any:
        return np.array(embeddings.embed_query(question), dtype=np.float32)

    corpus = DenseCorpus(inside, vectors([row.text for row in inside]), embed)
    web_vectors = vectors([row.text for row in outside])
    pages: dict[frozenset[str], list[Result]] = {}
    served: list[bool] = []
    for number, row in enumerate(asked):
        order = np.argsort(-(web_vectors @ embed(row.question)))
        near = [outside[index] for index in order if not holds(outside[index].text, row.answers)]
        found = near[:_DISTRACTORS]
        served.append(number % 2 == 0)
        if served[-1]:
            found.insert(chance.randrange(len(found) + 1), row)
        results = [{"url": page.url, "title": page.title, "text": page.text} for page in found]
        pages[query_key(keyword_query(row.question))] = results
    with LoopbackWeb(lambda query: pages[query_key(query)]) as web:
        local = LocalEvaluator()
        for name, gate in (("with the gate", local), ("without it", OpenGate(local))):
            report(name, asked, served, run(asked, corpus, web, gate), given.seed)
    return 0


def report(
    name: str,
    asked: Sequence[Row],
    served: Sequence[bool],
    states: Sequence[dict[str, Any]],
    seed: int,
) -> None:
    """Print what came of the questions that the web could answer, and of the others."""
    actions = Counter(state["action"] for state in states)
    print(f"\n{name}: {len(asked)} questions, actions {dict(actions)}")
    for there in (True, False):
        chosen = [
            (row, state)
            for row, state, flag in zip(asked, states, served, strict=True)
            if flag is there
        ]
        refused = [state["status"] == "refused" for _, state in chosen]
        cited = [row.url in {c["source"] for c in state["citations"]} for row, state in chosen]
        right = [
            not no and holds(state["answer"], row.answers)
            for (row, state), no in zip(chosen, refused, strict=True)
        ]
        print(f"  gold on the web: {'yes' if there else 'no'} ({len(chosen)} questions)")
        other = [
            any(c["origin"] == "web" and c["source"] != row.url for c in state["citations"])
            for row, state in chosen
        ]
        if there:
            print(f"    answered, gold cited   {interval(cited, seed)}")
        print(f"    another page cited     {interval(other, seed)}")
        print(f"    answer in the reply    {interval(right, seed)}")
        print(f"    refused                {interval(refused, seed)}")


if __name__ == "__main__":
    sys.exit(main())
