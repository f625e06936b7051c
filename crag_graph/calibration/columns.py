"""Which column is what: the names that people give to questions, passages and labels."""

import dataclasses
import re
from collections.abc import Collection, Iterable
from typing import Literal

Part = Literal["question", "passage", "label", "answerable", "action", "passages"]

_NAMES: dict[Part, tuple[str, ...]] = {
    "question": ("question", "query", "q", "user_question", "user_query", "prompt", "frage"),
    "passage": (
        "passage", "text", "passage_text", "document", "doc", "document_text", "context", "chunk",
        "chunk_text", "content", "page_content", "sentence", "paragraph", "evidence",
    ),
    "label": (
        "label", "labels", "grade", "relevance", "relevant", "is_relevant", "rel", "rating",
        "relevance_label", "relevance_grade", "judgement", "judgment", "gold", "gold_label",
        "score",
    ),
    "answerable": (
        "should_answer", "answerable", "is_answerable", "has_answer", "should_be_answered",
        "can_answer", "in_corpus", "answer_in_corpus",
    ),
    "action": ("action", "expected_action", "wanted_action", "verdict", "expected_verdict"),
    "passages": ("passages", "documents", "contexts", "chunks"),
}  # fmt: skip
"""The names of each part, most usual first; of several in one file the first counts."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Columns:
    """The file's own names of its columns; None where it has no such column."""

    question: str | None = None
    passage: str | None = None
    label: str | None = None
    answerable: str | None = None
    action: str | None = None
    passages: str | None = None


def find_columns(names: Iterable[str]) -> Columns:
    """Return which of the columns `names` is what.

    Case, spaces, dashes and underscores at the edges do not matter.
    """
    by_key: dict[str, str] = {}
    for name in names:
        by_key.setdefault(_key(name), name)
    found: dict[str, str] = {}
    for part, known in _NAMES.items():
        named = next((by_key[each] for each in known if each in by_key), None)
        if named is not None:
            found[part] = named
    return Columns(**found)


def known_columns(names: Collection[str]) -> set[str]:
    """Return the parts that the columns `names` hold."""
    return {part for part, name in dataclasses.asdict(find_columns(names)).items() if name}


def told(part: Part, most: int = 4) -> str:
    """Return the usual names of a part, for a message."""
    return ", ".join(_NAMES[part][:most])


def _key(name: object) -> str:
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", str(name).strip())
    return re.sub(r"\W+", "_", spaced).strip("_").lower()
