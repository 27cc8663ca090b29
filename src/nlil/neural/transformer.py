"""ATTN of the paper: queries attend to values, layer by layer; the last layer's scores are the attention S.

Also how parameters start: every one from a random generator of its own, named after it, and with the axis that
padding may lengthen in front, so that a member starts the same whatever shares its stack. Imports torch only.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

EXCLUDED = -1e9  # finite, so that a row without any choice is uniform instead of nan; exp of it is exactly 0
WIDENING = 1  # hidden units of a feed-forward block for each of its inputs


def draw(seed: int, name: str, *sizes: int, deviation: float = 1.0) -> Tensor:
    """Uniform numbers of mean 0; a longer first axis only appends to them."""
    source = torch.Generator().manual_seed(zlib.crc32(f"{name}:{seed}".encode()))
    return (torch.rand(sizes, generator=source) * 2 - 1) * (math.sqrt(3) * deviation)


def parameter(seeds: Sequence[int], name: str, *sizes: int, deviation: float = 1.0) -> nn.Parameter:
    """(M, *sizes): what each member draws for itself."""
    return nn.Parameter(torch.stack([draw(seed, name, *sizes, deviation=deviation) for seed in seeds]))


def excluding(mask: Tensor) -> Tensor:
    """What to add to scores so that only what the mask allows is attended to."""
    return torch.zeros(mask.shape, device=mask.device).masked_fill(~mask, EXCLUDED)


def normal(x: Tensor) -> Tensor:
    """Layer norm. Gain and offset are left to the weights and encodings around it."""
    return functional.layer_norm(x, x.shape[-1:])


class Layer(nn.Module):
    """One layer of ATTN: x += attention(x, values); x += feed-forward(x), both of the normalised x.

    Rows of all batches stand in one axis: a product with weights is one for each group, a member's copy.
    With `scores_only` it ends at the scores and has no more weights than they need.
    """

    def __init__(
        self, seeds: Sequence[int], name: str, copies: int, dim: int, heads: int, quiet: float, scores_only: bool
    ) -> None:
        super().__init__()
        self.heads, self.scale = heads, math.sqrt(heads / dim)

        def weights(part: str, into: int, out: int, gain: float = 1.0) -> nn.Parameter:
            return parameter(seeds, f"{name}.{part}", copies, into, out, deviation=gain / math.sqrt(into))

        self.query = weights("query", dim, dim)
        if not scores_only:
            self.merge = weights("merge", dim, dim, quiet)
            self.widen = weights("widen", dim, WIDENING * dim, math.sqrt(2))
            self.narrow = weights("narrow", WIDENING * dim, dim, quiet)

    def forward(self, x: Tensor, key: Tensor, value: Tensor | None, bias: Tensor) -> tuple[Tensor, Tensor]:
        """x (g, b * q, d), key and value (g, b * v, d), bias (g, b, 1, v) -> x, scores (g * b * heads, q, v)."""
        batches, heads = bias.shape[1], self.heads
        query = torch.bmm(normal(x), self.query.flatten(0, 1))
        excluded = bias.expand(-1, -1, heads, -1).reshape(-1, 1, bias.shape[-1])
        # q . k / sqrt(size of a head)
        scores = torch.baddbmm(
            excluded, split(query, batches, heads), split(key, batches, heads).transpose(1, 2), alpha=self.scale
        )
        if value is None:
            return x, scores
        mixed = torch.bmm(torch.softmax(scores, -1), split(value, batches, heads))
        x = torch.baddbmm(x, joined(mixed, x, batches, heads), self.merge.flatten(0, 1))
        hidden = torch.relu(torch.bmm(normal(x), self.widen.flatten(0, 1)))
        return torch.baddbmm(x, hidden, self.narrow.flatten(0, 1)), scores


class Attention(nn.Module):
    """ATTN: Q (q, d), V (v, d) -> O (q, d), S (q, v): the outcome of each query and its scores.   [paper §5]

    `copies` of it, each with weights of its own, run as one: the two arguments of a stage are two copies.
    All layers but the last have several heads. With `scores_only` O does not exist.
    """

    def __init__(
        self, seeds: Sequence[int], name: str, copies: int, dim: int, layers: int, heads: int, scores_only: bool = False
    ) -> None:
        super().__init__()
        # A layer adds to the residual stream less the more layers there are, so that queries stay recognisable.
        quiet = 1 / math.sqrt(2 * layers)
        last = layers - 1
        self.layers = nn.ModuleList(
            Layer(seeds, f"{name}.{n}", copies, dim, 1 if n == last else heads, quiet, scores_only and n == last)
            for n in range(layers)
        )
        # To the key and the value of every layer, by one product.
        self.look = parameter(
            seeds, f"{name}.look", copies, dim, (2 * layers - scores_only) * dim, deviation=1 / math.sqrt(dim)
        )

    def forward(self, queries: Tensor, values: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
        """queries (M, c, b, q, d), values (M, c or 1, b, v, d), bias (M, v) -> O like queries, S (M, c, b, q, v)."""
        M, copies, batches, _, dim = queries.shape
        seen = normal(values).expand(M, copies, *values.shape[2:]).reshape(M * copies, -1, dim)
        looked = iter(torch.bmm(seen, self.look.flatten(0, 1)).split(dim, -1))
        excluded = bias[:, None, None, None].expand(M, copies, batches, 1, -1).flatten(0, 1)
        x = queries.reshape(M * copies, -1, dim)
        for layer in self.layers:
            x, scores = layer(x, next(looked), next(looked, None), excluded)
        return x.view(queries.shape), scores.view(*queries.shape[:-1], -1)


def split(x: Tensor, batches: int, heads: int) -> Tensor:
    """(g, b * n, d) -> (g * b * heads, n, d / heads)"""
    groups, rows, dim = x.shape
    apart = x.view(groups, batches, rows // batches, heads, dim // heads)
    return apart.transpose(2, 3).reshape(-1, rows // batches, dim // heads)


def joined(x: Tensor, like: Tensor, batches: int, heads: int) -> Tensor:
    """The inverse of `split`: (g * b * heads, n, d / heads) -> (g, b * n, d)"""
    return x.view(len(like) * batches, heads, x.shape[1], x.shape[2]).transpose(1, 2).reshape(like.shape)
