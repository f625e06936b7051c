"""What the network is trained for: passages and strips that answer stand above the others."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from training.cross.batches import Item

_HIDDEN = -1e4
_SMOOTHED = 0.02
# How sharply the soft maximum over candidates picks the best one.
_SHARPNESS = 4.0


def loss_of(items: Sequence[Item], passages: Tensor, strips: Sequence[Tensor]) -> Tensor:
    """Return the sum of the losses of a batch.

    Args:
        items: The batch.
        passages: (items,): the passages' logits.
        strips: The logits of each item's strips.
    """
    labels = torch.tensor([float(item.label) for item in items])
    groups = torch.tensor([item.group for item in items])
    total = torch.zeros(())
    balance = torch.zeros(len(items))
    for group in {item.group for item in items}:
        places = [place for place, item in enumerate(items) if item.group == group]
        mine = groups == group
        weight = items[places[0]].weight
        answering = labels[mine] > 0
        yes, no = int(answering.sum()), int((~answering).sum())
        balance[mine] = torch.where(
            answering,
            torch.tensor((1.0 if no else 0.5) / max(1, yes)),
            torch.tensor((1.0 if yes else 0.5) / max(1, no)),
        )
        if no:
            total = total + weight * _pooled(passages[mine], answering)
        if yes and no:
            total = total + weight * _listwise(passages[mine], answering)
        if len(places) > 1:
            total = total + 0.5 * weight * _across(
                [items[p] for p in places], [strips[p] for p in places]
            )
    weights = torch.tensor([item.weight for item in items])
    smooth = labels * (1 - 2 * _SMOOTHED) + _SMOOTHED
    pointwise = functional.binary_cross_entropy_with_logits(passages, smooth, reduction="none")
    total = total + (pointwise * balance * weights).sum()
    for item, share, logits in zip(items, balance, strips, strict=True):
        total = total + item.weight * _within(item, logits, float(share))
    return total


def _within(item: Item, logits: Tensor, share: float) -> Tensor:
    """Return the loss over the strips of one passage."""
    kept = torch.tensor(item.kept)
    logits = logits[kept]
    if not item.label:
        return 0.3 * share * functional.softplus(torch.logsumexp(logits, 0))
    labels = [label for label, there in zip(item.strips, item.kept, strict=True) if there]
    if None in labels:
        return torch.zeros(())
    truth = torch.tensor([bool(label) for label in labels])
    yes, no = int(truth.sum()), int((~truth).sum())
    if not yes:
        return torch.zeros(())
    each = torch.where(truth, torch.tensor(0.5 / yes), torch.tensor(0.5 / max(1, no)))
    found = functional.binary_cross_entropy_with_logits(logits, truth.float(), reduction="none")
    total = 0.5 * (found * each).sum()
    return total + _listwise(logits, truth) if no else total


def _across(items: Sequence[Item], strips: Sequence[Tensor]) -> Tensor:
    """Return the loss over the strips of all passages of a group together."""
    known = [
        label is not None and there
        for item in items
        for label, there in zip(item.strips, item.kept, strict=True)
    ]
    truth = torch.tensor(
        [
            bool(label) and there
            for item in items
            for label, there in zip(item.strips, item.kept, strict=True)
        ]
    )
    seen = torch.tensor(known)
    if not truth.any() or not (seen & ~truth).any():
        return torch.zeros(())
    return _listwise(torch.cat(list(strips)).masked_fill(~seen, _HIDDEN), truth)


def _pooled(logits: Tensor, answering: Tensor) -> Tensor:
    """Return the loss of "does any of them answer?", with the passages that answer and without."""
    without = torch.logsumexp(_SHARPNESS * logits[~answering], 0) / _SHARPNESS
    total = 0.5 * functional.softplus(without)
    if answering.any():
        whole = torch.logsumexp(_SHARPNESS * logits, 0) / _SHARPNESS
        total = total + 0.5 * functional.softplus(-whole)
    return total


def _listwise(logits: Tensor, truth: Tensor) -> Tensor:
    """Return how little of the softmax over `logits` is on those that are true, as a log."""
    return torch.logsumexp(logits, 0) - torch.logsumexp(logits.masked_fill(~truth, _HIDDEN), 0)
