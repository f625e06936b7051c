"""Grades from a cache: asked once for the same question, passage, model and prompt."""

import asyncio
import dataclasses
import datetime
from collections.abc import Callable, Sequence
from typing import Any

from crag_graph.budget import Budget
from crag_graph.evaluators.base import (
    Cacheable,
    Evaluation,
    Passage,
    RetrievalEvaluator,
    asks_model,
)
from crag_graph.evaluators.cached.entries import (
    Keys,
    entry_of,
    grade_from,
)
from crag_graph.evaluators.cached.store import GradeStore
from crag_graph.evaluators.fingerprint import fingerprint_of
from crag_graph.evaluators.grading import align_grades
from crag_graph.settings import Settings
from crag_graph.state import Grade, NodeUsage
from crag_graph.text.timely import is_time_sensitive
from crag_graph.wording import counted


def _today() -> datetime.date:
    return datetime.datetime.now().astimezone().date()


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Look:
    """What the cache knows of one question.

    Attributes:
        keys: The keys of `passages`.
        passages: Those that are not blank.
        joint: Whether all are needed, or each is worth having.
        grades: Passage id → grade.
        strips: Strip id → score.
        query: The web query, where grades are joint.
        trouble: Why the cache could not be asked.
    """

    keys: Keys
    passages: tuple[Passage, ...]
    blank: tuple[Passage, ...]
    joint: bool
    grades: dict[str, Grade]
    strips: dict[str, float]
    query: str
    trouble: str

    @property
    def missing(self) -> list[Passage]:
        """The passages that the evaluator is asked about."""
        return [passage for passage in self.passages if passage.id not in self.grades]


class CachedEvaluator:
    """Gives what `inner` gave before; asks it for the rest.

    A grade is kept under a hash of the question, the passage (title, text, strips, origin), and all
    that `inner` says its grades depend on: model or fit, options, prompts, mode, the settings that
    change what it sees. A question that asks for what is current holds the date as well. Where
    grades depend on the other candidates (the local evaluator weighs terms over all of them; a
    language model reads several in a call), the key holds the set of them, whatever its order, and
    the whole set is found or none of it. An evaluator that does not say so counts as such, with all
    settings.

    Only clean scores are kept: what failed or is unknown is asked for again. Strip scores and the
    web query are kept with them. Hits are counted in `usage`, and noted. Without a cache that fails
    the question goes on, and a note says so.

    Args:
        inner: Grades what is not in the cache.
        store: Keeps grades.
        today: What date it is.
    """

    def __init__(
        self,
        inner: RetrievalEvaluator,
        store: GradeStore,
        *,
        today: Callable[[], datetime.date] = _today,
    ) -> None:
        self.inner = inner
        self.store = store
        self.name = inner.name
        self.asks_model = asks_model(inner)
        self._today = today

    def evaluate(
        self, question: str, passages: Sequence[Passage], *, settings: Settings, budget: Budget
    ) -> Evaluation:
        """Return the evaluation of `passages`."""
        look = self._look(question, passages, settings)
        if not look.missing:
            return self._found(look, None, "")
        asked = look.missing
        fresh = self.inner.evaluate(question, asked, settings=settings, budget=budget)
        return self._found(look, fresh, self._keep(look, fresh))

    async def aevaluate(
        self, question: str, passages: Sequence[Passage], *, settings: Settings, budget: Budget
    ) -> Evaluation:
        """Return what `evaluate` does; the cache is asked in a thread."""
        look = await asyncio.to_thread(self._look, question, passages, settings)
        if not look.missing:
            return self._found(look, None, "")
        asked = look.missing
        fresh = await self.inner.aevaluate(question, asked, settings=settings, budget=budget)
        return self._found(look, fresh, await asyncio.to_thread(self._keep, look, fresh))

    def fingerprint(self, settings: Settings) -> str:
        """Return what scores depend on: the cache changes none."""
        return fingerprint_of(self.inner, settings)

    def basis(self, question: str, settings: Settings) -> str:
        """Return all that an answer to `question` depends on, passages aside."""
        if isinstance(self.inner, Cacheable):
            depends = self.inner.cache_key(settings)
        else:
            depends = f"{fingerprint_of(self.inner, settings)}:{settings.model_dump_json()}"
        today = self._today()
        return f"{depends}:{today if is_time_sensitive(question, today=today) else ''}"

    def _look(self, question: str, passages: Sequence[Passage], settings: Settings) -> _Look:
        blank = tuple(passage for passage in passages if not passage.text.strip())
        given = tuple(passage for passage in passages if passage.text.strip())
        joint = not isinstance(self.inner, Cacheable) or self.inner.joint(settings)
        keys = Keys.of(self.basis(question, settings), question, given, joint=joint)
        wanted = [*keys.passages, *([keys.together] if joint else [])]
        entries, trouble = self.store.get(wanted) if given else ({}, "")
        found = {
            passage.id: known
            for passage, key in zip(given, keys.passages, strict=True)
            if (known := grade_from(entries.get(key), passage)) is not None
        }
        whole = entries.get(keys.together)
        query = whole.get("query") if isinstance(whole, dict) else None
        if joint and (len(found) < len(given) or not isinstance(query, str)):
            found = {}
        return _Look(
            keys=keys,
            passages=given,
            blank=blank,
            joint=joint,
            grades={key: grade for key, (grade, _) in found.items()},
            strips={key: score for _, strips in found.values() for key, score in strips.items()},
            query=query if isinstance(query, str) and joint else "",
            trouble=trouble,
        )

    def _keep(self, look: _Look, fresh: Evaluation) -> str:
        """Put clean grades into the cache; return what kept it from that."""
        if look.trouble:
            return ""
        grades = align_grades(look.passages, fresh, evaluator=self.name)
        entries: dict[str, Any] = {}
        for passage, key, grade in zip(look.passages, look.keys.passages, grades, strict=True):
            if (entry := entry_of(passage, grade, fresh.strip_scores)) is not None:
                entries[key] = entry
        if look.joint:
            if not all(key in entries for key in look.keys.passages):
                return ""
            entries[look.keys.together] = {"query": fresh.search_query}
        return self.store.set(entries)

    def _found(self, look: _Look, fresh: Evaluation | None, trouble: str) -> Evaluation:
        """Return what was in the cache and what was not, as one evaluation."""
        fresh = fresh or Evaluation(grades=(), search_query=look.query)
        notes = [*fresh.notes]
        usage: NodeUsage = {**fresh.usage}
        if hits := len(look.grades):
            usage["cache_hits"] = usage.get("cache_hits", 0) + hits
            count = counted(len(look.passages), "grade")
            notes.append(f"{hits} of {count} came from the cache ({self.store.label})")
        if trouble := look.trouble or trouble:
            notes.append(failed_note(self.store, trouble))
        blank = [
            Grade(
                document_id=passage.id,
                score=None,
                raw=None,
                status="unknown",
                reason="the passage is blank",
                evaluator=self.name,
            )
            for passage in look.blank
        ]
        return dataclasses.replace(
            fresh,
            grades=[*look.grades.values(), *fresh.grades, *blank],
            strip_scores={**look.strips, **fresh.strip_scores},
            usage=usage,
            notes=notes,
        )


def failed_note(store: GradeStore, trouble: str) -> str:
    """Return the sentence for a cache that could not be used."""
    return f"the cache ({store.label}) failed and was not used: {trouble}"
