import pytest

from crag_graph.redaction import redact_query


@pytest.mark.parametrize(
    ("query", "left"),
    [
        ("permit of mara.lind@a.example in Lund", "permit of in Lund"),
        ("who owns +46 46 123 45 67", "who owns"),
        ("who owns (555) 123-4567", "who owns"),
        ("who owns 555-123-4567", "who owns"),
        ("who owns 046-123456", "who owns"),
        ("login sk-abcdefghij123 fails", "login fails"),
        ("login tvly-TESTLEAK0123 fails", "login fails"),
        ("login AbCdEf0123456789GhIjKl fails", "login fails"),
        ("login deadbeefdeadbeefdeadbeefdeadbeef fails", "login fails"),
        ("order 550e8400-e29b-41d4-a716-446655440000 late", "order late"),
        ("mara@a.example", ""),
    ],
)
def test_what_is_nobodys_business_is_taken_out(query, left):
    assert redact_query(query) == left


@pytest.mark.parametrize(
    "query",
    [
        "battles 1939-1945 and 1914-1918",
        "ISBN 978-3-16-148410-0",
        "ferry 2026-11-30 10:30",
        "valve K7-200-3000 torque",
        "population 1 000 000 000 of India",
        "host 192.168.100.200",
        "BNT162b2 trial of 2021",
        "GPT-4o-mini-2024-07-18 price",
        "007 films 1962 2021",
        "Donaudampfschifffahrtsgesellschaft Wien",
        "京都 寺 100",
    ],
)
def test_what_a_query_is_about_stays(query):
    assert redact_query(query) == query
