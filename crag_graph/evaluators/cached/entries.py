"""Keys and entries of the cache: what a grade is kept under, and what is kept of it."""

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from crag_graph.evaluators.base import Passage
from crag_graph.evaluators.grading import unit_score
from crag_graph.redaction import redact
from crag_graph.state import Grade

_FORM = 1  # of keys and entries


@dataclasses.dataclass(frozen=True, kw_only=True)
class Keys:
    """The keys of one question's grades. Each is a hash: no text and no address can be read in it.

    Attributes:
        passages: A key for each passage, in their order.
        together: A key for all of them as a set, whatever their order.
    """

    passages: tuple[str, ...]
    together: str

    @classmethod
    def of(cls, basis: str, question: str, passages: Sequence[Passage], *, joint: bool) -> "Keys":
        """Return the keys.

        Args:
            basis: What grades depend on besides question and passages.
            question: The question.
            passages: The passages.
            joint: Whether a grade depends on the other passages, too: each key then holds the set.
        """
        asked = hashed(_FORM, version("crag-graph"), basis, question)
        hashes = [passage_hash(passage) for passage in passages]
        together = hashed(asked, "set", sorted(hashes))
        beside = together if joint else ""
        return cls(
            passages=tuple(hashed(asked, "passage", each, beside) for each in hashes),
            together=together,
        )


def passage_hash(passage: Passage) -> str:
    """Return a hash of what an evaluator sees of a passage; its id is not part of it."""
    spans = [[strip["start"], strip["end"]] for strip in passage.strips]
    return hashed(passage.title, passage.text, passage.origin, spans)


def hashed(*parts: Any) -> str:
    """Return a hash of `parts`, which JSON can hold."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def entry_of(passage: Passage, grade: Grade, strips: Mapping[str, float]) -> dict[str, Any] | None:
    """Return what is kept of a grade; None where it is not a clean score."""
    if grade["status"] != "scored" or unit_score(grade["score"]) is None:
        return None
    return {
        "score": grade["score"],
        "raw": grade["raw"],
        "reason": redact(grade["reason"]),
        "evaluator": grade["evaluator"],
        "strips": spans_of(passage, strips),
    }


def grade_from(entry: object, passage: Passage) -> tuple[Grade, dict[str, float]] | None:
    """Return the grade and the strip scores that `entry` stands for; None where it is damaged."""
    if not isinstance(entry, Mapping):
        return None
    score, raw = _unit(entry.get("score")), entry.get("raw")
    strips = strips_from(entry.get("strips"), passage)
    if score is None or strips is None:
        return None
    grade = Grade(
        document_id=passage.id,
        score=score,
        raw=raw if isinstance(raw, float | int) and not isinstance(raw, bool) else None,
        status="scored",
        reason=str(entry.get("reason", "")),
        evaluator=str(entry.get("evaluator", "")),
    )
    return grade, strips


def spans_of(passage: Passage, strips: Mapping[str, float]) -> list[list[float]]:
    """Return the strip scores of a passage by their place in its text: start, end, score."""
    return [
        [strip["start"], strip["end"], strips[strip["id"]]]
        for strip in passage.strips
        if strip["id"] in strips
    ]


def strips_from(spans: object, passage: Passage) -> dict[str, float] | None:
    """Return strip id → score, for the strips of `passage`; None where `spans` are damaged."""
    places = {(strip["start"], strip["end"]): strip["id"] for strip in passage.strips}
    found = {}
    for span in spans if isinstance(spans, list) else [None]:
        if not isinstance(span, list) or len(span) != 3:
            return None
        score = _unit(span[2])
        key = places.get((span[0], span[1]))
        if score is None or key is None:
            return None
        found[key] = score
    return found


def _unit(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, float | int):
        return None
    return unit_score(float(value))
