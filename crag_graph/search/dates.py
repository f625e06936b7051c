"""Publication dates as providers write them, turned into ISO dates."""

import datetime
import email.utils

import regex

_EARLIEST = 1900
_ISO = regex.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)")
_AGO = regex.compile(r"(\d+|an?|one)\s+(minute|hour|day|week|month|year)s?\s+ago")
_DAYS = {"minute": 0.0, "hour": 1 / 24, "day": 1.0, "week": 7.0, "month": 30.44, "year": 365.25}
_FORMATS = ("%B %d, %Y", "%b %d, %Y", "%d %B %Y", "%d %b %Y", "%d. %B %Y", "%Y%m%d")


def iso_date(value: object, *, today: datetime.date | None = None) -> str:
    """Return `value` as an ISO date (`2026-11-30`), or an empty string when it is not a date.

    Reads ISO dates and times, RFC 2822 dates, `Nov 12, 2026`, `3 days ago`, and seconds or
    milliseconds since 1970. A date before 1900 or later than tomorrow is a mistake, not a date.

    Args:
        value: As the provider gave it.
        today: What ages count from; by default the date in UTC.
    """
    today = today or datetime.datetime.now(datetime.UTC).date()
    try:
        found = _read(value, today)
    except (ValueError, OverflowError, OSError):
        return ""
    if found is None or found.year < _EARLIEST or found > today + datetime.timedelta(days=1):
        return ""
    return found.isoformat()


def _read(value: object, today: datetime.date) -> datetime.date | None:
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        seconds = value / 1000 if abs(value) > 1e11 else value
        return datetime.datetime.fromtimestamp(seconds, datetime.UTC).date()
    text = str(value).strip()[:64]
    if match := _ISO.match(text):
        year, month, day = map(int, match.groups())
        return datetime.date(year, month, day)
    if match := _AGO.search(text.lower()):
        count = int(match[1]) if match[1].isdigit() else 1
        return today - datetime.timedelta(days=count * _DAYS[match[2]])
    for form in _FORMATS:
        try:
            return datetime.datetime.strptime(text, form).replace(tzinfo=datetime.UTC).date()
        except ValueError:
            continue
    return email.utils.parsedate_to_datetime(text).date()
