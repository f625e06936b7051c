import pytest

from crag_graph.search.queries import another_query, fitted, query_key, sub_queries


@pytest.mark.case(35)
@pytest.mark.parametrize(
    ("raw", "queries"),
    [
        ("ferry Lund", ["ferry Lund"]),
        ("1. ferry Lund\n2) bike fare\n", ["ferry Lund", "bike fare"]),
        ('- "ferry Lund"\n* `bike fare`', ["ferry Lund", "bike fare"]),
        ('"exact phrase" ferry', ['"exact phrase" ferry']),
        ("ferry Lund\nLUND  ferry", ["ferry Lund"]),
        (["dam year", "dam payer\nriver"], ["dam year", "dam payer", "river"]),
        ("2024 ferry timetable", ["2024 ferry timetable"]),
        ("", []),
        (" \n\u200b\n", []),
        (None, []),
        (7, []),
        ([None, 7, ["x"]], []),
    ],
)
def test_queries_are_taken_apart_each_once(raw, queries):
    assert sub_queries(raw) == queries


@pytest.mark.case(32)
@pytest.mark.case(33)
def test_each_is_cut_to_what_is_sent():
    (long,) = sub_queries("ferry " * 150)
    assert len(long) <= 400
    assert long.endswith("ferry")


def test_queries_beyond_the_budget_are_merged_into_the_last():
    queries = ["dam built year", "dam payer", "dam engineer Year"]
    assert fitted(queries, 3) == queries
    assert fitted(queries, 2) == ["dam built year", "dam payer engineer Year"]
    assert fitted(queries, 1) == ["dam built year payer engineer"]


@pytest.mark.case(46)
def test_another_query_is_never_one_that_was_used_and_there_is_an_end_to_them():
    question = "When does the ferry leave Lund in winter?"
    used = ["ferry timetable Lund 2026"]
    while (query := another_query(question, used)) is not None:
        assert query_key(query) not in {query_key(item) for item in used}
        used.append(query)
        assert len(used) < 10
    assert len(used) > 2
    assert all("Lund" in query for query in used)


def test_a_suggested_query_comes_first_unless_it_was_used():
    question = "When does the ferry leave Lund?"
    assert another_query(question, ["ferry"], suggested="boat hours") == "boat hours"
    assert another_query(question, ["Hours, boat!"], suggested="boat hours") != "boat hours"


def test_a_question_of_function_words_has_one_query():
    assert another_query("Who?", ["who"]) is None
