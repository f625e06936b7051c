"""Train the cross-encoder of the package `crag-graph-evaluator`, and write its files.

    python -m training.train_cross_encoder --data DIR [--cache FILE] [--epochs N] [--seeds N]
        [--write]

Needs torch, onnx and scipy. `DIR` holds the labelled sets. Questions are split by a hash of their
words: trained on folds 0–4, calibrated on fold 5, reported on folds 6–9. Several networks of other
seeds are averaged into one model. `--cache` keeps the encoded examples for the next run. `--write`
replaces the files in `evaluator-model`; without it the networks are only reported. One network
takes about 18 minutes an epoch on one core.

Loss: a softmax over the candidates of a question, over the strips of a passage, and over the strips
of all candidates (listwise), beside the cross-entropy of each and of the best candidate of a
question, with its gold passage and without. Candidates are what hybrid search finds; passages
that were changed so that they answer no longer, and questions made by rule, are among them; tokens,
and strips that do not answer, are hidden at random. The weights kept are an average over the last
steps.
"""

import argparse
import copy
import math
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from training.cross.batches import Item, batches, groups_of, hidden_tensors
from training.cross.examples import CALIBRATED, NOT_TRAINED_ON, TRAINED, Example, load_examples
from training.cross.export import export_model, write_scores
from training.cross.losses import loss_of
from training.cross.network import CrossNetwork, Shape, Together
from training.cross.report import report
from training.cross.scoring import fit_scores, say

MODEL = Path(__file__).parents[1] / "evaluator-model" / "crag_graph_evaluator"
_GROUPS = 8
_RATE, _DECAY, _WARM_UP = 1e-3, 0.05, 0.05
_AVERAGED = 0.998


def train(examples: Sequence[Example], *, epochs: int, seed: int, shape: Shape) -> CrossNetwork:
    """Return a network trained on `examples`."""
    torch.manual_seed(seed)
    draw = random.Random(seed)  # noqa: S311  # for shuffling
    hide = np.random.default_rng(seed)
    groups = groups_of(examples)
    network = CrossNetwork(shape)
    steps = epochs * (len(groups) // _GROUPS)
    optimiser = torch.optim.AdamW(network.parameters(), lr=_RATE, weight_decay=_DECAY)

    def rate(step: int) -> float:
        falling = 0.5 + 0.5 * math.cos(math.pi * min(1.0, step / steps))
        return min(1.0, (step + 1) / (_WARM_UP * steps)) * falling + 0.01

    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, rate)
    averaged = copy.deepcopy(network)
    done, total, started = 0, 0.0, time.monotonic()
    for _ in range(epochs):
        for items in batches(groups, _GROUPS, draw):
            loss = loss_of(items, *_forward(network, items, hide)) / _GROUPS
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimiser.step()
            schedule.step()
            done += 1
            total += float(loss.detach())
            _average(averaged, network, min(_AVERAGED, (done + 1) / (done + 20)))
            if done % 100 == 0:
                spent = time.monotonic() - started
                _say(f"seed {seed}: step {done} of {steps}, loss {total / 100:.3f}, {spent:.0f} s")
                total = 0.0
    return averaged


def _forward(
    network: nn.Module, items: Sequence[Item], hide: np.random.Generator
) -> tuple[Tensor, list[Tensor]]:
    """Return the logits of the passages and of each one's strips; in two halves by length."""
    order = sorted(range(len(items)), key=lambda at: len(items[at].pair.passage))
    middle = len(order) // 2
    passages: list[Tensor] = [torch.zeros(())] * len(items)
    strips: list[Tensor] = [torch.zeros(0)] * len(items)
    for half in (order[:middle], order[middle:]):
        if not half:
            continue
        found, own = network(*hidden_tensors([items[at].pair for at in half], hide))
        for row, at in enumerate(half):
            passages[at] = found[row]
            strips[at] = own[row, : len(items[at].pair.owned)]
    return torch.stack(passages), strips


@torch.no_grad()
def _average(averaged: nn.Module, network: nn.Module, keep: float) -> None:
    for old, new in zip(averaged.parameters(), network.parameters(), strict=True):
        old.mul_(keep).add_(new, alpha=1 - keep)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> None:
    """Train, report, and write."""
    parser = argparse.ArgumentParser(description="Train the local evaluator's cross-encoder.")
    parser.add_argument("--data", type=Path, required=True, help="the folder of labelled sets")
    parser.add_argument("--cache", type=Path, help="a file that keeps the encoded examples")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=3, help="how many networks are averaged")
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--networks", type=Path, help="a folder that keeps trained networks")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--write", action="store_true", help="replace the files of the package")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    examples = load_examples(options.data, options.cache)
    ours = [e for e in examples if e.fold in TRAINED and e.set not in NOT_TRAINED_ON]
    shape = Shape()
    networks = []
    for seed in range(options.first_seed, options.first_seed + options.seeds):
        kept = options.networks / f"network-{seed}.pt" if options.networks else None
        if kept and kept.exists():
            network = CrossNetwork(shape)
            network.load_state_dict(torch.load(kept))
        else:
            network = train(ours, epochs=options.epochs, seed=seed, shape=shape)
            if kept:
                torch.save(network.state_dict(), kept)
        networks.append(network)
    together = Together(networks)
    held = [e for e in examples if e.fold == CALIBRATED]
    scores = fit_scores(held, say(together, held))
    unseen = [e for e in examples if e.fold > CALIBRATED]
    _say(str(scores))
    for line in report(unseen, say(together, unseen), scores):
        _say(line)
    if options.write:
        model = MODEL / "model.onnx"
        sample = [w.pair for e in held[:40] for c in e.candidates for w in c.windows][:32]
        worst = export_model(together, sample, model)
        write_scores(MODEL / "scores.json", model, {**scores, "seeds": options.seeds})
        _say(f"written to {MODEL}; logits differ from the exact ones by at most {worst:.3f}")


if __name__ == "__main__":
    np.seterr(all="raise", under="ignore")
    main()
