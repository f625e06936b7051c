"""Passages changed so that they answer no longer: on the topic still, and in the same words."""

import random
import re
from collections.abc import Sequence

from crag_graph.evaluators.base import Passage
from crag_graph.text.keywords import keyword_query
from training.words import holds, words_of

_NUMBER = re.compile(r"(?<![\w.,])\d{2,}(?![\w]|[.,]\d)")
# Far enough for another year, season or edition, near enough to look like one.
_STEP = 7
_LINK = r"(?:\b(?:in|on|at|by|of|from|to|since|during|with|the)\s+){0,2}"
_GAP = re.compile(r"\s*([,;.])(?:\s*(?:[,;.]|\(\s*\)))*(?=\s|$)")
_MOVED = ("is", "was", "are", "were", "has", "have", "can", "will", "had")
_DROPPED = ("do", "does", "did")
# Said of a question, none of these answers it. Reports use others than training does.
_SAYINGS = (
    "Nobody knows {said}.",
    "The text does not say {said}.",
    "It is not recorded {said}.",
    "This page is about {terms}.",
    "Many people ask {said}.",
    "There is no information on {terms}.",
    "In this section we look at {terms}.",
    "{said}: see the next chapter.",
    "It was never decided {said}.",
)
_OTHER_SAYINGS = (
    "It remains unknown {said}.",
    "No source tells {said}.",
    "Frequently asked: {said}.",
    "Everything on {terms} is found elsewhere.",
    "We cannot say {said}.",
)


def without_answer(passage: Passage, labels: dict[str, int]) -> str | None:
    """Return the text without the strips that answer; None when none or nothing would be left."""
    left = [strip["text"] for strip in passage.strips if not labels.get(strip["id"])]
    return " ".join(left) if 0 < len(left) < len(passage.strips) else None


def with_other_numbers(question: str, passage: Passage) -> tuple[str, str] | None:
    """Return text and title with other numbers in the place of the question's.

    None when the question has no number, or the passage lacks one of them.
    """
    asked = set(_NUMBER.findall(question))
    if not asked or not asked <= set(_NUMBER.findall(f"{passage.title} {passage.text}")):
        return None

    def other(match: re.Match[str]) -> str:
        return str(int(match[0]) + _STEP) if match[0] in asked else match[0]

    return _NUMBER.sub(other, passage.text), _NUMBER.sub(other, passage.title)


def without_words(passage: Passage, answers: Sequence[str]) -> tuple[str, str] | None:
    """Return text and title without the answers' words; None when none is there, or one stays."""
    text = passage.text
    for answer in sorted(answers, key=len, reverse=True):
        if words := words_of(answer).split():
            text = re.sub(
                _LINK + r"\b" + r"\W+".join(map(re.escape, words)) + r"\b", "", text, flags=re.I
            )
    if text == passage.text or holds(f"{passage.title} {text}", answers):
        return None
    return _GAP.sub(lambda match: match[1], " ".join(text.split())), passage.title


def with_another_name(
    question: str, passage: Passage, titles: Sequence[str], draw: random.Random
) -> tuple[str, str] | None:
    """Return text and title with another name in the place of the title that the question names.

    None when the question does not name it, or the text has it nowhere.
    """
    title = re.sub(r"\s*\(.*\)$", "", passage.title)
    words = title.split()
    if (
        not words
        or len(words) > 4
        or not holds(question, [title])
        or not holds(passage.text, [title])
    ):
        return None
    for _ in range(50):
        other = re.sub(r"\s*\(.*\)$", "", draw.choice(titles)).split()
        alike = len(other) == len(words) and all(word[:1].isupper() for word in other)
        if alike and not set(words_of(" ".join(other)).split()) & set(words_of(title).split()):
            break
    else:
        return None
    changes = {old: new for old, new in zip(words, other, strict=True) if old[:1].isupper()}

    def swap(text: str) -> str:
        return re.sub(r"[\w'’-]+", lambda match: changes.get(match[0], match[0]), text)

    return swap(passage.text), swap(passage.title)


def restated(question: str, draw: random.Random, *, held_out: bool) -> str:
    """Return a sentence that has the question's words and does not answer it."""
    words = question.rstrip(" ?").split()
    if len(words) > 3 and words[1].lower() in (*_MOVED, *_DROPPED):
        moved = [words[1]] if words[1].lower() in _MOVED else []
        words = [words[0], *words[2:], *moved]
    saying = draw.choice(_OTHER_SAYINGS if held_out else _SAYINGS)
    sentence = saying.format(said=" ".join(words), terms=keyword_query(question))
    return sentence[0].upper() + sentence[1:]
