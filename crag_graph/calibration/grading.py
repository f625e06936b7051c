"""Grading each question's passages once, with the evaluator that a run would use."""

import dataclasses
from collections.abc import Callable, Sequence

from langchain_core.documents import Document

from crag_graph.budget import Budget
from crag_graph.calibration.labels import LabelledPassage, LabelledQuestion
from crag_graph.calibration.scores import ScoreStore
from crag_graph.errors import CRAGError
from crag_graph.evaluators.base import Passage, RetrievalEvaluator
from crag_graph.evaluators.fingerprint import fingerprint_of
from crag_graph.evaluators.grading import align_grades, as_passages
from crag_graph.retrieval.retriever import Retriever
from crag_graph.settings import Settings
from crag_graph.state import as_documents
from crag_graph.text.strips import deduplicate_documents
from crag_graph.text.titles import title_of

Progress = Callable[[int, int], None]
"""Called with how many questions are done, and of how many."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Graded:
    """The scores of labelled questions.

    Attributes:
        questions: Those that were graded, with the passages that they were graded on.
        scores: For each question one score a passage, 0–1; None where there is no grade.
        calls: Requests to a language model that this took.
        reused: Questions whose scores were kept from before.
        failed: Passages that could not be graded this time; they are tried again the next time.
    """

    questions: tuple[LabelledQuestion, ...]
    scores: tuple[tuple[float | None, ...], ...]
    calls: int = 0
    reused: int = 0
    failed: int = 0


def with_passages(
    questions: Sequence[LabelledQuestion],
    retriever: Retriever | None,
    settings: Settings,
    *,
    progress: Progress | None = None,
) -> tuple[list[LabelledQuestion], list[list[Document]]]:
    """Return the questions with their documents, retrieved for those that have none of their own.

    Without a retriever these have none. `progress` is told of every question that is retrieved for.

    Raises:
        StoreError: The collection does not exist or cannot be searched.
    """
    filled: list[LabelledQuestion] = []
    documents: list[list[Document]] = []
    for number, question in enumerate(questions, 1):
        if question.passages or retriever is None:
            found = [
                Document(id=f"p{place}", page_content=passage.text)
                for place, passage in enumerate(question.passages)
            ]
            filled.append(question)
        else:
            retrieved = retriever.retrieve(question.text, settings=settings)
            some = [document for document in retrieved if document.page_content.strip()]
            found = as_documents(None, deduplicate_documents(some))
            passages = tuple(LabelledPassage(text=document.page_content) for document in found)
            filled.append(dataclasses.replace(question, passages=passages))
            if progress is not None:
                progress(number, len(questions))
        documents.append(found)
    return filled, documents


class Grader:
    """Grades questions with an evaluator, and keeps the scores.

    Args:
        evaluator: The retrieval evaluator.
        settings: Of a run: mode, batches, prompts.
        store: Where scores are kept.
    """

    def __init__(
        self, evaluator: RetrievalEvaluator, settings: Settings, store: ScoreStore
    ) -> None:
        self.evaluator = evaluator
        self.settings = settings
        self.store = store
        self.fingerprint = fingerprint_of(evaluator, settings)

    def waiting(
        self, questions: Sequence[LabelledQuestion], documents: Sequence[Sequence[Document]]
    ) -> list[int]:
        """Return the numbers of the questions that have no scores yet."""
        return [
            number
            for number, (question, found) in enumerate(zip(questions, documents, strict=True))
            if found and self._known(question, found) is None
        ]

    def grade(
        self,
        questions: Sequence[LabelledQuestion],
        documents: Sequence[Sequence[Document]],
        *,
        progress: Progress | None = None,
    ) -> Graded:
        """Return the scores of all questions, each one graded now that was not graded before.

        Raises:
            ModelError: The evaluator failed; what was graded before that is kept.
        """
        scores: list[tuple[float | None, ...]] = []
        calls = reused = failed = 0
        for number, (question, found) in enumerate(zip(questions, documents, strict=True)):
            known = self._known(question, found) if found else []
            if known is not None:
                reused += 1
                scores.append(tuple(known))
            else:
                fresh, used, missing = self._grade(question, found)
                scores.append(fresh)
                calls += used
                failed += missing
            if progress is not None:
                progress(number + 1, len(questions))
        return Graded(
            questions=tuple(questions),
            scores=tuple(scores),
            calls=calls,
            reused=reused,
            failed=failed,
        )

    def _known(
        self, question: LabelledQuestion, documents: Sequence[Document]
    ) -> list[float | None] | None:
        return self.store.get(self.fingerprint, question.text, _passages(documents))

    def _grade(
        self, question: LabelledQuestion, documents: Sequence[Document]
    ) -> tuple[tuple[float | None, ...], int, int]:
        passages = as_passages(documents, origin="internal")
        try:
            evaluation = self.evaluator.evaluate(
                question.text, passages, settings=self.settings, budget=Budget()
            )
        except CRAGError as error:
            where = f" (line {question.line})" if question.line else ""
            error.message = (
                f"grading stopped at the question {question.text[:60]!r}{where}: {error.message}; "
                "the scores so far are kept, so run the same command again to go on"
            )
            error.args = (error.message,)
            raise
        grades = align_grades(passages, evaluation, evaluator=self.evaluator.name)
        scores = [grade["score"] for grade in grades]
        failed = sum(grade["status"] == "failed" for grade in grades)
        if not failed:
            self.store.put(self.fingerprint, question.text, passages, scores)
        return tuple(scores), evaluation.usage.get("llm_calls", 0), failed


def _passages(documents: Sequence[Document]) -> list[Passage]:
    """Return what identifies the passages, not yet cut into strips."""
    return [
        Passage(id=document.id or "", text=document.page_content, title=title_of(document))
        for document in documents
    ]
