"""phi, psi, not, and, or: the mathematics of a rule on sparse rows. Shared by exact and soft evaluation.

A frontier is rows (query, node, value). phi passes the value of each row along its edges, psi sums what arrives
and clamps it, and the connectives combine values in [0, 1]. All functions are differentiable and stateless.
"""

from __future__ import annotations

import torch
from torch import Tensor


def ranges(low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
    """Return (row, position): for each row i the positions low_i .. high_i - 1, rows in order.

    `low` and `high` are int64 of the same length.
    """
    counts = high - low
    row = torch.repeat_interleave(torch.arange(len(low), device=low.device), counts)
    first = torch.cumsum(counts, 0) - counts
    position = torch.arange(len(row), device=low.device) + (low - first)[row]
    return row, position


def unique_pairs(first: Tensor, second: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Return the distinct pairs of `first` and `second`, sorted; uses one key if it fits into 63 bits.

    No value is negative, and all of `second` are below `size`.
    """
    if not len(first) or (int(first.max()) + 1) * size < 2**63:
        key = torch.unique(first * size + second)
        return key // size, key % size
    order = torch.argsort(second, stable=True)
    order = order[torch.argsort(first[order], stable=True)]
    first, second = first[order], second[order]
    is_new = torch.ones_like(first, dtype=torch.bool)
    is_new[1:] = (first[1:] != first[:-1]) | (second[1:] != second[:-1])
    return first[is_new], second[is_new]


def phi(value: Tensor, row: Tensor, weight: Tensor | None) -> Tensor:
    """phi_k(v) = M_k^T v before it is summed: edge e of row r carries value_r * weight_e.   [paper §4]

    `value` is per row, `row` and `weight` per edge; None means that every weight is 1.
    """
    moved = value[row]
    return moved if weight is None else moved * weight


def segment_sum(value: Tensor, counts: Tensor) -> Tensor:
    """Sum each run of `counts_i` values, as a balanced tree.

    `value` holds the runs one after the other, `counts` their lengths. The order of the additions depends only on the
    run, not on its neighbours, the device or the number of threads, so equal runs give bit-identical sums. Empty runs
    give 0.
    """
    result = torch.zeros(len(counts), dtype=value.dtype, device=value.device)
    filled = (counts > 0).nonzero().squeeze(1)
    counts = counts[filled]
    while len(value) > len(counts):
        first = torch.cumsum(counts, 0) - counts
        run = torch.repeat_interleave(torch.arange(len(counts), device=value.device), counts)
        rank = torch.arange(len(value), device=value.device) - first[run]
        even = (rank % 2 == 0).nonzero().squeeze(1)
        partner = (even + 1).clamp(max=len(value) - 1)
        has_partner = rank[even] + 1 < counts[run[even]]
        value = value[even] + torch.where(has_partner, value[partner], torch.zeros_like(value[partner]))
        counts = (counts + 1) // 2
    return result.index_put((filled,), value)


def psi(value: Tensor, query: Tensor, num_queries: int) -> Tensor:
    """psi = min(1, sum of what arrives): true when the two sets of entities meet.   [paper §4]

    `value` is what arrives, `query` its query number below `num_queries`, ascending. The clamp makes psi exactly 0 or 1
    on crisp facts.

    >>> psi(torch.tensor([1., 1., .5]), torch.tensor([0, 0, 2]), 3)
    tensor([1.0000, 0.0000, 0.5000])
    """
    return segment_sum(value, torch.bincount(query, minlength=num_queries)).clamp(max=1.0)


def soft_not(value: Tensor) -> Tensor:
    """1 - f, where f is the `value`."""
    return 1.0 - value


def soft_and(left: Tensor, right: Tensor) -> Tensor:
    """f * g, of `left` and `right`."""
    return left * right


def soft_or(left: Tensor, right: Tensor) -> Tensor:
    """1 - (1 - f) * (1 - g), of `left` and `right`."""
    return soft_not(soft_and(soft_not(left), soft_not(right)))
