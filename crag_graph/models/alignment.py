"""Aligning what a model says of several passages with the passages, by id and never by position.

The one exception: a bare list of scores without any id is taken in order when there are exactly as
many as passages, since then it can mean nothing else.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import regex

from crag_graph.models.scores import read_score, without_scale
from crag_graph.settings import Scale

_IDS = (
    "id",
    "passage_id",
    "document_id",
    "doc_id",
    "passage",
    "document",
    "doc",
    "label",
    "number",
)
_SCORES = ("score", "relevance_score", "relevance", "grade", "rating", "mark", "value")
_LISTS = ("passages", "grades", "scores", "evaluations", "results", "ratings", "documents", "items")
_NOUN = r"(?:passages?|documents?|docs?|texts?|ids?|no|nr)"
_LABEL = regex.compile(rf"\W*(?:{_NOUN}[\s_#.:-]*)?[A-Za-z]?0*(\d{{1,4}})\W*", regex.I)
_MENTION = regex.compile(
    rf"\[\s*[PD]?0*(?P<a>\d{{1,4}})\s*\]|\b{_NOUN}\s*[#.]?\s*\[?[PD]?0*(?P<a>\d{{1,4}})\b\]?"
    r"|\b[PD]0*(?P<a>\d{1,4})\b|(?m:^)\W*0*(?P<a>\d{1,4})\s*(?=[:=|)\].-]|->|→)"
    r"(?![.]\d)",
    regex.I,
)
# What stands between a passage's name and its score; a minus sign is part of the score.
_LEAD = regex.compile(r"^(?:[\s:;,=|)\].]|->|→|[-–—]+(?=\s))+")
_TAIL = regex.compile(r"(?:[\s,;|(\[]|\band\b)++$")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Aligned:
    """What was said of which passage.

    Attributes:
        scores: Number of the passage → its score on the scale asked for.
        unknown: Number of the passage → why it has no score. Together with `scores` these are all
            the passages asked about.
        fields: Number of the passage → the other fields of its entry.
        extras: How many entries name no passage of the list.
    """

    scores: Mapping[int, float]
    unknown: Mapping[int, str]
    fields: Mapping[int, Mapping[str, Any]]
    extras: int


def align_json(value: Any, *, count: int, scale: Scale) -> Aligned:
    """Return the entries of `value` by the number of their passage, from 1 to `count`.

    Takes a list of entries with an id each, a mapping from ids to scores or entries, pairs, and all
    of these under a name. An id graded twice with different scores is unknown.

    Raises:
        ValueError: Nothing in it can be aligned; the message says what is missing.
    """
    return _align(list(_pairs(value, count)), count, scale)


def align_text(text: str, *, count: int, scale: Scale) -> Aligned:
    """Return the scores that a text gives to the passages it names, from 1 to `count`.

    A text about a single passage need not name it.

    Raises:
        ValueError: It names no passage.
    """
    text = without_scale(text)
    mentions = list(_MENTION.finditer(text))
    ends = [match.start() for match in mentions[1:]] + [len(text)]
    pairs: list[tuple[int, dict[str, Any]]] = []
    for match, end in zip(mentions, ends[: len(mentions)], strict=True):
        said = _TAIL.sub("", _LEAD.sub("", text[match.end() : end]))
        if read_score(said, scale) is not None:
            pairs.append((int(match["a"]), {"score": said}))
    if count == 1 and not any(number == 1 for number, _ in pairs):
        pairs = [(1, {"score": text})]
    aligned = _align(pairs, count, scale)
    if not aligned.scores:
        raise ValueError("no passage has a score")
    return aligned


def label_number(value: object) -> int | None:
    """Return the number in an id such as `P3`, `[3]`, `passage 3` or 3, None where none is."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    match = _LABEL.fullmatch(value) if isinstance(value, str) else None
    return int(match[1]) if match else None


def _pairs(value: Any, count: int) -> Iterable[tuple[int | None, Mapping[str, Any]]]:
    if isinstance(value, Mapping):
        yield from _pairs_of_mapping(value, count)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        yield from _pairs_of_list(value, count)


def _pairs_of_mapping(
    value: Mapping[str, Any], count: int
) -> Iterable[tuple[int | None, Mapping[str, Any]]]:
    inner = next((value[key] for key in _LISTS if isinstance(value.get(key), list | dict)), None)
    if inner is not None:
        yield from _pairs(inner, count)
    elif value and all(label_number(key) is not None for key in value):
        for key, entry in value.items():
            yield label_number(key), entry if isinstance(entry, Mapping) else {"score": entry}
    elif any(key in value for key in _SCORES):
        yield (_id_of(value) if _has_id(value) else 1 if count == 1 else None), value
    else:
        lists = [item for item in value.values() if isinstance(item, list | dict) and item]
        if len(lists) == 1:
            yield from _pairs(lists[0], count)


def _pairs_of_list(
    value: Sequence[Any], count: int
) -> Iterable[tuple[int | None, Mapping[str, Any]]]:
    if not any(_has_id(item) for item in value):
        if len(value) == count:
            for number, item in enumerate(value, start=1):
                yield number, item if isinstance(item, Mapping) else {"score": item}
        return
    for item in value:
        if isinstance(item, Mapping):
            yield _id_of(item), item
        elif _has_id(item):
            yield label_number(item[0]), {"score": item[1]}


def _has_id(item: Any) -> bool:
    if isinstance(item, Mapping):
        return any(key in item for key in _IDS)
    return isinstance(item, list | tuple) and len(item) == 2 and isinstance(item[0], str | int)


def _id_of(item: Mapping[str, Any]) -> int | None:
    numbers = (label_number(item[key]) for key in _IDS if key in item)
    return next((number for number in numbers if number is not None), None)


def _align(
    pairs: Sequence[tuple[int | None, Mapping[str, Any]]], count: int, scale: Scale
) -> Aligned:
    if any(number == 0 for number, _ in pairs):
        raise ValueError(f"there is no passage 0: the ids are P1 to P{count}")
    scores: dict[int, float] = {}
    unknown: dict[int, str] = {}
    fields: dict[int, Mapping[str, Any]] = {}
    extras = 0
    for number, entry in pairs:
        if number is None or not 1 <= number <= count:
            extras += 1
            continue
        raw = next((entry[key] for key in _SCORES if key in entry), None)
        score = read_score(raw, scale)
        known = scores.get(number)
        fields.setdefault(number, entry)
        if score is None:
            if known is None:
                unknown.setdefault(number, _why(raw))
        elif number in unknown or (known is not None and known != score):
            scores.pop(number, None)
            unknown[number] = "it was graded twice, differently"
        else:
            scores[number] = score
    if not scores and not unknown:
        raise ValueError(f"no passage was graded: one entry a passage is needed, P1 to P{count}")
    for number in range(1, count + 1):
        if number not in scores:
            unknown.setdefault(number, "the model left it out")
    return Aligned(scores=scores, unknown=unknown, fields=fields, extras=extras)


def _why(raw: object) -> str:
    shown = " ".join(str(raw).split())
    return f"not a score on the scale: {shown[:60]!r}"
