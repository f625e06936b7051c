"""The labelled sets as tasks: a question, the passages that compete for it, what holds true.

The sets are read from a folder of gzipped JSONL files, a question a line:
`{"id", "question", "answers", "answerable", "passages": [{"text", "label", "title"?,
"sentences"?: [{"text", "label"}]}]}`. Their texts stay where they are: licences differ.
"""

import dataclasses
import gzip
import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from langchain_core.documents import Document

from crag_graph.evaluators.base import Passage
from crag_graph.state import Strip
from crag_graph.text.strips import decompose
from training.changes import with_other_numbers, without_answer
from training.retrieval import candidates
from training.words import holds, words_of

FOLDS = 10
FITTED = range(6)
"""The folds that the fit may see; the others are for reporting."""
_COMPETITORS = 10
# Of each grade of trec_dl19 so many passages a question: 9,260 of them would outweigh all else.
_GRADED = {0: 20, 1: 20, 2: 15, 3: 15}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Task:
    """A question with the passages that compete for it.

    Attributes:
        set: The name of the set; `deleted` for passages without their answering sentences,
            `swapped` for those with other numbers than the question's.
        question: As it was asked.
        passages: The candidates.
        labels: For each, whether it answers; None where that is not known.
        strip_labels: Strip id → whether the strip answers, for the passages that answer.
        answerable: Whether any candidate answers; None where the task is about strips alone.
        fold: 0–9, by the question's words, so that a question is never on both sides.
        answers: Short answers, where the set has any.
    """

    set: str
    question: str
    passages: tuple[Passage, ...]
    labels: tuple[int | None, ...]
    strip_labels: dict[str, int]
    answerable: bool | None
    fold: int
    answers: tuple[str, ...] = ()

    @property
    def fitted(self) -> bool:
        """Whether the fit may see it."""
        return self.fold in FITTED


def read_rows(folder: Path, name: str) -> list[dict[str, Any]]:
    """Return the questions of one set."""
    with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def read_tasks(folder: Path, *, both: bool) -> list[Task]:
    """Return the tasks of all sets.

    Args:
        folder: Where the sets are.
        both: Whether a question of `nq` comes twice, with its gold passage and without it; else
            once, with it in every second question, as drawn by its words.
    """
    tasks = [*_nq(folder, both=both), *_sentences(folder, "wikiqa_dev"), *_qed(folder)]
    for name in (
        "hotpot_100",
        "musique_100",
        "xquad_en",
        "trec_dl19",
        "rgb_en_fact_a",
        "noveleval",
    ):
        tasks.extend(_lists(folder, name))
    return tasks


def _nq(folder: Path, *, both: bool) -> Iterator[Task]:
    """Yield questions with what hybrid search over all gold passages finds for them.

    Other passages that hold an answer are left out: whether they answer is not known.
    """
    rows = read_rows(folder, "nq_open_oracle")
    texts = {row["passages"][0]["text"]: row["passages"][0].get("title", "") for row in rows}
    corpus = [passage_of("nq", text, title) for text, title in texts.items()]
    found = candidates([row["question"] for row in rows], corpus)
    gold = {passage.text: passage for passage in corpus}
    for row, ranked in zip(rows, found, strict=True):
        own = gold[row["passages"][0]["text"]]
        others = [
            passage
            for passage in ranked
            if passage is not own and not holds(f"{passage.title} {passage.text}", row["answers"])
        ][:_COMPETITORS]
        answering = {strip["id"]: int(holds(strip["text"], row["answers"])) for strip in own.strips}
        kept = (*others[: _COMPETITORS - 1], own)
        for answerable in (True, False) if both else (_drawn(row["question"]),):
            task = task_of(
                "nq",
                row["question"],
                kept if answerable else tuple(others),
                [int(passage is own) for passage in (kept if answerable else others)],
                strip_labels=answering if answerable else {},
            )
            yield dataclasses.replace(task, answers=tuple(row["answers"]))
        if both:
            yield from _changed(row["question"], own, answering)


def _qed(folder: Path) -> Iterator[Task]:
    for row in read_rows(folder, "qed_dev"):
        given = row["passages"][0]
        passage, labels = _labelled("qed", given)
        if any(labels.values()):
            yield dataclasses.replace(
                task_of("qed", row["question"], (passage,), [1], strip_labels=labels),
                answerable=None,
                answers=tuple(row["answers"]),
            )
            yield from _changed(row["question"], passage, labels)


