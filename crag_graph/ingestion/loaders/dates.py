"""Dates as the formats write them."""

import re
from datetime import date, datetime

_DATE = re.compile(r"\s*(?:D:)?(\d{4})(?:-?(\d\d)-?(\d\d))?")


def iso_date(value: object) -> str | None:
    """Return a date as `YYYY-MM-DD` (or the year alone), or None where `value` is none.

    Takes dates, ISO text, and the `D:20240131…` of PDF.
    """
    if isinstance(value, datetime | date):
        return value.strftime("%Y-%m-%d")
    if not isinstance(value, str | int):
        return None
    match = _DATE.match(str(value))
    if match is None or not 1000 <= int(match[1]) <= 2999:
        return None
    if match[2] is None:
        return match[1] if str(value).strip() == match[1] else None
    try:
        return date(int(match[1]), int(match[2]), int(match[3])).isoformat()
    except ValueError:
        return None
