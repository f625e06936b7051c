"""The web step: its queries, its searches, its gate, and what it tells of them."""

import asyncio
import threading
from typing import Any

import pytest
from langchain_core.documents import Document

from crag_graph.errors import (
    EvaluationError,
    SearchQuotaError,
    SearchUnavailableError,
)
from crag_graph.evaluators.base import Rewrite
from crag_graph.graph import build_graph
from crag_graph.nodes.web_search import WebSearchNode
from crag_graph.search.base import SearchFilters, SearchResult
from crag_graph.settings import Settings
from tests.fakes.collaborators import (
    StubEvaluator,
    StubGenerator,
    StubRetriever,
    StubWeb,
    doc,
    services,
)

QUESTION = "When does the ferry leave Lund?"
ASK = {"question": QUESTION}


def page(name: str, text: str = "", published: str = "") -> Document:
    metadata = {"source": f"https://{name}/"} | ({"published": published} if published else {})
    return Document(page_content=text or f"{name} says at nine.", metadata=metadata)


class Web(StubWeb):
    """Answers each query by a table: documents, a result, or an error; the rest finds nothing."""

    def __init__(self, table: Any) -> None:
        super().__init__([])
        self.table = table
        self.filters: list[SearchFilters | None] = []

    def search(self, query: str, *, max_results: int, seconds: float, **more: Any) -> Any:
        self.queries.append(query)
        self.filters.append(more.get("filters"))
        found = self.table(query) if callable(self.table) else self.table.get(query, [])
        if isinstance(found, Exception):
            raise found
        return found

    async def asearch(self, query: str, *, max_results: int, seconds: float, **more: Any) -> Any:
        return self.search(query, max_results=max_results, seconds=seconds, **more)


class Rewriter(StubEvaluator):
    """An evaluator that grades nothing well and rewrites the question when it is asked to."""

    def __init__(self, *queries: str, scores: Any = None) -> None:
        super().__init__(scores or (lambda _: 0.1))
        self.queries = queries
        self.rewrites = 0

    def rewrite(self, question: str, *, settings: Settings, budget: Any) -> Rewrite:
        self.rewrites += 1
        budget.spend(llm_calls=1)
        usage = {"llm_calls": 1, "input_tokens": 30, "output_tokens": 5}
        return Rewrite(queries=self.queries, usage=usage, notes=["rewritten"])  # type: ignore[arg-type]

    async def arewrite(self, question: str, *, settings: Settings, budget: Any) -> Rewrite:
        return self.rewrite(question, settings=settings, budget=budget)


def world(**given: Any) -> Any:
    made = {
        "retriever": StubRetriever([doc("d1")]),
        "evaluator": StubEvaluator(lambda _: 0.1, query="ferry Lund"),
        "web": StubWeb([page("a.example")]),
    }
    return services(**(made | given))


def run(made: Any, **context: Any) -> dict[str, Any]:
    """The final state of a run whose action is incorrect."""
    return build_graph(made).invoke(ASK, context=context)


def stage(out: dict[str, Any]) -> dict[str, Any]:
    return out["decision"]["stages"]["web_search"]


@pytest.mark.case(48)
@pytest.mark.parametrize("entry", ["run", "arun"])
async def test_the_node_works_on_a_bare_question(entry):
    node = WebSearchNode(world(evaluator=StubEvaluator(lambda _: 0.1)))
    update = node.run(ASK, Settings()) if entry == "run" else await node.arun(ASK, Settings())
    assert update["search_query"] == "ferry leave Lund"
    assert [strip["kept"] for strip in update["strips"]] == [True]
    assert {strip["origin"] for strip in update["strips"]} == {"web"}


def test_several_queries_are_searched_and_their_results_merged():
    table = {
        "dam year": [page("a.example"), page("both.example")],
        "dam payer": [page("b.example"), page("both.example")],
    }
    web = Web(table)
    made = world(web=web, evaluator=StubEvaluator(lambda _: 0.1, query="dam year\ndam payer"))
    out = run(made, max_searches=3)
    assert sorted(web.queries) == ["dam payer", "dam year"]
    assert [d.metadata["source"] for d in out["web_documents"]] == [
        "https://both.example/",
        "https://a.example/",
        "https://b.example/",
    ]
    assert out["search_query"] == "dam year\ndam payer"
    assert out["usage"]["web_searches"] == 2


