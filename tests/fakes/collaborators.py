"""Collaborators that do what a test says: a retriever, an evaluator, a generator, a web search."""

import asyncio
import datetime
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.documents import Document

from crag_graph.budget import Budget
from crag_graph.evaluators.base import Evaluation, Passage
from crag_graph.generation.base import Generation, GenerationRequest
from crag_graph.retrieval.index import Filter
from crag_graph.services import Services
from crag_graph.settings import Settings
from crag_graph.state import Grade

TODAY = datetime.date(2026, 11, 30)


def doc(name: str, text: str | None = None, **metadata: Any) -> Document:
    """A document called `name`, which says one sentence unless a text is given."""
    return Document(
        id=name,
        page_content=text if text is not None else f"{name} tells of the ferry.",
        metadata={"source": f"{name}.md"} | metadata,
    )


class StubRetriever:
    """Returns `documents`, or what the callable makes of the question; raises an exception."""

    name = "stub"

    def __init__(
        self,
        documents: Sequence[Document] | Callable[[str], Sequence[Document]] | Exception = (),
        *,
        empty: bool = False,
    ) -> None:
        self.documents = documents
        self.empty = empty
        self.calls: list[tuple[str, Filter | None]] = []

    def retrieve(
        self, question: str, *, settings: Settings, where: Filter | None = None
    ) -> list[Document]:
        self.calls.append((question, where))
        if isinstance(self.documents, Exception):
            raise self.documents
        found = self.documents(question) if callable(self.documents) else self.documents
        return list(found)[: settings.top_k]

    async def aretrieve(
        self, question: str, *, settings: Settings, where: Filter | None = None
    ) -> list[Document]:
        return self.retrieve(question, settings=settings, where=where)

    def is_empty(self) -> bool:
        return self.empty


class StubEvaluator:
    """Grades passages by id, and gives every strip its passage's score unless told otherwise."""

    def __init__(
        self,
        scores: Mapping[str, float | None] | Callable[[Passage], float | None] | Exception,
        *,
        strips: bool | Mapping[str, float] = True,
        query: str = "",
        name: str = "stub-evaluator",
        notes: Sequence[str] = (),
    ) -> None:
        self.scores = scores
        self.strips = strips
        self.query = query
        self.name = name
        self.notes = notes
        self.calls: list[list[str]] = []

    def evaluate(
        self, question: str, passages: Sequence[Passage], *, settings: Settings, budget: Budget
    ) -> Evaluation:
        self.calls.append([passage.id for passage in passages])
        if isinstance(self.scores, Exception):
            raise self.scores
        score = self.scores if callable(self.scores) else lambda p: self.scores.get(p.id)
        grades = [self._grade(passage.id, score(passage)) for passage in passages]
        return Evaluation(
            grades=grades,
            strip_scores=self._strip_scores(passages, score),
            search_query=self.query,
            notes=self.notes,
        )

    async def aevaluate(
        self, question: str, passages: Sequence[Passage], *, settings: Settings, budget: Budget
    ) -> Evaluation:
        await asyncio.sleep(0)
        return self.evaluate(question, passages, settings=settings, budget=budget)

    def _grade(self, document_id: str, score: float | None) -> Grade:
        return {
            "document_id": document_id,
            "score": score,
            "raw": score,
            "status": "unknown" if score is None else "scored",
            "reason": "as the test says",
            "evaluator": self.name,
        }

    def _strip_scores(
        self, passages: Sequence[Passage], score: Callable[[Passage], float | None]
    ) -> Mapping[str, float]:
        if not isinstance(self.strips, bool):
            return self.strips
        return {
            strip["id"]: value
            for passage in passages
            for strip in passage.strips
            if self.strips and (value := score(passage)) is not None
        }


class StubGenerator:
    """Answers with `answer`, or what the callable makes of the request; counts its calls."""

    name = "stub-generator"

    def __init__(
        self,
        answer: str | Callable[[GenerationRequest], str] | Exception = "The answer [1].",
        *,
        refused: bool = False,
    ) -> None:
        self.answer = answer
        self.refused = refused
        self.requests: list[GenerationRequest] = []
        self._lock = threading.Lock()

    def generate(
        self, request: GenerationRequest, *, settings: Settings, budget: Budget
    ) -> Generation:
        with self._lock:
            self.requests.append(request)
        if isinstance(self.answer, Exception):
            raise self.answer
        text = self.answer(request) if callable(self.answer) else self.answer
        return Generation(answer=text, refused=self.refused)

    async def agenerate(
        self, request: GenerationRequest, *, settings: Settings, budget: Budget
    ) -> Generation:
        await asyncio.sleep(0)
        return self.generate(request, settings=settings, budget=budget)


class StubWeb:
    """Finds `results`, or raises; remembers the queries."""

    name = "stub-web"

    def __init__(self, results: Sequence[Document] | Exception = ()) -> None:
        self.results = results
        self.queries: list[str] = []

    def search(self, query: str, *, max_results: int, seconds: float) -> list[Document]:
        self.queries.append(query)
        if isinstance(self.results, Exception):
            raise self.results
        return list(self.results)[:max_results]

    async def asearch(self, query: str, *, max_results: int, seconds: float) -> list[Document]:
        await asyncio.sleep(0)
        return self.search(query, max_results=max_results, seconds=seconds)


def services(**given: Any) -> Services:
    """Services made of stubs: one good passage and an answer that cites it, unless told otherwise.

    The local evaluator, which judges web results, lets everything pass.
    """
    stubs: dict[str, Any] = {
        "retriever": StubRetriever([doc("d1")]),
        "evaluator": StubEvaluator(lambda _: 0.9),
        "local_evaluator": StubEvaluator(lambda _: 0.8, name="stub-local"),
        "generator": StubGenerator(),
        "today": lambda: TODAY,
    }
    return Services(**(stubs | given))
