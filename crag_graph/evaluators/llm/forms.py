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
# Examples hold no value that could pass for an answer: small models copy what they are shown, and
# with a plausible score in it that was a verdict (Qwen2.5-Coder-1.5B, docs/real-model.md).
_SHOWN: dict[str, Any] = {"reason": "<why>", "score": "<1 to 5>", "strips": ["<numbers>"]}
_MOST_SHOWN = 2  # entries of an example; one alone is taken for the number that is wanted


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
    example = {"passages": _shown(entry, "P", count), "web_queries": ["<keywords>"]}
    return _form(
        "grades",
        "A score and the strips that hold up for each passage, and queries for the web.",
        {"passages": _list_of(entry), "web_queries": {"type": "array", "items": _TEXT}},
        example,
        count=count,
        scale="five_point",
        each=_each("passage", "P", count),
    )


def grade_form(count: int) -> Form[Sheet]:
    """Return the form for `count` passages without strips or queries."""
    entry = _ENTRY | {"score": _SCORE}
    return _form(
        "grades",
        "A score for each passage.",
        {"passages": _list_of(entry)},
        {"passages": _shown(entry, "P", count)},
        count=count,
        scale="five_point",
        each=_each("passage", "P", count),
    )


def passage_form(count: int) -> Form[Sheet]:
    """Return the form for `count` = 1 passage, graded from 0 to 1."""
    properties = {
        "reason": _ENTRY["reason"],
        "score": {"type": "number", "description": "from 0 to 1"},
        "strips": _STRIPS,
    }
    example = _SHOWN | {"score": "<0 to 1>"}
    description = "The score of the passage and the strips that hold up."
    return _form("grade", description, properties, example, count=count, scale="unit")


def strips_form(count: int) -> Form[Sheet]:
    """Return the form for `count` strips, graded from 1 to 5."""
    entry = {"id": {"type": "string", "description": "the strip's id, such as S1"}, "score": _SCORE}
    return _form(
        "strip_grades",
        "A score for each strip.",
        {"strips": _list_of(entry)},
        {"strips": _shown(entry, "S", count)},
        count=count,
        scale="five_point",
        each=_each("strip", "S", count),
    )


def _form(
    name: str,
    description: str,
    properties: Mapping[str, Any],
    example: Mapping[str, Any],
    *,
    count: int,
    scale: Scale,
    each: str = "",
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
        wanted=each,
        read=read,
        read_text=read_text,
    )


def _shown(entry: Mapping[str, Any], letter: str, count: int) -> list[dict[str, Any]]:
    """Return the entries of an example for `count` passages or strips."""
    numbers = range(1, min(count, _MOST_SHOWN) + 1)
    values = {key: _SHOWN[key] for key in entry if key != "id"}
    return [{"id": f"{letter}{number}", **values} for number in numbers]


def _each(noun: str, letter: str, count: int) -> str:
    """Return the words that ask for every entry; none where the example has them all."""
    if count <= _MOST_SHOWN:
        return ""
    return f"with an entry for every {noun} from {letter}1 to {letter}{count}"


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