def _changed(question: str, passage: Passage, labels: dict[str, int]) -> Iterator[Task]:
    """Yield the passage beside forms of it that answer no longer, each in a task of its own."""
    if deleted := without_answer(passage, labels):
        yield task_of("deleted", question, (passage,), [1])
        yield task_of("deleted", question, (passage_of("deleted", deleted, passage.title),), [0])
    if swapped := with_other_numbers(question, passage):
        yield task_of("swapped", question, (passage,), [1])
        yield task_of("swapped", question, (passage_of("swapped", *swapped),), [0])


def _sentences(folder: Path, name: str) -> Iterator[Task]:
    for row in read_rows(folder, name):
        given = row["passages"][0]
        passage, labels = _labelled("wikiqa", given)
        yield task_of(
            "wikiqa", row["question"], (passage,), [int(row["answerable"])], strip_labels=labels
        )


def _lists(folder: Path, name: str) -> Iterator[Task]:
    """Yield questions with all of their candidates, every second one without those that answer."""
    set_name = name.partition("_")[0]
    graded = name in ("trec_dl19", "noveleval")
    for row in read_rows(folder, name):
        passages: list[Passage] = []
        labels: list[int | None] = []
        strip_labels: dict[str, int] = {}
        for given in _thinned(row["passages"]) if name == "trec_dl19" else row["passages"]:
            label = _label(given, graded=graded)
            if given.get("sentences"):
                passage, known = _labelled(set_name, given)
                strip_labels.update(known if label else {})
            else:
                title = str(given.get("title") or "").replace("_", " ")
                passage = passage_of(set_name, given["text"], title)
            passages.append(passage)
            labels.append(label)
        known_labels = [at for at, label in enumerate(labels) if label is not None]
        if not _drawn(row["question"]):
            known_labels = [at for at in known_labels if labels[at] == 0]
        if known_labels:
            yield task_of(
                set_name,
                row["question"],
                tuple(passages[at] for at in known_labels),
                [labels[at] for at in known_labels],
                strip_labels=strip_labels,
            )


def _label(given: dict[str, Any], *, graded: bool) -> int | None:
    if given.get("kind") == "counterfactual" or given["label"] is None:
        return None  # the right words with the wrong answer: on this, no label of relevance exists
    return int(given["label"] >= 2) if graded else int(given["label"])


def _thinned(given: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    left = dict(_GRADED)
    chosen = []
    for passage in sorted(
        given, key=lambda passage: hashlib.sha256(passage["text"].encode()).digest()
    ):
        if left[passage["label"]] > 0:
            left[passage["label"]] -= 1
            chosen.append(passage)
    return chosen


def task_of(
    set_name: str,
    question: str,
    passages: tuple[Passage, ...],
    labels: Sequence[int | None],
    *,
    strip_labels: dict[str, int] | None = None,
) -> Task:
    """Return the task of a question, in its fold."""
    return Task(
        set=set_name,
        question=question,
        passages=passages,
        labels=tuple(labels),
        strip_labels=strip_labels or {},
        answerable=any(labels),
        fold=_hash(question) % FOLDS,
    )


def passage_of(set_name: str, text: str, title: str) -> Passage:
    """Return the text as a passage, cut into strips as the graph cuts it."""
    identifier = f"{set_name}-{hashlib.sha256(f'{title}|{text}'.encode()).hexdigest()[:12]}"
    document = Document(id=identifier, page_content=text)
    return Passage(
        id=identifier, text=text, title=title, strips=tuple(decompose(document, origin="internal"))
    )


def _labelled(set_name: str, given: dict[str, Any]) -> tuple[Passage, dict[str, int]]:
    """Return the passage with its labelled sentences for strips, and their labels."""
    bare = passage_of(set_name, given["text"], str(given.get("title") or ""))
    strips: list[Strip] = []
    labels: dict[str, int] = {}
    position = 0
    for sentence in given["sentences"]:
        text = sentence["text"].strip()
        start = given["text"].index(text, position)
        position = start + len(text)
        strip = Strip(
            id=f"{bare.id}:{start}-{position}",
            text=text,
            document_id=bare.id,
            start=start,
            end=position,
            score=None,
            kept=False,
            origin="internal",
            source="",
        )
        strips.append(strip)
        labels[strip["id"]] = int(sentence["label"])
    return dataclasses.replace(bare, strips=tuple(strips)), labels


def _hash(question: str) -> int:
    return int(hashlib.sha256(words_of(question).encode()).hexdigest(), 16)


def _drawn(question: str) -> bool:
    """Return whether this question keeps its answering passages: half of them do."""
    return _hash(question) // FOLDS % 2 == 0
