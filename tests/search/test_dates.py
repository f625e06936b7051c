import datetime

import pytest

from crag_graph.search.dates import iso_date

TODAY = datetime.date(2026, 11, 30)


@pytest.mark.parametrize(
    ("given", "iso"),
    [
        ("2026-11-12", "2026-11-12"),
        ("2026-11-12T10:00:00.000Z", "2026-11-12"),
        ("2026/1/2 10:00", "2026-01-02"),
        ("Thu, 12 Nov 2026 10:00:00 GMT", "2026-11-12"),
        ("Nov 12, 2026", "2026-11-12"),
        ("12 November 2026", "2026-11-12"),
        ("2 days ago", "2026-11-28"),
        ("3 hours ago", "2026-11-30"),
        ("a week ago", "2026-11-23"),
        (1794477600, "2026-11-12"),
        (1794477600000, "2026-11-12"),
        ("2026-12-01", "2026-12-01"),  # tomorrow somewhere
        ("2026-12-02", ""),
        ("1066-10-14", ""),
        ("2026-13-40", ""),
        ("99999999999 years ago", ""),
        ("yesterday, as they say", ""),
        ("", ""),
        (None, ""),
        (True, ""),
        (float("nan"), ""),
        (float("inf"), ""),
        (["2026-11-12"], ""),
    ],
)
def test_dates_of_providers_become_iso_dates_or_nothing(given, iso):
    assert iso_date(given, today=TODAY) == iso
