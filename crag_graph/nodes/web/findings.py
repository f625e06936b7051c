"""What a web step has found and kept so far, and how it is told."""

import dataclasses
from collections import Counter
from collections.abc import Sequence
from typing import Literal

from langchain_core.documents import Document

from crag_graph.errors import BudgetExceededError, SearchError
from crag_graph.evaluators.base import Evaluation, Passage
from crag_graph.evaluators.grading import align_grades, scored_strips
from crag_graph.search.base import SearchResult
from crag_graph.search.rank import document_key
from crag_graph.settings import Settings, Thresholds
from crag_graph.state import Grade, NodeUsage, Strip, as_documents
from crag_graph.text.strips import deduplicate, select
from crag_graph.wording import counted

_Count = Literal["llm_calls", "input_tokens", "output_tokens", "cache_hits"]
_COUNTS: tuple[_Count, ...] = ("llm_calls", "input_tokens", "output_tokens", "cache_hits")


@dataclasses.dataclass
class Findings:
    """The notes of a web step, filled as it goes.

    Attributes:
        queries: Those that were sent, in their order.
        documents: What was found, each with an id.
        grades: What the gate says of them.
        strips: Theirs, scored, none kept yet.
    """

    queries: list[str] = dataclasses.field(default_factory=list)
    documents: list[Document] = dataclasses.field(default_factory=list)
    grades: list[Grade] = dataclasses.field(default_factory=list)
    strips: list[Strip] = dataclasses.field(default_factory=list)
    usage: NodeUsage = dataclasses.field(default_factory=NodeUsage)
    fallbacks: list[str] = dataclasses.field(default_factory=list)
    failures: list[str] = dataclasses.field(default_factory=list)
    warnings: list[str] = dataclasses.field(default_factory=list)
    providers: dict[str, None] = dataclasses.field(default_factory=dict)
    skipped: Counter[str] = dataclasses.field(default_factory=Counter)
    answered: bool = False

    def spend(self, usage: NodeUsage) -> None:
        """Add the calls and tokens of `usage`."""
        for name in _COUNTS:
            if count := usage.get(name, 0):
                self.usage[name] = self.usage.get(name, 0) + count

    def searched(
        self, queries: Sequence[str], outcomes: Sequence[SearchResult | SearchError]
    ) -> list[SearchResult]:
        """Take down what came of `queries`, and return the results among it."""
        self.queries += queries
        self.usage["web_searches"] = len(self.queries)
        failed = [outcome for outcome in outcomes if isinstance(outcome, SearchError)]
        results = [outcome for outcome in outcomes if isinstance(outcome, SearchResult)]
        self.answered = self.answered or bool(results)
        reasons = dict.fromkeys(error.message for error in failed)
        self.failures += [f"web search: {reason}" for reason in reasons]
        if failed and results:
            said = "; ".join(reasons)
            sent = counted(len(outcomes), "web search", "web searches")
            self.warnings.append(f"{len(failed)} of {sent} failed: {said}")
        elif failed:
            self.warnings += [f"web search failed: {reason}" for reason in reasons]
        for result in results:
            self.providers.setdefault(result.provider)
            self.skipped.update(result.skipped)
            self.fallbacks += [note for note in result.notes if note not in self.fallbacks]
        return results

    def stopped(self, error: BudgetExceededError) -> None:
        """Take down that the budget allows no further search."""
        self.failures.append(f"web search: {error.message}")
        self.warnings.append(f"web search failed: {error.message}")

    def found(self, documents: Sequence[Document]) -> list[Document]:
        """Take down `documents`, and return those that are new, each with its id."""
        before = {document.id for document in self.documents}
        known = {document_key(document) for document in self.documents}
        new = [item for item in documents if document_key(item) not in known]
        self.documents = as_documents(None, [*self.documents, *new])
        return [document for document in self.documents if document.id not in before]

    def judged(self, passages: Sequence[Passage], evaluation: Evaluation, *, gate: str) -> None:
        """Take down what the gate says of `passages`."""
        self.spend(evaluation.usage)
        self.usage["evaluator_calls"] = self.usage.get("evaluator_calls", 0) + 1
        self.fallbacks += evaluation.notes
        self.grades += align_grades(passages, evaluation, evaluator=gate)
        self.strips += scored_strips(passages, evaluation.strip_scores)

    def selected(self, settings: Settings, thresholds: Thresholds) -> list[Strip]:
        """Return all strips, those kept that hold up by the standard of internal ones.

        Of a page graded up to the lower threshold nothing is kept. A page that could not be graded
        is not used either: unlike a passage of the corpus, nobody vouches for it.
        """
        scores = {grade["document_id"]: grade["score"] for grade in self.grades}
        usable = {key: score for key, score in scores.items() if score and score > thresholds.lower}
        judged = {strip["document_id"] for strip in self.strips if strip["score"] is not None}
        high = {
            key for key, score in usable.items() if key not in judged or score >= thresholds.upper
        }
        chosen = select(
            [strip for strip in self.strips if strip["document_id"] in usable],
            floor=settings.strip_floor,
            top_k=settings.strip_top_k,
            keep_documents=high,
            distinct=True,
        )
        by_id = {strip["id"]: strip for strip in deduplicate(chosen)}
        return [by_id.get(strip["id"], strip) for strip in self.strips]

    def summary(self, web: str) -> str:
        """Return what was found, in one clause that a refusal can quote."""
        clause = f"{counted(len(self.documents), 'result')} from {', '.join(self.providers) or web}"
        scores = [grade["score"] for grade in self.grades if grade["score"] is not None]
        about = [f"best {max(scores):.2f}"] if scores else []
        if self.skipped:
            left_out = ", ".join(f"{reason} {n}" for reason, n in sorted(self.skipped.items()))
            about.append(f"left out: {left_out}")
        return f"{clause} ({'; '.join(about)})" if about else clause
