"""`evaluate`: quality and cost of a configuration on labelled questions, beside plain RAG."""

import asyncio
import concurrent.futures
from collections.abc import Sequence
from pathlib import Path

from typing_extensions import TypedDict, Unpack

from crag_graph.evaluation.evaluation import Evaluation
from crag_graph.evaluation.examples import Example
from crag_graph.evaluation.report import Report
from crag_graph.evaluation.running import Tell
from crag_graph.services import Services
from crag_graph.settings import Settings


class Options(TypedDict, total=False):
    """What an evaluation can be told; the defaults and meanings are those of `Evaluation`."""

    settings: Settings | None
    baseline: bool
    limit: int | None
    seed: int
    concurrency: int | None
    relevant_from: float
    results: Path | None
    tell: Tell | None


def evaluate(
    dataset: Path | str | Sequence[Example],
    *,
    services: Services | None = None,
    **options: Unpack[Options],
) -> Report:
    """Return the report of a whole evaluation; also inside a running event loop, as in notebooks.

    Args:
        dataset: A file (see `read_dataset`), or examples.
        services: The collaborators; by default those that the environment names.
        options: Those of `Evaluation`.

    Raises:
        InputError: The data set cannot be used.
        CRAGError: A collaborator cannot be built, or the first five questions all failed.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(aevaluate(dataset, services=services, **options))
    with concurrent.futures.ThreadPoolExecutor(1) as elsewhere:
        work = aevaluate(dataset, services=services, **options)
        return elsewhere.submit(asyncio.run, work).result()


async def aevaluate(
    dataset: Path | str | Sequence[Example],
    *,
    services: Services | None = None,
    **options: Unpack[Options],
) -> Report:
    """Return what `evaluate` does."""
    used = services or Services.from_env()
    try:
        evaluation = Evaluation(dataset, services=used, **options)
        await evaluation.arun()
        return evaluation.report()
    finally:
        if services is None:
            used.close()
