import asyncio
import threading

import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from crag_graph.errors import SearchQuotaError, SearchUnavailableError
from crag_graph.search.base import WebSearch
from crag_graph.search.second_corpus import RetrieverSearch


class Corpus(BaseRetriever):
    answer: object

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        if isinstance(self.answer, Exception):
            raise self.answer
        if callable(self.answer):
            return self.answer(query)
        return list(self.answer)  # type: ignore[call-overload]


async def test_any_retriever_can_take_the_place_of_the_web():
    documents = [Document(page_content=f"d{n}", metadata={"source": f"{n}.md"}) for n in range(5)]
    search = RetrieverSearch(Corpus(answer=documents), name="archive")
    assert isinstance(search, WebSearch)
    found = search.search("q", max_results=2, seconds=9)
    assert [document.page_content for document in found.documents] == ["d0", "d1"]
    assert found.provider == "archive"
    assert await search.asearch("q", max_results=2, seconds=9) == found


@pytest.mark.parametrize("error", [RuntimeError("no index,\n api_key=TESTLEAK"), KeyError("x")])
async def test_whatever_a_retriever_raises_is_a_failed_search(error):
    search = RetrieverSearch(Corpus(answer=error), name="archive")
    with pytest.raises(SearchUnavailableError, match="archive could not be asked") as caught:
        search.search("q", max_results=2, seconds=9)
    assert "TESTLEAK" not in str(caught.value)
    with pytest.raises(SearchUnavailableError):
        await search.asearch("q", max_results=2, seconds=9)


async def test_an_error_that_is_ours_already_stays_what_it_is():
    search = RetrieverSearch(Corpus(answer=SearchQuotaError("no more")))
    with pytest.raises(SearchQuotaError, match="no more"):
        await search.asearch("q", max_results=2, seconds=9)


@pytest.mark.case(42)
def test_a_retriever_that_hangs_is_left():
    over = threading.Event()

    def hang(query: str) -> list[Document]:
        over.wait(60)
        return []

    search = RetrieverSearch(Corpus(answer=hang), name="archive")
    with pytest.raises(SearchUnavailableError, match="archive gave no answer"):
        search.search("q", max_results=2, seconds=0.1)

    async def late() -> None:
        with pytest.raises(SearchUnavailableError, match="archive gave no answer"):
            await search.asearch("q", max_results=2, seconds=0.1)
        over.set()

    asyncio.run(late())
