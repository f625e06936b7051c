"""Several providers in order of preference: the next one answers where the one before failed."""

import time
from collections.abc import Sequence

from crag_graph.errors import ConfigurationError, SearchError, SearchUnavailableError
from crag_graph.search.base import SearchFilters, SearchResult, WebSearch, filtering
from crag_graph.search.deadline import remaining
from crag_graph.search.results import as_result


class SearchChain:
    """Asks one provider after the other until one answers; finding nothing is an answer.

    One that hangs must leave time for the next, so each gets an equal share of what is left: with
    two of them and 15 seconds, the first has 7.5, and the second whatever the first did not use.

    Args:
        providers: In order of preference, at least one.
    """

    def __init__(self, providers: Sequence[WebSearch]) -> None:
        if not providers:
            raise ConfigurationError("a chain of web searches needs at least one provider")
        self.providers = tuple(providers)
        self.name = ", ".join(provider.name for provider in self.providers)

    def __repr__(self) -> str:
        return f"SearchChain({self.name})"

    def search(
        self,
        query: str,
        *,
        max_results: int,
        seconds: float,
        filters: SearchFilters | None = None,
    ) -> SearchResult:
        """Return what the first provider that answers finds."""
        deadline = time.monotonic() + seconds
        failures: list[SearchError] = []
        for provider, left in self._turns():
            try:
                found = provider.search(
                    query,
                    max_results=max_results,
                    seconds=remaining(deadline) / left,
                    **filtering(filters),
                )
                return self._answered(found, provider, failures)
            except SearchError as error:
                failures.append(error)
        raise self._failed(failures)

    async def asearch(
        self,
        query: str,
        *,
        max_results: int,
        seconds: float,
        filters: SearchFilters | None = None,
    ) -> SearchResult:
        """Return what the first provider that answers finds."""
        deadline = time.monotonic() + seconds
        failures: list[SearchError] = []
        for provider, left in self._turns():
            try:
                found = await provider.asearch(
                    query,
                    max_results=max_results,
                    seconds=remaining(deadline) / left,
                    **filtering(filters),
                )
                return self._answered(found, provider, failures)
            except SearchError as error:
                failures.append(error)
        raise self._failed(failures)

    def _turns(self) -> list[tuple[WebSearch, int]]:
        """Return each provider, with how many are left when its turn comes, itself included."""
        return list(zip(self.providers, range(len(self.providers), 0, -1), strict=True))

    def _answered(
        self, found: object, provider: WebSearch, failures: Sequence[SearchError]
    ) -> SearchResult:
        result = as_result(found, provider=provider.name)
        notes = [f"{failure.message}, so {provider.name} was asked" for failure in failures]
        return SearchResult(
            documents=result.documents,
            provider=result.provider,
            skipped=result.skipped,
            notes=[*notes, *result.notes],
        )

    def _failed(self, failures: Sequence[SearchError]) -> SearchError:
        """Return one error for all: passing as soon as one of them is, else like the first."""
        kind = next((type(f) for f in failures if f.transient), type(failures[0]))
        waits = [f.retry_after for f in failures if f.retry_after is not None]
        message = "; ".join(failure.message for failure in failures)
        if issubclass(kind, SearchUnavailableError):
            return SearchUnavailableError(message, retry_after=min(waits, default=None))
        return kind(message, retry_after=min(waits, default=None))
