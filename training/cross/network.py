"""The cross-encoder's network, in torch: small layers over the token vectors of both texts."""

import dataclasses
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from crag_graph.evaluators.local.features import PASSAGE_FEATURES, STRIP_FEATURES
from crag_graph.models.local.minilm import DIMENSION

_PASSAGE = len(PASSAGE_FEATURES) + 1
_STRIP = len(STRIP_FEATURES) + 1
# Cosines are far below 1 in each dimension; so scaled, a token's vector has about unit variance.
_SCALE = 5.0
_FAR = 4.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Shape:
    """The size of the network."""

    width: int = 64
    layers: int = 2
    heads: int = 4
    dropout: float = 0.3


class _Layer(nn.Module):
    """A transformer layer, normalised first, whose attention has a bias for each token."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        width = shape.width
        self.heads, self.share = shape.heads, shape.dropout
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attend, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.forward_part = nn.Sequential(
            nn.Linear(width, 3 * width),
            nn.GELU(),
            nn.Dropout(shape.dropout),
            nn.Linear(3 * width, width),
        )
        self.drop = nn.Dropout(shape.dropout)

    def forward(self, tokens: Tensor, bias: Tensor) -> Tensor:
        rows, width = tokens.shape[0], tokens.shape[2]
        query, key, value = (
            part.view(rows, -1, self.heads, width // self.heads).transpose(1, 2)
            for part in self.attend(self.before(tokens)).chunk(3, -1)
        )
        seen = functional.scaled_dot_product_attention(
            query, key, value, attn_mask=bias, dropout_p=self.share if self.training else 0.0
        )
        tokens = tokens + self.drop(self.out(seen.transpose(1, 2).reshape(rows, -1, width)))
        return cast("Tensor", tokens + self.drop(self.forward_part(self.between(tokens))))


class CrossNetwork(nn.Module):
    """Reads what `crag_graph.evaluators.local.pairs.stack` makes, and gives logits.

    The token vectors of question and passage, each with what it has in common with the other text
    (its best match, late interaction, likeness to the whole), go through layers that attend over
    both. A strip's logit follows from its tokens, a passage's from all of its tokens; the features
    are inputs beside them, and the logit of the first judgement is where both start from.
    """

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        width = shape.width
        self.project, self.common = nn.Linear(DIMENSION, width), nn.Linear(3, width)
        self.side = nn.Embedding(2, width)
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.drop = nn.Dropout(shape.dropout)
        self.layers = nn.ModuleList(_Layer(shape) for _ in range(shape.layers))
        self.worth = nn.Linear(width, 1)
        self.passage_head = _head(3 * width + _PASSAGE, shape)
        self.strip_head = _head(3 * width + _STRIP, shape)
        self.trust = nn.Parameter(torch.tensor([0.6, 0.6]))
        nn.init.normal_(self.side.weight, std=0.02)
        nn.init.normal_(self.common.weight, std=0.1)
        nn.init.zeros_(self.common.bias)

    def forward(
        self,
        question: Tensor,
        question_alive: Tensor,
        question_weights: Tensor,
        passage: Tensor,
        passage_alive: Tensor,
        strips: Tensor,
        passage_features: Tensor,
        strip_features: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """Return the logits of the passages, (pairs,), and of the strips, (pairs, strips)."""
        asked, alive = question_alive.float(), passage_alive.float()
        tokens = self._tokens(question, asked, question_weights, passage, alive)
        bias = (torch.cat([asked, alive], 1) - 1.0)[:, None, None, :] * 1e4
        for layer in self.layers:
            tokens = layer(tokens, bias)
        tokens = self.after(tokens)
        size = question.shape[1]
        about = _mean(tokens[:, :size], asked[:, None, :])
        read = tokens[:, size:]
        worth = self.worth(read).squeeze(2).clamp(-8.0, 8.0).exp()
        whole = self._pooled(read, worth, alive[:, None, :])
        own = self._pooled(read, worth, strips * alive[:, None, :])
        passage_logit = self.passage_head(
            torch.cat([about.squeeze(1), whole.squeeze(1), passage_features], -1)
        )
        strip_logits = self.strip_head(
            torch.cat([about.expand(-1, strips.shape[1], -1), own, strip_features], -1)
        )
        return (
            passage_logit.squeeze(-1) + self.trust[0] * passage_features[:, -1],
            strip_logits.squeeze(-1) + self.trust[1] * strip_features[:, :, -1],
        )

    def _tokens(
        self, question: Tensor, asked: Tensor, weights: Tensor, passage: Tensor, alive: Tensor
    ) -> Tensor:
        likeness = torch.bmm(passage, question.transpose(1, 2))
        best_of_passage = (likeness + (asked[:, None, :] - 1.0) * _FAR).max(2).values
        best_of_question = (likeness + (alive[:, :, None] - 1.0) * _FAR).max(1).values
        interaction = torch.bmm(likeness.clamp(min=0.0), weights[:, :, None]).squeeze(2)
        whole_question = functional.normalize((question * asked[:, :, None]).sum(1), dim=-1)
        whole_passage = functional.normalize((passage * alive[:, :, None]).sum(1), dim=-1)
        of_passage = torch.stack(
            [best_of_passage, interaction, torch.bmm(passage, whole_question[:, :, None])[:, :, 0]],
            -1,
        )
        of_question = torch.stack(
            [best_of_question, weights, torch.bmm(question, whole_passage[:, :, None])[:, :, 0]], -1
        )
        both = torch.cat(
            [
                self._embed(question, 0) + self.common(of_question),
                self._embed(passage, 1) + self.common(of_passage),
            ],
            1,
        )
        return cast("Tensor", self.drop(self.before(both)))

    def _embed(self, vectors: Tensor, side: int) -> Tensor:
        return cast("Tensor", self.project(self.drop(vectors * _SCALE)) + self.side.weight[side])

    def _pooled(self, tokens: Tensor, worth: Tensor, chosen: Tensor) -> Tensor:
        """Return the plain and the weighted mean of the chosen tokens, one after the other."""
        return torch.cat([_mean(tokens, chosen), _mean(tokens, chosen * worth[:, None, :])], -1)


class Together(nn.Module):
    """Several networks as one: the mean of their logits."""

    def __init__(self, networks: list[CrossNetwork]) -> None:
        super().__init__()
        self.networks = nn.ModuleList(networks)

    def forward(self, *inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Return the mean logits of the passages and of the strips."""
        found = [network(*inputs) for network in self.networks]
        return (
            torch.stack([passage for passage, _ in found]).mean(0),
            torch.stack([strips for _, strips in found]).mean(0),
        )


def _mean(tokens: Tensor, chosen: Tensor) -> Tensor:
    return torch.bmm(chosen, tokens) / chosen.sum(2, keepdim=True).clamp(min=1e-6)


def _head(inputs: int, shape: Shape) -> nn.Sequential:
    last = nn.Linear(shape.width, 1)
    nn.init.normal_(last.weight, std=0.02)
    nn.init.zeros_(last.bias)
    return nn.Sequential(nn.Linear(inputs, shape.width), nn.GELU(), nn.Dropout(shape.dropout), last)
