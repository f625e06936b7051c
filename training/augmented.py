"""Tasks made from labelled ones: passages that answer no longer, and questions made by rule."""

import dataclasses
import random
from collections.abc import Iterator, Sequence

from crag_graph.evaluators.base import Passage
from training.changes import restated, with_another_name, without_answer, without_words
from training.cloze import make_cloze, spans_of
from training.labelled import Task, passage_of, task_of
from training.retrieval import candidates
from training.words import holds

_SOURCES = ("nq", "qed", "wikiqa", "hotpot", "musique")
_CLOZES = 2
_COMPETITORS = 8
_SEED = 1


def changed_tasks(tasks: Sequence[Task]) -> Iterator[Task]:
    """Yield a passage that answers beside a form of it that does not, each in a task of its own.

    `cut`: without the words of the answer; `renamed`: about something of another name; `restated`:
    the question, or that nobody knows, said in a passage without the answer.
    """
    draw = random.Random(_SEED)  # noqa: S311
    named = [task for task in tasks if task.set in ("nq", "qed") and task.answers]
    titles = sorted({p.title for task in named for p in task.passages if p.title})
    for task in named:
        own = task.passages[task.labels.index(1)] if 1 in task.labels else None
        if own is None:
            continue
        forms = {
            "cut": without_words(own, task.answers),
            "renamed": with_another_name(task.question, own, titles, draw),
            "restated": _restated(task, own, draw),
        }
        for name, form in forms.items():
            if form is not None:
                text, title = form
                kept = _with_another_gap(task, own, draw) if name == "cut" else own
                yield task_of(name, task.question, (kept,), [1])
                yield task_of(name, task.question, (passage_of(name, text, title),), [0])


def _with_another_gap(task: Task, own: Passage, draw: random.Random) -> Passage:
    """Return the passage without something that was not asked for, so that gaps tell nothing."""
    spans = [match[0] for match, _ in spans_of(own.text)]
    spans = [s for s in spans if not holds(f"{task.question} {' '.join(task.answers)}", [s])]
    draw.shuffle(spans)
    for span in spans:
        form = without_words(own, [span])
        if form is not None and holds(form[0], task.answers):
            return passage_of("cut", *form)
    return own


def _restated(task: Task, own: Passage, draw: random.Random) -> tuple[str, str] | None:
    others = [p for p, label in zip(task.passages, task.labels, strict=True) if label == 0]
    deleted = without_answer(own, task.strip_labels)
    if deleted and (not others or draw.random() < 0.5):
        text, title = deleted, own.title
    elif others:
        other = draw.choice(others[:3])
        text, title = other.text, other.title
    else:
        return None
    sentence = restated(task.question, draw, held_out=not task.fitted)
    return (f"{sentence} {text}" if draw.random() < 0.5 else f"{text} {sentence}"), title


def cloze_tasks(tasks: Sequence[Task], folds: range) -> Iterator[Task]:
    """Yield made questions on the passages that only questions of `folds` have."""
    used: dict[str, tuple[Passage, set[int]]] = {}
    for task in tasks:
        if task.set in _SOURCES:
            for passage, label in zip(task.passages, task.labels, strict=True):
                if label or task.set != "nq":  # whose other candidates are other questions' own
                    used.setdefault(passage.text, (passage, set()))[1].add(task.fold)
    draw = random.Random(_SEED)  # noqa: S311
    corpus = [passage for passage, where in used.values() if where <= set(folds)]
    made = []
    for passage in corpus:
        clozes = {c.answer: c for _ in range(_CLOZES) if (c := make_cloze(passage, draw))}
        made.extend((passage, cloze) for cloze in clozes.values())
    found = candidates([cloze.question for _, cloze in made], corpus) if made else []
    for (passage, cloze), ranked in zip(made, found, strict=True):
        others = [
            other
            for other in ranked
            if other is not passage and not holds(f"{other.title} {other.text}", [cloze.answer])
        ][:_COMPETITORS]
        deleted = without_answer(passage, cloze.labels)
        changed = (
            [passage_of("cloze", deleted, passage.title)]
            if deleted and not holds(deleted, [cloze.answer])
            else []
        )
        task = task_of(
            "cloze",
            cloze.question,
            (passage, *changed, *others),
            [1] + [0] * (len(changed) + len(others)),
            strip_labels=cloze.labels,
        )
        yield dataclasses.replace(task, fold=folds[0])
