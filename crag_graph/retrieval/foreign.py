"""A LangChain retriever in the place of ours."""

import inspect
from collections.abc import Callable
from types import TracebackType
from typing import Any

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStoreRetriever

from crag_graph.errors import CRAGError, InputError, StoreError, StoreUnavailableError
from crag_graph.retrieval.index import Filter
from crag_graph.settings import Settings
from crag_graph.tracing.spans import Span


class LangChainRetriever:
    """Any LangChain retriever in the place of ours: asked as it is, cut at `top_k`.

    Where passages are reranked, one that takes a `k` (a vector store's, say) is asked for as many
    candidates; of any other what it returns is reranked. LangChain traces it, so nobody else needs
    to.

    Args:
        retriever: It may raise what it likes: that becomes a `StoreError`.
    """

    traces_itself = True

    def __init__(self, retriever: BaseRetriever) -> None:
        self._retriever = retriever
        self._config = Span(component="retriever", name=retriever.get_name()).config
        self._takes_k = _takes_k(retriever, retriever._get_relevant_documents)
        self._atakes_k = _takes_k(retriever, retriever._aget_relevant_documents)

    @property
    def name(self) -> str | None:
        """Its own name."""
        return self._retriever.get_name()

    def retrieve(
        self, question: str, *, settings: Settings, where: Filter | None = None
    ) -> list[Document]:
        """Return its first `settings.top_k` documents.

        Raises:
            InputError: There is a filter: it could not be passed on, and is never dropped silently.
            StoreError: The retriever failed.
        """
        self._refuse_filter(where)
        with _Failures(self.name):
            asked = _asked(settings, takes_k=self._takes_k)
            found = self._retriever.invoke(question, self._config, **asked)
            return found[: settings.top_k]

    async def aretrieve(
        self, question: str, *, settings: Settings, where: Filter | None = None
    ) -> list[Document]:
        """Return what `retrieve` does."""
        self._refuse_filter(where)
        with _Failures(self.name):
            asked = _asked(settings, takes_k=self._atakes_k)
            found = await self._retriever.ainvoke(question, self._config, **asked)
            return found[: settings.top_k]

    def is_empty(self) -> bool:
        """Return False: LangChain retrievers do not say."""
        return False

    def _refuse_filter(self, where: Filter | None) -> None:
        if where:
            raise InputError(
                f"the retriever {self.name} takes no filter: build the filter into it, and ask "
                "without one"
            )


def _asked(settings: Settings, *, takes_k: bool) -> dict[str, Any]:
    """Return the number of candidates to rerank, for a retriever that can be told it."""
    return {"k": settings.top_k} if settings.rerank_from and takes_k else {}


def _takes_k(retriever: BaseRetriever, method: Callable[..., Any]) -> bool:
    """Return whether a call may say how many documents are wanted."""
    parameters = inspect.signature(method).parameters
    if isinstance(retriever, VectorStoreRetriever):
        return any(each.kind is each.VAR_KEYWORD for each in parameters.values())
    return "k" in parameters


class _Failures:
    """Turns whatever a foreign retriever raises within it into a `StoreError`.

    The original is not chained: it may hold a request with a key. Cancellation passes.
    """

    def __init__(self, name: str | None) -> None:
        self._name = name

    def __enter__(self) -> None:
        return

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not isinstance(error, Exception) or isinstance(error, CRAGError):
            return
        what = f"the retriever {self._name} failed ({type(error).__name__}: {error})"
        words = ("Timeout", "Connect", "Unavailable")
        if isinstance(error, OSError) or any(word in type(error).__name__ for word in words):
            raise StoreUnavailableError(f"{what}: check that its store can be reached") from None
        raise StoreError(f"{what}: check its configuration") from None
