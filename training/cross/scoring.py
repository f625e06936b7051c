"""What a network says of examples, and how its logits become calibrated scores."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from training.cross.batches import tensors
from training.cross.examples import Example, Window
from training.models import Logistic, fit_logistic

_BATCH = 24
_NOTHING = -9.0
_ROUNDS = 3
CALIBRATED = ("nq", "wikiqa", "hotpot", "xquad", "musique", "pubmed")
"""The sets that scores are calibrated on; questions count alike, and so do both answers."""
STRIPS = {"qed": 1.0, "hotpot": 1.0, "wikiqa": 1.0, "nq": 0.5}

Array = NDArray[np.float64]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Said:
    """The logits of one example: (candidates,), and (strips,) of each candidate."""

    passages: Array
    strips: tuple[Array, ...]


@torch.no_grad()
def say(network: nn.Module, examples: Sequence[Example]) -> list[Said]:
    """Return the network's logits for all candidates; pairs of like length go together."""
    network.eval()
    said = [
        Said(
            passages=np.full(len(example.candidates), _NOTHING),
            strips=tuple(np.full(len(c.strip_labels), _NOTHING) for c in example.candidates),
        )
        for example in examples
    ]
    places: list[tuple[int, int, Window]] = [
        (number, at, window)
        for number, example in enumerate(examples)
        for at, candidate in enumerate(example.candidates)
        for window in candidate.windows
    ]
    places.sort(key=lambda place: len(place[2].pair.passage))
    for start in range(0, len(places), _BATCH):
        chosen = places[start : start + _BATCH]
        passages, strips = network(*tensors([window.pair for _, _, window in chosen]))
        for row, (number, at, window) in enumerate(chosen):
            size = len(window.pair.owned)
            own = said[number]
            own.passages[at] = max(own.passages[at], float(passages[row]))
            own.strips[at][window.first : window.first + size] = strips[row, :size].numpy()
    network.train()
    return said


def fit_scores(examples: Sequence[Example], said: Sequence[Said]) -> dict[str, Any]:
    """Return the fields of `scores.json`: how logits become scores (Platt 1999).

    A passage's score is the probability that a question whose best passage has this score can be
    answered, where one question in two can be; it averages the cross-encoder with the evidence.
    """
    passage = Logistic(bias=0.0, weights=np.array([0.2, 1.0]))
    for _ in range(_ROUNDS):
        passage = _fit_passage(examples, said, passage)
    return {
        "passage": passage.fields(("cross", "first")),
        "strip": _fit_strips(examples, said, passage).fields(("cross", "evidence", "passage")),
    }


def _fit_passage(examples: Sequence[Example], said: Sequence[Said], before: Logistic) -> Logistic:
    """Return the model over the candidates that `before` calls the best of each question."""
    rows, labels, names = [], [], []
    for example, one in zip(examples, said, strict=True):
        if example.set in CALIBRATED and example.answerable is not None:
            first = np.array([candidate.logit for candidate in example.candidates])
            both = np.stack([one.passages, np.maximum(first, _NOTHING)], axis=1)
            rows.append(both[np.argmax(before(both))])
            labels.append(float(example.answerable))
            names.append(example.set)
    sizes = {name: names.count(name) / 300 for name in set(names)}
    weights = balanced(names, labels, sizes)
    return fit_logistic(np.array(rows), np.array(labels), weights, positive=True)


def _fit_strips(examples: Sequence[Example], said: Sequence[Said], passage: Logistic) -> Logistic:
    rows, labels, names = [], [], []
    for example, one in zip(examples, said, strict=True):
        if example.set not in STRIPS:
            continue
        for at, candidate in enumerate(example.candidates):
            if not candidate.windows:
                continue
            logit = float(passage(np.array([one.passages[at], candidate.logit])))
            for strip, label in enumerate(candidate.strip_labels):
                if label is not None and not candidate.empty[strip]:
                    rows.append((one.strips[at][strip], candidate.evidence[strip], logit))
                    labels.append(float(label))
                    names.append(example.set)
    weights = balanced(names, labels, STRIPS)
    return fit_logistic(np.array(rows), np.array(labels), weights, positive=True)


def balanced(names: Sequence[str], labels: Sequence[float], shares: dict[str, float]) -> Array:
    """Return a weight for each row: sets by their shares, both labels of a set alike."""
    known, truth = np.array(names), np.array(labels)
    weights = np.zeros(len(labels))
    for name, share in shares.items():
        for label in (0.0, 1.0):
            chosen = (known == name) & (truth == label)
            if chosen.any():
                weights[chosen] = share * 300 / chosen.sum()
    return weights
