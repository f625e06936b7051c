"""Numbers and dates on which two sources of the evidence contradict each other."""

import dataclasses
import itertools
from collections.abc import Iterable, Sequence

from crag_graph.generation.base import Evidence
from crag_graph.text.terms import content_terms

_SHARED = 0.6  # of the terms of the shorter strip, numbers left out
_FEWEST_SHARED = 2
_MOST = 3
_YEARS = range(1500, 2100)
_MONTHS = frozenset(
    (
        *("january", "february", "march", "april", "may", "june", "july", "august"),
        *("september", "october", "november", "december"),
    )
)


@dataclasses.dataclass(frozen=True)
class _Claim:
    item: Evidence
    terms: frozenset[str]
    values: dict[str, frozenset[str]]


def conflicts(evidence: Sequence[Evidence]) -> list[str]:
    """Return a sentence for each pair of sources that say the same of different numbers.

    Two strips of different documents conflict where they share most of their terms and give a
    number of the same unit, a year or a date, but not the same one: "within 14 days" and "within
    30 days". The corpus against the web comes first; at most three are named.
    """
    if len({item.document_id for item in evidence}) < 2:
        return []
    claims = [claim for item in evidence for claim in _claims(item)]
    found: dict[tuple[int, int], str] = {}
    pairs = itertools.combinations(claims, 2)
    for a, b in sorted(pairs, key=lambda pair: pair[0].item.origin == pair[1].item.origin):
        key = (a.item.number, b.item.number)
        if a.item.document_id == b.item.document_id or key in found:
            continue
        for unit in a.values.keys() & b.values.keys():
            if not a.values[unit] & b.values[unit] and _same_subject(a, b):
                found[key] = _sentence(a, b, unit)
                break
    return list(found.values())[:_MOST]


def _claims(item: Evidence) -> Iterable[_Claim]:
    for text in item.strips:
        if not any(character.isdigit() for character in text):
            continue
        terms = content_terms(text)
        values = _values(terms)
        if values:
            plain = frozenset(term for term in terms if not _is_number(term))
            yield _Claim(item, plain, values)


def _values(terms: Sequence[str]) -> dict[str, frozenset[str]]:
    """Return the numbers by their unit: the term behind, `year`, or a month in front or behind."""
    values: dict[str, set[str]] = {}
    for before, term, after in zip(["", *terms], terms, [*terms[1:], ""], strict=False):
        if not _is_number(term):
            continue
        if before in _MONTHS or after in _MONTHS:
            month = before if before in _MONTHS else after
            values.setdefault("date", set()).add(f"{term} {month}")
        elif term.isdigit() and int(term) in _YEARS:
            values.setdefault("year", set()).add(term)
        elif not _is_number(after):
            values.setdefault(after, set()).add(term)
    return {unit: frozenset(numbers) for unit, numbers in values.items()}


def _is_number(term: str) -> bool:
    return term.replace(".", "", 1).isdigit()


def _same_subject(a: _Claim, b: _Claim) -> bool:
    shared = len(a.terms & b.terms)
    fewest = min(len(a.terms), len(b.terms))
    return shared >= _FEWEST_SHARED and shared >= _SHARED * fewest


def _sentence(a: _Claim, b: _Claim, unit: str) -> str:
    shown = "" if unit in ("year", "date") else unit
    return (
        f"sources contradict each other: {_says(a, unit, shown)}, {_says(b, unit, shown)}; "
        "check which one holds"
    )


def _says(claim: _Claim, unit: str, shown: str) -> str:
    item = claim.item
    where = "the web" if item.origin == "web" else "the corpus"
    dated = f", {item.published}" if item.published else ""
    numbers = " and ".join(sorted(claim.values[unit]))
    said = f"{numbers} {shown}".strip()
    return f"{item.title or item.source or item.document_id} ({where}{dated}) says {said}"
