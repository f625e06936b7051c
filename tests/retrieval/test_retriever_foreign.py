"""Any LangChain retriever in the place of ours."""

import asyncio
from typing import Any

import httpx
import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

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
