"""An evaluation: the questions, the runner, what is written meanwhile, and the report."""

import contextlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from crag_graph.errors import InputError
from crag_graph.evaluation.bootstrap import Bootstrap
from crag_graph.evaluation.cautions import cautions
from crag_graph.evaluation.configuration import build, calls_a_question, configuration_of
from crag_graph.evaluation.datasets import label_counts, read_dataset, sample
from crag_graph.evaluation.examples import Example
from crag_graph.evaluation.records import Arm, Record
from crag_graph.evaluation.report import (
    Figures,
    Report,
    confusion_of,
    cost_of,
    degraded_of,
    difference_of,
    failures_of,
    figures_of,
)
from crag_graph.evaluation.results import ResultsFile, fingerprint
from crag_graph.evaluation.running import Runner, Tell
from crag_graph.services import Services
from crag_graph.settings import Settings


class Evaluation:
    """An evaluation that is run once and can be reported on at any time.

    Args:
        dataset: A file (see `read_dataset`), or examples.
        services: The collaborators.
        settings: Of every run.
        baseline: Whether plain RAG is run beside.
        limit: At most so many questions, drawn at random.
        seed: Of the draw and of the intervals.
        concurrency: Questions at once; see `Runner`.
        relevant_from: The label from which a passage answers.
        results: A file that records are written to as they come, and read from where it exists.
        tell: Called with every record, those that are read from `results` first.

    Attributes:
        name: What the data set is called.
        examples: The questions that are run.
        runner: Runs them; holds what is done.
        tell: As given; may be set before the run.
        kept: How many records were read from `results` rather than made anew.
        interrupted: Whether it has not been run to its end.

    Raises:
        InputError: The file or the examples cannot be used, or the limit is below 1.
        ConfigurationError: The settings cannot be used.
    """

    def __init__(
        self,
        dataset: Path | str | Sequence[Example],
        *,
        services: Services,
        settings: Settings | None = None,
        baseline: bool = True,
        limit: int | None = None,
        seed: int = 0,
        concurrency: int | None = None,
        relevant_from: float = 1.0,
        results: Path | None = None,
        tell: Tell | None = None,
    ) -> None:
        if limit is not None and limit < 1:
            raise InputError(f"limit: at least 1 is needed, not {limit}")
        if isinstance(dataset, Path | str):
            self.name = str(dataset)
            every = read_dataset(dataset, relevant_from=relevant_from)
        else:
            self.name = "examples"
            every = list(dataset)
            _check(every)
        self.examples = sample(every, limit=limit, seed=seed)
        self._seed = seed
        self.tell = tell
        self._results = results
        self._every = every
        self._relevant_from = relevant_from
        self.runner = Runner(
            self.examples,
            services=services,
            settings=settings or Settings(),
            baseline=baseline,
            concurrency=concurrency,
            relevant_from=relevant_from,
        )
        self.kept = 0
        self.interrupted = True  # until it is done

    def expected_calls(self) -> int:
        """Return the most calls to language models that lie ahead, repetitions aside."""
        runner = self.runner
        return len(self.examples) * calls_a_question(
            runner.services, runner.settings, baseline=runner.baseline
        )

    async def arun(self) -> None:
        """Run all questions; stopped half way, what was done can still be reported.

        Raises:
            CRAGError: A collaborator cannot be built, or the first five questions all failed.
        """
        with contextlib.ExitStack() as stack:
            if self._results is not None:
                file = stack.enter_context(
                    ResultsFile(self._results, configuration=await self._fingerprinted())
                )
                wanted = {example.id for example in self.examples}
                self.runner.records = [record for record in file.done if record.id in wanted]
                self.kept = len(self.runner.records)
                self.runner.tell = _both(file.add, self.tell)
                if self.tell is not None:
                    for record in self.runner.records:
                        self.tell(record)
            else:
                self.runner.tell = self.tell
            await self.runner.run()
        self.interrupted = False

    def report(self) -> Report:
        """Return the report on what has been done so far."""
        runner = self.runner
        place = {example.id: number for number, example in enumerate(self.examples)}
        records: list[Record] = sorted(runner.records, key=lambda record: place[record.id])
        draws = Bootstrap(len(records), seed=self._seed)
        arms: tuple[Arm, ...] = ("crag", "plain") if runner.baseline else ("crag",)
        figures: dict[str, Figures] = {arm: figures_of(records, arm, draws) for arm in arms}
        difference = difference_of(records, draws) if runner.baseline else {}
        failed, degraded = failures_of(records), degraded_of(records)
        web = runner.services.web
        return Report(
            dataset={"name": self.name, "questions": len(self.examples)}
            | label_counts(self.examples),
            configuration=self._configuration(),
            asked=len(self.examples),
            done=len(records),
            interrupted=self.interrupted,
            failed=failed,
            degraded=degraded,
            figures=figures,
            difference=difference,
            confusion=confusion_of(records),
            cost={arm: cost_of(records, arm) for arm in arms},
            warnings=cautions(
                figures=figures,
                difference=difference,
                settings=runner.settings,
                web=runner.settings.web_search and web.ready and web.get() is not None,
                failed=failed,
                degraded=degraded,
                done=len(records),
            ),
        )

    def _configuration(self) -> dict[str, Any]:
        runner = self.runner
        return configuration_of(runner.services, runner.settings) | {
            "baseline": runner.baseline,
            "relevant_from": self._relevant_from,
            "seed": self._seed,
            "concurrency": runner.concurrency,
        }

    async def _fingerprinted(self) -> dict[str, Any]:
        """Return what the records depend on: neither how many are run nor how many at once."""
        await build(self.runner.services)
        configuration = self._configuration()
        del configuration["seed"], configuration["concurrency"]
        return configuration | {
            "data": fingerprint({"examples": [repr(one) for one in self._every]})
        }


def _check(examples: Sequence[Example]) -> None:
    """Refuse what a file could not hold either."""
    if not examples:
        raise InputError("there is no example to evaluate on")
    ids = [example.id for example in examples]
    if repeated := next((one for one, count in Counter(ids).items() if count > 1), None):
        raise InputError(f"two examples have the id {repeated!r}; give each its own")
    if len({bool(example.passages) for example in examples}) > 1:
        raise InputError("examples with passages of their own and examples without are mixed")


def _both(first: Tell, second: Tell | None) -> Tell:
    def tell(record: Record) -> None:
        first(record)
        if second is not None:
            second(record)

    return tell
