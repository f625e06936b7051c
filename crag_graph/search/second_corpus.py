"""A second corpus in place of the web, for those who have no way out or want none."""

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from crag_graph.errors import CRAGError, SearchError, SearchUnavailableError
from crag_graph.search.base import SearchFilters, SearchResult
from crag_graph.search.deadline import agather_within, call_within
from crag_graph.search.results import as_result


class RetrieverSearch:
    """Asks any LangChain retriever where the graph would search the web.

    What it finds passes the same gate and counts as web knowledge. Filters do not reach it; its
    own settings decide.

    Args:
        retriever: The retriever of the other corpus.
        name: What the decision card calls it.
    """

    def __init__(self, retriever: BaseRetriever, *, name: str = "second corpus") -> None:
        self.name = name
        self._retriever = retriever

    def __repr__(self) -> str:
        return f"RetrieverSearch({self.name!r})"

    def search(
        self,
        query: str,
        *,
        max_results: int,
        seconds: float,
        filters: SearchFilters | None = None,
    ) -> SearchResult:
        """Return at most `max_results` documents for `query`."""
        del filters
        found = call_within(lambda: self._invoke(query), seconds=seconds, what=self.name)
        return as_result(found[:max_results], provider=self.name)

    async def asearch(
        self,
        query: str,
        *,
        max_results: int,
        seconds: float,
        filters: SearchFilters | None = None,
    ) -> SearchResult:
        """Return at most `max_results` documents for `query`."""
        del filters
        (found,) = await agather_within(
            [lambda: self._ainvoke(query)], seconds=seconds, what=self.name
        )
        if isinstance(found, SearchError):
            raise found
        return as_result(found[:max_results], provider=self.name)

    def _invoke(self, query: str) -> list[Document]:
        try:
            return self._retriever.invoke(query)
        except Exception as error:
            raise self._failure(error) from error

    async def _ainvoke(self, query: str) -> list[Document]:
        try:
            return await self._retriever.ainvoke(query)
        except Exception as error:
            raise self._failure(error) from error

    def _failure(self, error: Exception) -> SearchError:
        """Return the error of any retriever there is as ours: each raises its own kinds."""
        if isinstance(error, SearchError):
            return error
        said = error.message if isinstance(error, CRAGError) else f"{type(error).__name__}: {error}"
        return SearchUnavailableError(f"{self.name} could not be asked: {' '.join(said.split())}")