def test_queries_beyond_the_budget_are_merged_and_not_dropped():
    web = Web({})
    made = world(web=web, evaluator=StubEvaluator(lambda _: 0.1, query="dam year\ndam payer"))
    out = run(made)
    assert web.queries == ["dam year payer"]
    assert out["usage"]["web_searches"] == 1


@pytest.mark.case(45)
def test_of_several_searches_the_good_ones_count_and_the_failure_is_told():
    table = {"dam year": SearchQuotaError("no quota at W"), "dam payer": [page("b.example")]}
    made = world(
        web=Web(table), evaluator=StubEvaluator(lambda _: 0.1, query="dam year\ndam payer")
    )
    out = run(made, max_searches=2)
    assert out["status"] == "answered"
    assert out["warnings"] == ["1 of 2 web searches failed: no quota at W"]
    assert out["decision"]["failures"] == ["web search: no quota at W"]
    assert out["usage"]["web_searches"] == 2


@pytest.mark.case(28)
@pytest.mark.case(30)
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (SearchUnavailableError("W is down"), "W is down"),
        ("HTTPError('403 Client Error')", "stub-web answered with a text in place of results"),
        (None, "stub-web answered with nothing in place of results"),
    ],
)
def test_a_failed_search_leaves_the_run_with_what_it_has(answer, reason):
    web = Web(lambda _: answer)
    out = run(world(web=web), max_searches=3)
    assert len(web.queries) == 1  # another query would not mend it
    assert out["status"] == "refused"
    assert (stage(out)["decided"], stage(out)["why"]) == ("failed", reason)
    assert out["web_documents"] == []
    assert f"web search failed: {reason}" in out["warnings"]
    assert "web search failed" in out["answer"]


@pytest.mark.case(42)
@pytest.mark.parametrize("entry", ["invoke", "ainvoke"])
async def test_a_provider_that_hangs_costs_its_time_and_no_more(entry):
    over = threading.Event()

    class Hanging(StubWeb):
        def search(self, query, *, max_results, seconds):
            over.wait(60)
            return []

        async def asearch(self, query, *, max_results, seconds):
            await asyncio.sleep(60)
            return []

    graph = build_graph(world(web=Hanging(), evaluator=StubEvaluator(lambda _: 0.5)))
    context = {"web_seconds": 0.2, "max_searches": 5}
    if entry == "invoke":
        out = graph.invoke(ASK, context=context)
    else:
        out = await graph.ainvoke(ASK, context=context)
    over.set()
    assert out["action"] == "ambiguous"
    assert out["status"] == "answered"  # from the corpus
    assert out["usage"]["web_searches"] == 1
    assert "web search failed: stub-web gave no answer within" in out["warnings"][0]


@pytest.mark.case(38)
@pytest.mark.case(46)
def test_where_nothing_holds_up_another_query_is_tried_up_to_the_cap():
    web = Web({})
    made = world(web=web, evaluator=StubEvaluator(lambda _: 0.1, query="boat times"))
    out = run(made, max_searches=3)
    assert web.queries == ["boat times", "ferry leave Lund", "ferry Lund"]
    assert out["usage"]["web_searches"] == 3
    assert out["search_query"].splitlines() == web.queries
    web.queries.clear()
    assert run(made, max_searches=9)["usage"]["web_searches"] == 3  # no query is left to try
    assert out["status"] == "refused"
    assert "web search found nothing" in out["answer"]


def test_the_second_search_stops_at_what_holds_up_and_earlier_junk_is_not_judged_twice():
    gate = StubEvaluator(lambda p: 0.9 if "good" in p.text else 0.1, name="gate")
    table = {"ferry Lund": [page("junk.example")]}
    web = Web(lambda q: table.get(q, [page("junk.example"), page("good.example")]))
    out = run(world(web=web, local_evaluator=gate), max_searches=5)
    assert len(web.queries) == 2
    assert out["status"] == "answered"
    assert {c["source"] for c in out["citations"]} == {"https://good.example/"}
    assert [len(call) for call in gate.calls] == [1, 1]
    assert len(out["web_documents"]) == 2
    assert out["usage"]["evaluator_calls"] == 3


def test_a_query_that_the_gate_suggests_is_tried_before_the_question_s_own():
    gate = StubEvaluator(lambda _: 0.1, name="gate", query="boat timetable")
    web = Web(lambda _: [page("a.example")])
    run(world(web=web, local_evaluator=gate), max_searches=2)
    assert web.queries == ["ferry Lund", "boat timetable"]


