"""What the web step waits for, synchronously and asynchronously."""

import dataclasses
import functools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from langgraph.func import task

from crag_graph.errors import SearchError
from crag_graph.lazy import Lazy
from crag_graph.models.plan import Effect
from crag_graph.search.base import SearchResult, WebSearch
from crag_graph.search.deadline import agather_within, gather_within
from crag_graph.search.results import as_result
from crag_graph.tracing.spans import Span, atraced, traced

# So long a provider may take to say itself that it is out of time, which says more than we can.
_GRACE = 0.3


@dataclasses.dataclass(frozen=True)
class Ready(Effect):
    """A collaborator, built when it is not there yet."""

    lazy: Lazy[Any]

    def perform(self) -> Any:
        """Return the collaborator."""
        return self.lazy.get()

    async def aperform(self) -> Any:
        """Return the collaborator."""
        return await self.lazy.aget()


@dataclasses.dataclass(frozen=True)
class Call(Effect):
    """A call that has both entries."""

    function: Callable[[], Any]
    afunction: Callable[[], Awaitable[Any]]

    def perform(self) -> Any:
        """Return what the call gives."""
        return self.function()

    async def aperform(self) -> Any:
        """Return what the call gives."""
        return await self.afunction()


@dataclasses.dataclass(frozen=True)
class Once(Call):
    """A call that is not made again when the run is resumed: its result is kept in the checkpoint.

    It must be made of plain values. Only inside of a graph.
    """

    def perform(self) -> Any:
        """Return what the call gives, or gave."""

        @task
        def once() -> Any:
            return self.function()

        return once().result()

    async def aperform(self) -> Any:
        """Return what the call gives, or gave."""

        @task
        async def once() -> Any:
            return await self.afunction()

        return await once()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Searches(Effect):
    """One search for each query, all at once. A failed one is an error in its place."""

    web: WebSearch
    queries: Sequence[str]
    options: Mapping[str, Any]
    seconds: float

    def perform(self) -> list[SearchResult | SearchError]:
        """Return a result or an error for each query."""
        calls = [functools.partial(self._search, query) for query in self.queries]
        return gather_within(calls, seconds=self.seconds + _GRACE, what=self.web.name)

    async def aperform(self) -> list[SearchResult | SearchError]:
        """Return a result or an error for each query."""
        calls = [functools.partial(self._asearch, query) for query in self.queries]
        return await agather_within(calls, seconds=self.seconds + _GRACE, what=self.web.name)

    def _search(self, query: str) -> SearchResult:
        def search() -> SearchResult:
            found = self.web.search(query, seconds=self.seconds, **self.options)
            return as_result(found, provider=self.web.name)

        return traced(self._span(query), search)

    async def _asearch(self, query: str) -> SearchResult:
        async def search() -> SearchResult:
            found = await self.web.asearch(query, seconds=self.seconds, **self.options)
            return as_result(found, provider=self.web.name)

        return await atraced(self._span(query), search)

    def _span(self, query: str) -> Span:
        about = {"max_results": self.options.get("max_results")}
        return Span(component="web_search", name=self.web.name, query=query, metadata=about)
