"""Any LangChain retriever in the place of ours."""

import asyncio
from typing import Any

import httpx
import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore

from crag_graph.errors import InputError, StoreError, StoreUnavailableError
from crag_graph.retrieval.foreign import LangChainRetriever
from crag_graph.retrieval.retriever import Retriever
from crag_graph.settings import Settings

SETTINGS = Settings(top_k=3)


class Foreign(BaseRetriever):
    """Somebody's own retriever."""

    gives: Any

    def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        if isinstance(self.gives, BaseException):
            raise self.gives
        return [Document(page_content=f"{query} {n}") for n in range(self.gives)]


def test_any_langchain_retriever_can_take_the_place() -> None:
    retriever = LangChainRetriever(Foreign(gives=9))
    assert isinstance(retriever, Retriever)
    assert retriever.name == "Foreign"
    expected = ["q 0", "q 1", "q 2"]
    found = retriever.retrieve("q", settings=SETTINGS)
    assert [document.page_content for document in found] == expected
    later = asyncio.run(retriever.aretrieve("q", settings=SETTINGS))
    assert [document.page_content for document in later] == expected
    assert not retriever.is_empty()


class Told(BaseRetriever):
    """One that a call may tell how many documents are wanted, but only a synchronous one."""

    def _get_relevant_documents(self, query: str, *, run_manager: Any, k: int = 2) -> Any:
        return [Document(page_content=f"{query} {n}") for n in range(k)]


class AsyncTold(Told):
    """One that both kinds of call may tell it."""

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any, k: int = 2) -> Any:
        return self._get_relevant_documents(query, run_manager=run_manager, k=k)


def in_store() -> BaseRetriever:
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    store.add_texts([f"text {n}" for n in range(12)])
    return store.as_retriever(search_kwargs={"k": 2})


@pytest.mark.parametrize(
    ("retriever", "found", "found_later"),
    [(in_store(), 9, 9), (Told(), 9, 2), (AsyncTold(), 9, 9), (Foreign(gives=4), 4, 4)],
    ids=["vector store", "synchronous", "both", "neither"],
)
async def test_one_that_takes_a_k_is_asked_for_the_candidates(
    retriever: BaseRetriever, found: int, found_later: int
) -> None:
    wide = Settings(top_k=9, rerank_from=9)
    ours = LangChainRetriever(retriever)
    assert len(ours.retrieve("q", settings=wide)) == found
    assert len(await ours.aretrieve("q", settings=wide)) == found_later
    # Without reranking its own k is left alone.
    own = len(await LangChainRetriever(retriever).aretrieve("q", settings=Settings(top_k=9)))
    assert own == (4 if isinstance(retriever, Foreign) else 2)


async def test_a_filter_that_cannot_be_passed_on_is_refused() -> None:
    retriever = LangChainRetriever(Foreign(gives=9))
    with pytest.raises(InputError, match="Foreign takes no filter"):
        retriever.retrieve("q", settings=SETTINGS, where={"a": 1})
    with pytest.raises(InputError, match="Foreign takes no filter"):
        await retriever.aretrieve("q", settings=SETTINGS, where={"a": 1})
    assert retriever.retrieve("q", settings=SETTINGS, where={})


@pytest.mark.case(122)
@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (httpx.ConnectError("no route, api_key=TESTLEAK99"), StoreUnavailableError),
        (TimeoutError("slow, token=TESTLEAK99"), StoreUnavailableError),
        (KeyError("api_key=TESTLEAK99"), StoreError),
        (StoreError("already ours"), StoreError),
    ],
)
async def test_what_it_raises_becomes_a_store_error(
    raised: Exception, kind: type[StoreError]
) -> None:
    retriever = LangChainRetriever(Foreign(gives=raised))
    with pytest.raises(kind) as error:
        retriever.retrieve("q", settings=SETTINGS)
    assert type(error.value) is kind
    assert "TESTLEAK99" not in str(error.value)
    with pytest.raises(kind):
        await retriever.aretrieve("q", settings=SETTINGS)