def test_one_search_is_the_default():
    web = Web({})
    run(world(web=web))
    assert web.queries == ["ferry Lund"]


def test_an_evaluator_that_left_no_query_is_asked_for_one():
    web, rewriter = Web(lambda _: [page("a.example")]), Rewriter("ferry timetable 2026")
    out = run(world(web=web, evaluator=rewriter))
    assert web.queries == ["ferry timetable 2026"]
    node = out["usage"]["nodes"]["web_search"]
    assert (node["llm_calls"], node["input_tokens"], node["output_tokens"]) == (1, 30, 5)
    assert "rewritten" in stage(out)["fallbacks"]


def test_an_evaluator_that_left_a_query_is_not_asked_again():
    rewriter = Rewriter("never")
    rewriter.query = "ferry Lund"
    web = Web(lambda _: [page("a.example")])
    run(world(web=web, evaluator=rewriter))
    assert rewriter.rewrites == 0
    assert web.queries == ["ferry Lund"]


@pytest.mark.case(24)
def test_an_evaluator_that_could_not_grade_is_not_asked_for_a_query():
    rewriter = Rewriter("never", scores=EvaluationError("down", reason="transport"))
    web = Web(lambda _: [page("a.example")])
    run(world(web=web, evaluator=rewriter))
    assert rewriter.rewrites == 0
    assert web.queries == ["ferry leave Lund"]


@pytest.mark.case(35)
@pytest.mark.parametrize("made", [("",), (" \n",), ()])
def test_a_rewrite_of_nothing_leaves_the_question_s_keywords(made):
    web = Web(lambda _: [page("a.example")])
    run(world(web=web, evaluator=Rewriter(*made)))
    assert web.queries == ["ferry leave Lund"]


@pytest.mark.case(47)
def test_the_gate_judges_by_the_question_and_not_by_the_query():
    asked = []

    class Gate(StubEvaluator):
        def evaluate(self, question, passages, **more):
            asked.append(question)
            return super().evaluate(question, passages, **more)

    run(world(local_evaluator=Gate(lambda _: 0.9)))
    assert asked == [QUESTION]


@pytest.mark.parametrize(
    ("score", "kept"), [(0.9, True), (0.4, True), (0.39, False), (0.3, False), (None, False)]
)
def test_what_the_gate_does_not_let_through_is_not_used(score, kept):
    made = world(local_evaluator=StubEvaluator(lambda _: score, name="gate"))
    out = run(made)
    assert (out["status"] == "answered") is kept
    assert [strip["kept"] for strip in out["strips"] if strip["origin"] == "web"] == [kept]


def test_when_nobody_can_judge_nothing_is_used_and_that_is_said():
    broken = StubEvaluator(EvaluationError("no model", reason="transport"))
    out = run(world(local_evaluator=broken))
    assert out["status"] == "refused"
    assert "web results could not be judged, so none of them is used" in out["warnings"]
    assert out["decision"]["failures"] == ["web gate: no model"]
    assert stage(out)["decided"] == "failed"


def test_the_run_s_own_evaluator_is_the_gate_on_request():
    own = StubEvaluator(lambda p: 0.9 if p.origin == "web" else 0.1, name="own", query="ferry")
    local = StubEvaluator(lambda _: 0.1, name="local")
    out = run(world(evaluator=own, local_evaluator=local), web_gate="llm")
    assert out["status"] == "answered"
    assert len(own.calls) == 2
    assert local.calls == []


def test_a_gate_that_fails_is_replaced_by_the_local_one():
    class Own(StubEvaluator):
        def evaluate(self, question, passages, **more):
            if passages[0].origin == "web":
                raise EvaluationError("rate limited", reason="quota")
            return super().evaluate(question, passages, **more)

    local = StubEvaluator(lambda _: 0.8, name="local")
    made = world(evaluator=Own(lambda _: 0.1, query="ferry"), local_evaluator=local)
    out = run(made, web_gate="llm")
    assert out["status"] == "answered"
    assert out["decision"]["failures"] == ["web gate: rate limited"]
    assert len(local.calls) == 1


@pytest.mark.parametrize(
    ("context", "why"),
    [
        ({"web_search": False}, "switched off for this run"),
        ({"max_searches": 0}, "max_searches is 0"),
        ({"approve_searches": True}, "approve_searches needs a checkpointer and a thread"),
    ],
)
def test_a_search_that_is_off_says_why(context, why):
    web = StubWeb([page("a.example")])
    out = run(world(web=web), **context)
    assert web.queries == []
    assert stage(out)["why"] == why
    assert out["status"] == "refused"
    assert why in out["answer"]


