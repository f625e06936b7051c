"""Whether this process can answer questions: what a load balancer or an orchestrator asks."""

import asyncio
from typing import Any

from crag_graph.errors import CollectionNotFoundError, CRAGError
from crag_graph.services import Services


async def readiness(services: Services) -> tuple[bool, dict[str, Any]]:
    """Return whether questions can be answered, and a report for people.

    The store must open, or be opened already, and answer. A collection that does not exist yet is
    ready to be filled, which the report says. Models and search providers are not asked: every
    probe would cost money, and runs degrade without them.
    """
    try:
        retriever = await services.retriever.aget()
        empty = await asyncio.to_thread(retriever.is_empty)
    except CollectionNotFoundError:
        return True, {"status": "ready", "store": "no collection yet"}
    except CRAGError as error:
        report = {"status": "unavailable", "store": error.message, "error": type(error).__name__}
        return False, report
    return True, {"status": "ready", "store": "empty" if empty else "filled"}
