"""A labelled question, and how one is made of a row of a data set."""

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from crag_graph.errors import InputError
from crag_graph.text.clean import clean_question, clean_text, is_blank
from crag_graph.wording import named

_YES = ("true", "yes", "1")
_NO = ("false", "no", "0")
COLUMNS = ("id", "answers", "answerable", "should_answer", "passages", "gold")
"""What a row may hold beside `question`."""

_SEPARATOR = "|"
"""Between several values in one cell of a table."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class LabelledPassage:
    """A passage that belongs to a question.

    Attributes:
        text: All of it.
        title: Its title; empty when it has none.
        label: How relevant it is, 0 or 1 or a grade of more steps; None where that is not known.
        sentences: Sentences of the text, in its order, each with whether it is evidence.
    """

    text: str
    title: str = ""
    label: float | None = None
    sentences: tuple[tuple[str, bool], ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Example:
    """A question with what is known of it. What is empty or None is not known.

    Attributes:
        id: Unlike that of any other question of the set.
        question: As it is asked.
        answers: Texts of which each answers it.
        answerable: Whether the corpus (or its own passages) answers it.
        should_answer: Whether an answer is wanted; else a refusal is right.
        passages: Its own passages, which are then its whole corpus.
        gold: Sources or document ids of the collection that answer it.
    """

    id: str
    question: str
    answers: tuple[str, ...] = ()
    answerable: bool | None = None
    should_answer: bool | None = None
    passages: tuple[LabelledPassage, ...] = ()
    gold: tuple[str, ...] = ()


def example_of(row: Mapping[str, Any], *, default_id: str, relevant_from: float) -> Example:
    """Return the question that `row` holds; keys that are not known are left aside.

    Where `answerable` and `should_answer` are missing they follow from each other, then from the
    labels of the passages, then from `gold` and `answers` being there.

    Args:
        row: `question` and any of `id`, `answers` (a text or a list), `answerable`,
            `should_answer`, `passages` (`[{"text", "title"?, "label"?, "sentences"?}]`) and `gold`
            (a text or a list). In a table lists are JSON, or separated by `|`.
        default_id: The id of a row without one.
        relevant_from: The label from which a passage answers.

    Raises:
        InputError: The question is missing, or a value is of the wrong kind; the message names the
            key and not the file.
    """
    if "question" not in row:
        raise InputError(f"the key `question` is missing or empty: the keys are {named(row)}")
    if not row["question"]:
        raise InputError("the key `question` is missing or empty")
    question = clean_question(row["question"])
    answers = _texts(row, "answers")
    gold = _texts(row, "gold")
    passages = tuple(_passage(given) for given in _list(row, "passages"))
    if not passages and row.get("passages") not in (None, ""):
        raise InputError("passages: the list is empty; leave the key out to ask the collection")
    answerable, should = _truth(row, "answerable"), _truth(row, "should_answer")
    if answerable is None:
        answerable = should if should is not None else _implied(passages, relevant_from)
    if answerable is None and (gold or answers):
        answerable = True
    return Example(
        id=clean_text(str(row.get("id") or default_id)),
        question=question,
        answers=answers,
        answerable=answerable,
        should_answer=answerable if should is None else should,
        passages=passages,
        gold=gold,
    )


def _implied(passages: Sequence[LabelledPassage], relevant_from: float) -> bool | None:
    """Return whether a passage answers; None where that hangs on one without a label."""
    labels = [passage.label for passage in passages]
    if any(label is not None and label >= relevant_from for label in labels):
        return True
    return None if not labels or None in labels else False


def _passage(given: Any) -> LabelledPassage:
    if not isinstance(given, Mapping) or not isinstance(given.get("text"), str):
        raise InputError('passages: each needs a text, as in {"text": "…", "label": 1}')
    if is_blank(given["text"]):
        raise InputError("passages: one has a blank text")
    sentences = tuple(_sentence(item) for item in given.get("sentences") or ())
    return LabelledPassage(
        text=clean_text(given["text"]),
        title=clean_text(str(given.get("title") or "")),
        label=_number(given.get("label")),
        sentences=sentences,
    )


def _sentence(given: Any) -> tuple[str, bool]:
    if not isinstance(given, Mapping) or not isinstance(given.get("text"), str):
        raise InputError('sentences: each needs a text, as in {"text": "…", "label": 1}')
    return clean_text(given["text"]).strip(), (_number(given.get("label")) or 0) > 0


def _number(value: Any) -> float | None:
    if value is None or value == "":
        return None
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise InputError(f"label: a number is needed, not {_shown(value)}")
    return float(value)


def _truth(row: Mapping[str, Any], key: str) -> bool | None:
    value = row.get(key)
    word = str(value).strip().lower()
    if value is None or word == "":
        return None
    if word in _YES:
        return True
    if word in _NO:
        return False
    raise InputError(f"{key}: true or false is needed, not {_shown(value)}")


def _texts(row: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """Return the texts under `key`, blank ones left out, each once."""
    values = _list(row, key, separator=_SEPARATOR)
    if not all(isinstance(value, str | int | float) for value in values):
        raise InputError(f"{key}: a text or a list of texts is needed")
    texts = [clean_text(str(value)).strip() for value in values]
    return tuple(dict.fromkeys(text for text in texts if text))


def _list(row: Mapping[str, Any], key: str, *, separator: str = "") -> list[Any]:
    value = row.get(key)
    if value is None or value == "":
        return []
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise InputError(f"{key}: {_shown(value)} begins like a list but is none") from None
    if isinstance(value, str) and separator:
        value = value.split(separator)
    if separator and isinstance(value, int | float):
        value = [value]
    if not isinstance(value, list):
        raise InputError(f"{key}: a list is needed, not {_shown(value)}")
    return value


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
