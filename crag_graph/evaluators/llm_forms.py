"""What a model is to fill in when it grades, and how that is read."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from crag_graph.models.alignment import Aligned, align_json, align_text, label_number
from crag_graph.models.forms import Form
from crag_graph.settings import Scale

_TEXT = {"type": "string"}
_QUERY_KEYS = ("web_queries", "web_query", "queries", "query", "search_query")
_STRIP_KEYS = ("strips", "relevant_strips", "kept", "sentences")
_ENTRY: dict[str, Any] = {
    "id": {"type": "string", "description": "the passage's id, such as P1"},
    "reason": {"type": "string", "description": "why, in at most twelve words"},
}
_SCORE = {"type": "integer", "description": "from 1 to 5"}
_STRIPS = {
    "type": "array",
    "items": {"type": "integer"},
    "description": "numbers of the strips that are needed for the answer",
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sheet:
    """One reply of a grader.

    Attributes:
        aligned: Scores by the number of the passage.
        queries: Web queries as they were written.
    """

    aligned: Aligned
    queries: tuple[str, ...] = ()

    def strips(self, number: int) -> frozenset[int] | None:
        """Return the numbers of the strips that hold up, None where it does not say."""
        entry = self.aligned.fields.get(number, {})
        for key in _STRIP_KEYS:
            if isinstance(entry.get(key), list):
                found = (label_number(item) for item in entry[key])
                return frozenset(number for number in found if number is not None)
        return None

    def reason(self, number: int) -> str:
        """Return the reason that was given for the score of a passage."""
        reason = self.aligned.fields.get(number, {}).get("reason", "")
        return " ".join(reason.split())[:200] if isinstance(reason, str) else ""


def fused_form(count: int) -> Form[Sheet]:
    """Return the form for `count` passages with their strips, and the web queries."""
    entry = _ENTRY | {"score": _SCORE, "strips": _STRIPS}
    example: dict[str, Any] = {"id": "P1", "reason": "gives the year only", "score": 3}
    return _form(
        "grades",
        "A score and the strips that hold up for each passage, and queries for the web.",
        {"passages": _list_of(entry), "web_queries": {"type": "array", "items": _TEXT}},
        {"passages": [example | {"strips": [2, 5]}], "web_queries": ["keywords for the web"]},
        count=count,
        scale="five_point",
    )


def grade_form(count: int) -> Form[Sheet]:
    """Return the form for `count` passages without strips or queries."""
    return _form(
        "grades",
        "A score for each passage.",
        {"passages": _list_of(_ENTRY | {"score": _SCORE})},
        {"passages": [{"id": "P1", "reason": "gives the year only", "score": 3}]},
        count=count,
        scale="five_point",
    )


def passage_form(count: int) -> Form[Sheet]:
    """Return the form for `count` = 1 passage, graded from 0 to 1."""
    properties = {
        "reason": _ENTRY["reason"],
        "score": {"type": "number", "description": "from 0 to 1"},
        "strips": _STRIPS,
    }
    example = {"reason": "gives the year only", "score": 0.5, "strips": [2, 5]}
    description = "The score of the passage and the strips that hold up."
    return _form("grade", description, properties, example, count=count, scale="unit")


def strips_form(count: int) -> Form[Sheet]:
    """Return the form for `count` strips, graded from 1 to 5."""
    entry = {"id": {"type": "string", "description": "the strip's id, such as S1"}, "score": _SCORE}
    return _form(
        "strip_grades",
        "A score for each strip.",
        {"strips": _list_of(entry)},
        {"strips": [{"id": "S1", "score": 3}, {"id": "S2", "score": 1}]},
        count=count,
        scale="five_point",
    )


def _form(
    name: str,
    description: str,
    properties: Mapping[str, Any],
    example: Mapping[str, Any],
    *,
    count: int,
    scale: Scale,
) -> Form[Sheet]:
    def read(value: Any) -> Sheet:
        aligned = align_json(value, count=count, scale=scale)
        return Sheet(aligned=aligned, queries=_queries(value))

    def read_text(text: str) -> Sheet:
        return Sheet(aligned=align_text(text, count=count, scale=scale))

    return Form(
        name=name,
        description=description,
        properties=properties,
        example=example,
        read=read,
        read_text=read_text,
    )


def _list_of(properties: Mapping[str, Any]) -> dict[str, Any]:
    entry = {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }
    return {"type": "array", "items": entry}


def _queries(value: Any) -> tuple[str, ...]:
    if not isinstance(value, Mapping):
        return ()
    for key in _QUERY_KEYS:
        found = value.get(key)
        if isinstance(found, str):
            return (found,)
        if isinstance(found, list):
            return tuple(item for item in found if isinstance(item, str))
    return ()
