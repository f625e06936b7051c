"""The Protocol of web search."""

from typing import Protocol, runtime_checkable

from langchain_core.documents import Document


@runtime_checkable
class WebSearch(Protocol):
    """Finds text outside the corpus.

    Both methods return at most `max_results` documents, best first, each with its text, and in its
    metadata `source` (the http or https URL), `title`, and `published` (ISO date) where known. They
    raise `SearchAuthError`, `SearchQuotaError`, `SearchRequestError` or `SearchUnavailableError`,
    the last also when `seconds` of wall time, retries included, are over.
    """

    name: str

    def search(self, query: str, *, max_results: int, seconds: float) -> list[Document]:
        """Return documents for `query`, at most 400 characters."""
        ...

    async def asearch(self, query: str, *, max_results: int, seconds: float) -> list[Document]:
        """Return documents for `query`, at most 400 characters."""
        ...
