"""The labelled sets as what the cross-encoder is trained on: questions with encoded candidates."""

import dataclasses
import pickle
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from crag_graph.evaluators.local.features import gather
from crag_graph.evaluators.local.fit import load_fit
from crag_graph.evaluators.local.pairs import Pair, pairs_of
from training.augmented import changed_tasks, cloze_tasks
from training.labelled import Task, passage_of, read_rows, read_tasks, task_of
from training.retrieval import candidates, encoder

TRAINED, CALIBRATED = range(5), 5
"""The folds that the network and its calibration may see."""
NOT_TRAINED_ON = ("trec", "rgb")
"""Their terms forbid commercial use, so nothing that we ship is trained on them."""
_COMPETITORS = 9


@dataclasses.dataclass(frozen=True, kw_only=True)
class Window:
    """One window of a candidate.

    Attributes:
        pair: What the cross-encoder reads.
        first: Which of the passage's strips is the first of the window.
    """

    pair: Pair
    first: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Candidate:
    """A passage that competes for a question.

    Attributes:
        label: Whether it answers; None where that is not known.
        windows: Its windows; none where it only repeats the question.
        strip_labels: Whether each of its strips answers, None where that is not known.
        empty: Whether each strip only repeats the question.
        logit: The first judgement's.
        evidence: (strips,): each strip's own, on the logit scale.
    """

    label: int | None
    windows: tuple[Window, ...]
    strip_labels: tuple[int | None, ...]
    empty: tuple[bool, ...]
    logit: float
    evidence: NDArray[np.float64]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Example:
    """A question with its candidates."""

    set: str
    question: str
    fold: int
    answerable: bool | None
    labelled_strips: bool
    candidates: tuple[Candidate, ...]


def load_examples(folder: Path, cache: Path | None) -> list[Example]:
    """Return all examples; from `cache` where it exists, else made and, if it is named, kept there.

    Making them takes about 23 minutes on two cores and 6 GB of memory.
    """
    if cache is not None and cache.exists():
        with cache.open("rb") as file:
            kept: list[Example] = pickle.load(file)  # noqa: S301  # written by this command
        return kept
    tasks = read_tasks(folder, both=True)
    more = (*more_tasks(folder), *changed_tasks(tasks), *cloze_tasks(tasks, TRAINED))
    examples = make_examples([*tasks, *more])
    if cache is not None:
        with cache.open("wb") as file:
            pickle.dump(examples, file, protocol=5)
    return examples


def more_tasks(folder: Path) -> Iterator[Task]:
    """Yield tasks of sets that the weights of the evidence are not fitted on."""
    rows = read_rows(folder, "pubmedqa_dev")
    own = [
        passage_of("pubmed", "\n\n".join(p["text"] for p in row["passages"]), "") for row in rows
    ]
    found = candidates([row["question"] for row in rows], own)
    for row, gold, ranked in zip(rows, own, found, strict=True):
        others = [passage for passage in ranked if passage is not gold][:_COMPETITORS]
        yield task_of("pubmed", row["question"], (*others, gold), [0] * len(others) + [1])
        yield task_of("pubmed", row["question"], tuple(others), [0] * len(others))
    for row in read_rows(folder, "trecqa_dev"):
        sentences = [s for passage in row["passages"] for s in passage.get("sentences", [passage])]
        passages = tuple(passage_of("trecqa", sentence["text"], "") for sentence in sentences)
        labels = [int(sentence["label"]) for sentence in sentences]
        yield task_of("trecqa", row["question"], passages, labels)


def make_examples(tasks: Sequence[Task]) -> list[Example]:
    """Return the tasks, encoded. Equal texts share their vectors, kept with half precision."""
    fit = load_fit()
    shared: dict[tuple[int, bytes], NDArray[np.float16]] = {}
    made = []
    for number, task in enumerate(tasks, 1):
        gathered = gather(task.question, task.passages, encoder())
        if gathered.question.latin:
            found = []
            for evidence, label in zip(gathered.passages, task.labels, strict=True):
                first = fit.judge(evidence, readable=True)
                own = np.asarray(first.evidence)
                pairs = pairs_of(gathered, evidence, logit=first.raw, strips=own)
                windows = zip(pairs, evidence.windows, strict=True) if first.best >= 0 else ()
                keys = [piece.id for piece in evidence.reading.pieces]
                found.append(
                    Candidate(
                        label=label,
                        windows=tuple(
                            Window(pair=_slim(pair, shared), first=seen.window.first)
                            for pair, seen in windows
                        ),
                        strip_labels=tuple(
                            task.strip_labels.get(key) if label else 0 for key in keys
                        ),
                        empty=tuple(piece.empty for piece in evidence.reading.pieces),
                        logit=first.raw,
                        evidence=own,
                    )
                )
            made.append(
                Example(
                    set=task.set,
                    question=task.question,
                    fold=task.fold,
                    answerable=task.answerable,
                    labelled_strips=bool(task.strip_labels),
                    candidates=tuple(found),
                )
            )
        if number % 1000 == 0:
            sys.stdout.write(f"{number} of {len(tasks)} questions read\n")
            sys.stdout.flush()
    return made


def _slim(pair: Pair, shared: dict[tuple[int, bytes], NDArray[np.float16]]) -> Pair:
    def kept(vectors: NDArray[np.floating]) -> NDArray[np.float16]:
        half = vectors.astype(np.float16)
        return shared.setdefault((len(half), half.tobytes()[:4096]), half)

    return dataclasses.replace(pair, question=kept(pair.question), passage=kept(pair.passage))
