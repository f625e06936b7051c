import pytest
from langchain_core.documents import Document

from crag_graph.errors import SearchUnavailableError
from crag_graph.search.base import SearchFilters, SearchResult
from crag_graph.search.results import MAX_TOTAL_CHARACTERS, Hit, as_result, to_result


def found(*hits: Hit, query: str = "ferry") -> SearchResult:
    items = [{"hit": hit} for hit in hits]
    return to_result(
        items,
        lambda item: item["hit"],
        provider="p",
        query=query,
        max_results=9,
        filters=SearchFilters(),
    )


def hit(name: str, **fields: object) -> Hit:
    return Hit(url=f"https://{name}.example/", **({"snippet": f"{name} says so."} | fields))


def test_block_pages_and_cookie_banners_are_dropped_and_counted():
    result = found(
        hit("a", page="Just a moment...\nEnable JavaScript and cookies to continue", snippet=None),
        hit("b", snippet="We use cookies to improve your experience."),
        hit("c", snippet=" "),
        hit("d"),
    )
    assert [document.page_content for document in result.documents] == ["d says so."]
    assert result.skipped == {"a block page": 1, "a cookie banner": 1, "no text": 1}


def test_where_the_page_is_blocked_the_snippet_is_used():
    result = found(hit("a", page="Attention Required! | Cloudflare", snippet="It sails at nine."))
    assert [document.page_content for document in result.documents] == ["It sails at nine."]


def test_the_snippet_is_kept_where_the_page_does_not_hold_it():
    inside = found(hit("a", page="One. It sails  at nine. Two.", snippet="It sails at nine."))
    assert inside.documents[0].page_content == "One. It sails  at nine. Two."
    beside = found(hit("a", page="One. Two.", snippet="It sails at nine."))
    assert beside.documents[0].page_content == "It sails at nine.\n\nOne. Two."


def test_a_page_that_came_first_without_text_does_not_hide_its_twin():
    twin = Hit(url="https://a.example/#x", snippet="a says so.")
    result = found(hit("a", snippet=None), twin)
    assert len(result.documents) == 1


@pytest.mark.case(40)
def test_all_results_together_are_capped():
    pages = [hit(f"h{n}", page=("ferry text of its own. " * 2000)) for n in range(9)]
    result = found(*pages)
    assert sum(len(document.page_content) for document in result.documents) <= MAX_TOTAL_CHARACTERS
    assert len(result.documents) >= 4


def test_a_title_is_one_readable_line_or_the_host():
    result = found(hit("a", title="<b>The</b>\n ferry " + "x" * 999), hit("b", title=None))
    first, second = (document.metadata["title"] for document in result.documents)
    assert first.startswith("The ferry xxx")
    assert len(first) == 300
    assert second == "b.example"


@pytest.mark.case(28)
@pytest.mark.parametrize("answer", ["HTTPError('403 Client Error')", b"x", None, {"a": 1}, 7])
def test_an_answer_that_is_no_list_of_documents_is_a_failure(answer):
    with pytest.raises(SearchUnavailableError, match="mine answered with"):
        as_result(answer, provider="mine")


@pytest.mark.case(28)
@pytest.mark.case(105)
def test_of_a_list_the_usable_documents_stay_and_the_rest_is_counted():
    documents = [
        Document(page_content="good", metadata={"source": "https://a.example"}),
        Document(page_content="a file", metadata={"source": "notes: 2026.md"}),
        Document(page_content="windows", metadata={"source": "C:\\a.md"}),
        Document(page_content="nowhere"),
        {"page_content": "posted", "metadata": {"source": "b.md"}},
        Document(page_content=" ", metadata={"source": "https://b.example"}),
        Document(page_content="evil", metadata={"source": "JavaScript:alert(1)"}),
        Document(page_content="broken", metadata={"source": "http://[::1"}),
        "E",
        None,
    ]
    result = as_result(documents, provider="mine")
    texts = [document.page_content for document in result.documents]
    assert texts == ["good", "a file", "windows", "nowhere", "posted"]
    assert result.skipped == {"no text": 1, "an unsafe address": 2, "not a result": 2}
    assert result.provider == "mine"
