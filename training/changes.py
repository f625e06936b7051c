"""Passages changed so that they answer no longer: on the topic still, and in the same words."""

import re

from crag_graph.evaluators.base import Passage

_NUMBER = re.compile(r"(?<![\w.,])\d{2,}(?![\w]|[.,]\d)")
# Far enough for another year, season or edition, near enough to look like one.
_STEP = 7


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
