"""Labelled questions with a three-way truth, for `benchmarks.cascade`, which defines it."""

import dataclasses
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from crag_graph.evaluators.base import Passage
from crag_graph.state import Action
from training.labelled import FITTED, FOLDS, passage_of, read_rows
from training.words import words_of

ACTIONS: tuple[Action, ...] = ("correct", "ambiguous", "incorrect")
_CANDIDATES = 5


@dataclasses.dataclass(frozen=True, kw_only=True)
class Asked:
    """A question with its candidates, and what is true of them.

    Attributes:
        question: As it was asked.
        passages: The candidates.
        needed: The ids of those that the answer needs.
        truth: What should be done with them.
        half: Which half of the questions it is in, 0 or 1.
    """

    question: str
    passages: tuple[Passage, ...]
    needed: frozenset[str]
    truth: Action
    half: int


def read_asked(folder: Path, *, most: int) -> list[Asked]:
    """Return questions that nothing was fitted on, at most `most` of each single-step set."""
    found: list[Asked] = []
    for name, make in (
        ("hotpot_100", _steps),
        ("musique_100", _steps),
        ("wikiqa_dev", _single),
        ("xquad_en", _single),
    ):
        rows = [row for row in read_rows(folder, name) if _fold(row["question"]) not in FITTED]
        rows.sort(key=lambda row: _hash(row["question"]))
        for row in rows if make is _steps else rows[:most]:
            found.extend(make(name, row))
    return found


def _steps(name: str, row: dict[str, object]) -> Iterator[Asked]:
    gold, others = _sides(name, row)
    if len(gold) > 1:
        draw = _hash(str(row["question"])) // FOLDS
        part = [passage for at, passage in enumerate(gold) if at != draw % len(gold)]
        truth = ACTIONS[draw % len(ACTIONS)]
        kept = {"correct": gold, "ambiguous": part, "incorrect": []}[truth]
        yield _asked(row, kept, others, truth)


def _single(name: str, row: dict[str, object]) -> Iterator[Asked]:
    gold, others = _sides(name, row)
    if name == "wikiqa_dev":  # one passage a question, which answers it or does not
        yield _asked(row, gold, others, "correct" if gold else "incorrect")
    elif _hash(str(row["question"])) // FOLDS % 2:
        yield _asked(row, gold, others, "correct")
    else:
        yield _asked(row, [], others, "incorrect")


def _sides(name: str, row: dict[str, object]) -> tuple[list[Passage], list[Passage]]:
    sides: tuple[list[Passage], list[Passage]] = ([], [])
    given = row["passages"]
    assert isinstance(given, list)
    for passage in given:
        made = passage_of(name, passage["text"], str(passage.get("title") or ""))
        answers = row["answerable"] if name == "wikiqa_dev" else passage["label"]
        sides[0 if answers else 1].append(made)
    return sides


def _asked(
    row: dict[str, object],
    gold: Sequence[Passage],
    others: Sequence[Passage],
    truth: Action,
) -> Asked:
    question = str(row["question"])
    room = max(0, _CANDIDATES - len(gold))
    return Asked(
        question=question,
        passages=(*others[:room], *gold),
        needed=frozenset(passage.id for passage in gold),
        truth=truth,
        half=_fold(question) % 2,
    )


def _fold(question: str) -> int:
    return _hash(question) % FOLDS


def _hash(question: str) -> int:
    return int(hashlib.sha256(words_of(question).encode()).hexdigest(), 16)


def key_of(question: str, passages: Sequence[Passage]) -> str:
    """Return what tells one question with its candidates from all others."""
    return "\n".join([question, *(passage.id for passage in passages)])