def test_private_parts_of_a_query_do_not_leave_the_machine():
    query = "permit of mara@a.example in Lund"
    web = Web(lambda _: [page("a.example")])
    made = world(web=web, evaluator=StubEvaluator(lambda _: 0.1, query=query))
    out = run(made)
    assert web.queries == ["permit of in Lund"]
    assert out["search_query"] == "permit of in Lund"
    run(made, redact_queries=False)
    assert web.queries[-1] == query


def test_the_redaction_can_be_one_s_own():
    web = Web(lambda _: [page("a.example")])
    run(world(web=web, redact_query=lambda query: query.replace("Lund", "")))
    assert web.queries == ["ferry"]


def test_a_query_of_nothing_but_private_parts_is_not_sent():
    web = StubWeb([page("a.example")])
    made = world(web=web, evaluator=StubEvaluator(lambda _: 0.1, query="mara@a.example"))
    out = run(made)
    assert web.queries == []
    assert "nothing is left of the query once it is redacted" in out["warnings"][0]


def test_filters_reach_the_provider_only_where_the_run_has_any():
    web = Web(lambda _: [page("a.example")])
    run(world(web=web))
    run(world(web=web), topic="news", time_range="week", include_domains=["a.example"])
    assert web.filters == [
        None,
        SearchFilters(topic="news", time_range="week", include_domains=("a.example",)),
    ]


def test_wikipedia_and_recent_pages_come_first_when_that_is_wanted():
    found = [
        page("old.example", published="2019-01-01"),
        page("en.wikipedia.org"),
        page("new.example", published="2026-11-28"),
    ]

    def order_of(out: dict[str, Any]) -> list[str]:
        return [d.metadata["source"].split("/")[2] for d in out["web_documents"]]

    made = world(web=StubWeb(found))
    as_found = ["old.example", "en.wikipedia.org", "new.example"]
    assert order_of(run(made)) == as_found
    assert order_of(run(made, prefer_wikipedia=True))[0] == "en.wikipedia.org"
    assert order_of(run(made, prefer_recent=True))[0] == "new.example"
    latest = {"question": "What is the latest ferry timetable?"}
    graph = build_graph(made)
    assert order_of(graph.invoke(latest))[0] == "new.example"
    assert order_of(graph.invoke(latest, context={"prefer_recent": False})) == as_found


@pytest.mark.case(39)
def test_what_was_left_out_is_counted_on_the_card():
    result = SearchResult(
        documents=[page("a.example")],
        provider="w",
        skipped={"no text": 2},
        notes=["v was down, so w was asked"],
    )
    out = run(world(web=Web(lambda _: result)))
    assert stage(out)["why"] == "1 result from w (best 0.80; left out: no text 2)"
    assert stage(out)["fallbacks"] == ["v was down, so w was asked"]


@pytest.mark.case(46)
def test_what_earlier_steps_searched_counts_against_the_budget():
    state = {**ASK, "usage": {"run_id": "r", "web_searches": 2, "nodes": {}}}
    web = Web({})
    node = WebSearchNode(world(web=web))
    node.run(state, Settings(max_searches=3))  # type: ignore[arg-type]
    assert len(web.queries) == 1
    update = node.run(state, Settings(max_searches=2))  # type: ignore[arg-type]
    assert len(web.queries) == 1
    assert update["decision"]["stages"]["web_search"]["decided"] == "off"


def test_the_seconds_of_a_run_forbid_a_search_that_would_pass_them():
    state = {**ASK, "usage": {"run_id": "r", "seconds": 9.0, "nodes": {}}}
    web = Web({})
    update = WebSearchNode(world(web=web)).run(state, Settings(max_seconds=5))  # type: ignore[arg-type]
    card = update["decision"]["stages"]["web_search"]
    assert web.queries == []
    assert card["decided"] == "failed"
    assert "max_seconds" in card["warnings"][0]
    assert update["usage"]["nodes"]["web_search"].get("web_searches", 0) == 0


def test_generation_is_given_what_the_web_said_and_when():
    generator = StubGenerator()
    web = StubWeb([page("a.example", "The ferry leaves at nine.", published="2026-11-01")])
    run(world(web=web, generator=generator))
    (evidence,) = generator.requests[0].evidence
    assert evidence.text == "The ferry leaves at nine."
    assert evidence.published == "2026-11-01"
    assert evidence.origin == "web"
