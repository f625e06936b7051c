"""How well cosine, the evidence and the trained model do on examples that none of them has seen."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from crag_graph.evaluators.local.features import PASSAGE_FEATURES, STRIP_FEATURES
from training.cross.examples import Example
from training.cross.scoring import Said
from training.measures import auc, average_precision

_WHOLE = ("nq", "wikiqa", "xquad", "hotpot", "musique", "deleted", "swapped", "rgb", "pubmed")
_PASSAGES = ("trec", "trecqa", "noveleval")
_STRIPS = ("hotpot", "qed", "wikiqa")


def report(
    examples: Sequence[Example], said: Sequence[Said], scores: dict[str, Any]
) -> Iterator[str]:
    """Yield a line for each set: area under the ROC curve, or average precision of strips."""
    scorers = {
        "cosine": _cosine(examples),
        "evidence": [
            Said(
                passages=np.array([c.logit for c in example.candidates]),
                strips=tuple(np.where(c.empty, -9.0, c.evidence) for c in example.candidates),
            )
            for example in examples
        ],
        "cross": list(said),
        "both": _both(examples, said, scores),
    }
    for name in _WHOLE:
        chosen = [at for at, example in enumerate(examples) if example.set == name]
        truth = [bool(examples[at].answerable) for at in chosen]
        shown = {
            scorer: auc([found[at].passages.max() for at in chosen], truth)
            for scorer, found in scorers.items()
        }
        yield _line(f"{name}: any answers", len(chosen), shown)
    for name in _PASSAGES:
        chosen = [at for at, example in enumerate(examples) if example.set == name]
        if not chosen:
            continue
        labels = [bool(c.label) for at in chosen for c in examples[at].candidates]
        shown = {
            scorer: auc(np.concatenate([found[at].passages for at in chosen]), labels)
            for scorer, found in scorers.items()
        }
        yield _line(f"{name}: passages", len(chosen), shown)
    for name in _STRIPS:
        chosen = [
            at
            for at, example in enumerate(examples)
            if example.set == name and any(any(c.strip_labels) for c in example.candidates)
        ]
        if not chosen:
            continue
        whole, mean = {}, {}
        for scorer, found in scorers.items():
            lists = [
                (
                    np.concatenate(found[at].strips),
                    np.array([bool(v) for c in examples[at].candidates for v in c.strip_labels]),
                )
                for at in chosen
            ]
            whole[scorer] = average_precision(
                np.concatenate([one for one, _ in lists]),
                np.concatenate([two for _, two in lists]),
            )
            mean[scorer] = float(np.mean([average_precision(*pair) for pair in lists]))
        yield _line(f"{name}: strips, AP", len(chosen), whole)
        yield _line(f"{name}: strips, MAP", len(chosen), mean)


def _line(title: str, size: int, shown: dict[str, float]) -> str:
    figures = "  ".join(f"{name} {value:.3f}" for name, value in shown.items())
    return f"{title:24} {figures}  ({size} questions)"


def _cosine(examples: Sequence[Example]) -> list[Said]:
    at, strip_at = PASSAGE_FEATURES.index("similarity"), STRIP_FEATURES.index("similarity")
    found = []
    for example in examples:
        strips = []
        for candidate in example.candidates:
            own = np.full(len(candidate.strip_labels), -1.0)
            for window in candidate.windows:
                rows = window.pair.strip_features[:, strip_at]
                own[window.first : window.first + len(rows)] = rows
            strips.append(own)
        passages = [
            float(c.windows[0].pair.passage_features[at]) if c.windows else -1.0
            for c in example.candidates
        ]
        found.append(Said(passages=np.array(passages), strips=tuple(strips)))
    return found


def _both(examples: Sequence[Example], said: Sequence[Said], scores: dict[str, Any]) -> list[Said]:
    of_passage, of_strip = scores["passage"]["weights"], scores["strip"]["weights"]
    found = []
    for example, one in zip(examples, said, strict=True):
        first = np.array([max(c.logit, -9.0) for c in example.candidates])
        passages = of_passage["cross"] * one.passages + of_passage["first"] * first
        passages = passages + scores["passage"]["bias"]
        strips = tuple(
            of_strip["cross"] * own
            + of_strip["evidence"] * c.evidence
            + of_strip["passage"] * whole
            for c, own, whole in zip(example.candidates, one.strips, passages, strict=True)
        )
        found.append(Said(passages=passages, strips=strips))
    return found
