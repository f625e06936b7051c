"""What the network sees in one step: questions with some candidates, changed a little each time."""

import dataclasses
import random
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from crag_graph.evaluators.local.pairs import INPUTS, Pair, stack
from training.cross.examples import Candidate, Example, Window

# How much each set counts, and how often its questions come in an epoch: those whose sentences are
# labelled by people, and the few with several passages, more.
WEIGHTS = {
    "nq": 1.0,
    "qed": 1.0,
    "wikiqa": 2.0,
    "hotpot": 1.5,
    "musique": 0.7,
    "xquad": 0.6,
    "deleted": 1.0,
    "swapped": 0.5,
    "cut": 0.5,
    "renamed": 0.5,
    "restated": 0.5,
    "cloze": 0.5,
    "pubmed": 0.5,
    "trecqa": 1.0,
    "noveleval": 0.3,
}
CHANGED = ("deleted", "swapped", "cut", "renamed", "restated")
"""Sets of pairs: a passage and a form of it that answers no longer."""
_TIMES = {"wikiqa": 2, "hotpot": 3, "musique": 2}
_POSITIVE, _NEGATIVE = 2, 5
_MOST_TOKENS = 260
# How many strips that do not answer are hidden on average, and how many tokens of either text: with
# all of them in sight the network learns the passages by heart.
_STRIPS_HIDDEN = 0.25
_TOKENS_HIDDEN, _ASKED_HIDDEN = 0.15, 0.1


@dataclasses.dataclass(frozen=True, kw_only=True)
class Group:
    """The candidates that compete in the loss: a question's, or a passage and its changed form."""

    set: str
    candidates: tuple[tuple[Example, Candidate], ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Item:
    """One pair of a batch, with its labels.

    Attributes:
        pair: What the network reads.
        label: Whether the passage answers.
        strips: For each strip of the pair whether it answers; None where that is not known.
        kept: For each strip whether it is there; the others' tokens are hidden.
        group: Which group it belongs to.
        weight: How much it counts.
    """

    pair: Pair
    label: int
    strips: tuple[int | None, ...]
    kept: tuple[bool, ...]
    group: int
    weight: float


def groups_of(examples: Sequence[Example]) -> list[Group]:
    """Return the groups of an epoch, with repetitions."""
    groups: list[Group] = []
    changed: dict[tuple[str, str], list[tuple[Example, Candidate]]] = {}
    for example in examples:
        own = [(example, candidate) for candidate in example.candidates]
        if example.set in CHANGED:
            changed.setdefault((example.set, example.question), []).extend(own)
        elif example.answerable is not False or example.set not in ("nq", "pubmed"):
            # There, the question without its answer has the same candidates but one.
            known = tuple(pair for pair in own if pair[1].label is not None)
            group = Group(set=example.set, candidates=known)
            groups.extend([group] * _TIMES.get(example.set, 1))
    groups.extend(Group(set=name, candidates=tuple(pairs)) for (name, _), pairs in changed.items())
    return groups


def batches(groups: Sequence[Group], size: int, draw: random.Random) -> Iterator[list[Item]]:
    """Yield the groups in random order, `size` a batch, a few candidates of each."""
    order = list(groups)
    draw.shuffle(order)
    for start in range(0, len(order) - size + 1, size):
        items = [
            item
            for number, group in enumerate(order[start : start + size])
            for item in _items(group, number, draw)
        ]
        if items:
            yield items


def tensors(pairs: Sequence[Pair]) -> list[Tensor]:
    """Return the network's inputs for the pairs."""
    return _tensors(stack(pairs))


def hidden_tensors(pairs: Sequence[Pair], draw: np.random.Generator) -> list[Tensor]:
    """Return the same with some of the tokens hidden, at random."""
    arrays = stack(pairs)
    alive, asked = arrays["passage_alive"], arrays["question_alive"]
    share = 2 * _TOKENS_HIDDEN * draw.random((len(pairs), 1))
    alive &= draw.random(alive.shape) > share
    asked &= draw.random(asked.shape) > _ASKED_HIDDEN
    for mask in (alive, asked):
        mask[:, 0] |= ~mask.any(axis=1)
    return _tensors(arrays)


def _tensors(arrays: dict[str, NDArray[Any]]) -> list[Tensor]:
    return [torch.from_numpy(arrays[name]) for name in INPUTS]


def _items(group: Group, number: int, draw: random.Random) -> Iterator[Item]:
    positive = [pair for pair in group.candidates if pair[1].label]
    negative = [pair for pair in group.candidates if not pair[1].label]
    chosen = [
        *draw.sample(positive, min(_POSITIVE, len(positive))),
        *draw.sample(negative, min(_NEGATIVE, len(negative))),
    ]
    for example, candidate in chosen:
        window = _window(candidate, draw)
        if window is not None:
            item = _item(example, candidate, window, draw)
            if item is not None:
                yield dataclasses.replace(item, group=number, weight=WEIGHTS[group.set])


def _window(candidate: Candidate, draw: random.Random) -> Window | None:
    """Return the window that answers where that is known, else any."""
    if not candidate.windows:
        return None
    if candidate.label and any(candidate.strip_labels):
        return max(
            candidate.windows,
            key=lambda window: sum(bool(label) for label in _labels(candidate, window)),
        )
    return draw.choice(candidate.windows)


def _labels(candidate: Candidate, window: Window) -> tuple[int | None, ...]:
    return candidate.strip_labels[window.first : window.first + len(window.pair.owned)]


def _item(
    example: Example, candidate: Candidate, window: Window, draw: random.Random
) -> Item | None:
    """Return the window with some strips hidden that do not answer; None when nothing is left."""
    pair, labels = window.pair, _labels(candidate, window)
    labelled = example.labelled_strips
    if not 0 < len(pair.passage) <= _MOST_TOKENS:
        return None
    if candidate.label and labelled and not any(labels):
        return None
    alive = pair.alive.copy()
    kept = [True] * len(pair.owned)
    if len(pair.owned) > 2:  # two strips explain each other
        for place, label in enumerate(labels):
            hideable = not label and (labelled or not candidate.label)
            if hideable and draw.random() < 2 * _STRIPS_HIDDEN * draw.random():
                kept[place] = False
                alive[slice(*pair.owned[place])] = False
    if not alive.any() or not any(kept):
        return None
    return Item(
        pair=dataclasses.replace(pair, alive=np.ascontiguousarray(alive)),
        label=int(bool(candidate.label)),
        strips=labels,
        kept=tuple(kept),
        group=0,
        weight=0.0,
    )
