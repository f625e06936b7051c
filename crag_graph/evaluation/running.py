"""Running the questions of a data set through both arms."""

import asyncio
import copy
import time
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.documents import Document

from crag_graph.errors import ConfigurationError, CRAGError
from crag_graph.evaluation.configuration import asks_models, build
from crag_graph.evaluation.examples import Example
from crag_graph.evaluation.gold import Gold
from crag_graph.evaluation.observing import observe, supported
from crag_graph.evaluation.own_passages import EXAMPLE, OwnPassages
from crag_graph.evaluation.plain import build_plain_graph, plain_settings
from crag_graph.evaluation.records import Arm, Outcome, Record
from crag_graph.graph import CRAGGraph, build_graph
from crag_graph.lazy import Lazy
from crag_graph.models.embeddings import load_embeddings
from crag_graph.redaction import redact
from crag_graph.services import Services
from crag_graph.settings import Settings

DEFAULT_CONCURRENCY = 4
"""Questions at once with a language model, which is waited for."""

_HOPELESS = 5
"""So many questions that fail from the first on are the configuration's fault, not theirs."""

Tell = Callable[[Record], None]


class Runner:
    """Runs questions, and keeps what has been done whatever happens meanwhile.

    Args:
        examples: The questions; all with passages of their own, or none.
        services: The collaborators; for own passages another retriever takes the place of theirs.
        settings: Of every run.
        baseline: Whether plain RAG is run beside.
        concurrency: Questions at once; None for one without a language model, since then they share
            the processor, and four with one.
        relevant_from: The label from which a passage answers.
        tell: Called with every record as soon as it is there.

    Attributes:
        records: What is done, in the order in which it was finished. Questions that have a record
            from the start are not run again.
        tell: As given.
    """

    def __init__(
        self,
        examples: Sequence[Example],
        *,
        services: Services,
        settings: Settings,
        baseline: bool = True,
        concurrency: int | None = None,
        relevant_from: float = 1.0,
        tell: Tell | None = None,
    ) -> None:
        if settings.approve_searches:
            raise ConfigurationError(
                "approve_searches: nobody approves searches during an evaluation; set it to off"
            )
        services.thresholds(settings)  # impossible ones are refused before anything is spent
        self.examples = examples
        self.settings = settings
        self.baseline = baseline
        self.services, self._own = _with_passages(services, examples)
        self.records: list[Record] = []
        self._concurrency = concurrency
        self._relevant_from = relevant_from
        self.tell = tell

    @property
    def concurrency(self) -> int:
        """How many questions run at once."""
        return self._concurrency or (DEFAULT_CONCURRENCY if asks_models(self.services) else 1)

    async def run(self) -> None:
        """Run what is left to do.

        Raises:
            CRAGError: A collaborator cannot be built, or the first five questions all failed.
        """
        await build(self.services)
        arms: dict[Arm, CRAGGraph] = {"crag": build_graph(self.services, name="crag-eval")}
        if self.baseline:
            arms["plain"] = build_plain_graph(self.services)
        done = {record.id for record in self.records}
        waiting = iter([example for example in self.examples if example.id not in done])

        async def work() -> None:
            for example in waiting:
                record = await self._question(example, arms)
                self.records.append(record)
                if self.tell is not None:
                    self.tell(record)
                self._give_up_where_hopeless()

        workers = [asyncio.create_task(work()) for _ in range(self.concurrency)]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)

    async def _question(self, example: Example, arms: dict[Arm, CRAGGraph]) -> Record:
        gold = Gold(example, relevant_from=self._relevant_from)
        outcomes: dict[str, Outcome] = {}
        found: Sequence[Document] | None = None
        for name, graph in arms.items():
            outcomes[name], documents = await self._arm(name, graph, example, gold)
            found = documents if found is None else found
        return Record(
            id=example.id,
            question=example.question,
            should_answer=example.should_answer,
            supported=None if found is None else supported(found, example, gold),
            arms=outcomes,
        )

    async def _arm(
        self, name: Arm, graph: CRAGGraph, example: Example, gold: Gold
    ) -> tuple[Outcome, Sequence[Document] | None]:
        given: Any = {"question": example.question}
        settings = self.settings if name == "crag" else plain_settings(self.settings)
        started = time.perf_counter()
        try:
            if self._own is not None:
                given["filter"] = {EXAMPLE: example.id}
                await asyncio.to_thread(self._own.prepare, example)
                started = time.perf_counter()
            state = await graph.ainvoke(given, context=settings)
        except CRAGError as error:
            return _failed(error.message, started), None
        # A collaborator of the user's own may raise anything; one question must not cost the rest.
        except Exception as error:  # noqa: BLE001
            what = redact(" ".join(str(error).split())) or "no message"
            return _failed(f"unexpected {type(error).__name__}: {what}", started), None
        seconds = time.perf_counter() - started
        outcome = observe(state, example, gold, top_k=settings.top_k, seconds=seconds)
        return outcome, state.get("documents") or []

    def _give_up_where_hopeless(self) -> None:
        if len(self.records) == _HOPELESS and all(record.failed for record in self.records):
            error = next(o.error for o in self.records[-1].arms.values() if o.error)
            raise CRAGError(f"each of the first {_HOPELESS} questions failed, the last so: {error}")


def _failed(error: str, started: float) -> Outcome:
    return Outcome(status="failed", error=error, seconds=time.perf_counter() - started)


def _with_passages(
    services: Services, examples: Sequence[Example]
) -> tuple[Services, OwnPassages | None]:
    if not examples or not examples[0].passages:
        return services, None
    environment = services.environment
    named = environment.get().embeddings if environment is not None else "local"
    own = OwnPassages(examples, embeddings=load_embeddings(named))
    changed = copy.copy(services)
    changed.retriever = Lazy.of(own)
    return changed, own
