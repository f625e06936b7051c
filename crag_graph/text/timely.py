"""Whether a question asks for what is current."""

import datetime

import regex

_CURRENT = regex.compile(
    r"""(?ix) \b (?: latest | newest | current(?:ly)? | today(?:'s)? | tonight | right\ now
      | nowadays | recent(?:ly)? | up[ -]to[ -]date | upcoming | breaking
      | this\ (?:week|month|year|season)
      | (?:last|past)\ (?:week|month) | as\ of | still | yet
      | aktuell\w* | heute | derzeit | neueste[nrs]? | zurzeit
      | actuel\w* | aujourd'hui | derni[eè]re?s? | actual(?:es|mente)? | hoy | últim[oa]s? ) \b"""
)


def is_time_sensitive(question: str, *, today: datetime.date) -> bool:
    """Return whether `question` asks for what is current: it says so, or names this year."""
    return _CURRENT.search(question) is not None or str(today.year) in question
