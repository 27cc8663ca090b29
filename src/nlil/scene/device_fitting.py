"""What `fitting` computes in compiled loops, as products of sparse matrices: for a GPU.

In double precision, so that a fit takes the same steps as on a CPU until rounding tells them apart.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..data.arrays import Doubles, Floats, Ids, Longs
from .fitting import Labelled, Loss, Model, Shares, Weights

ROWS = 2**18
"""Objects at a time: each takes a few numbers for every class."""


class _Part(NamedTuple):
    """Some objects: the patterns that they hold, and the shares of their classes."""

    held: Tensor  # (objects, patterns)
    holding: Tensor  # the same, (patterns, objects)
    row: Tensor
    label: Tensor
    share: Tensor

    def probabilities(self, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
        """(objects, classes): probabilities, and their logarithms."""
        log = torch.log_softmax(self.held @ weight + bias, dim=1)
        return log.exp(), log

    def excess(self, probability: Tensor) -> Tensor:
        """Probabilities less what is true: the slopes of the loss by the scores."""
        excess = probability.clone()
        excess[self.row, self.label] -= self.share
        return excess


def _parts(pointer: Longs, column: Ids, width: int, shares: Shares, device: str) -> Iterator[_Part]:
    share_pointer, label, share = shares
    for begin in range(0, len(pointer) - 1, ROWS):
        end = min(begin + ROWS, len(pointer) - 1)
        mine, own = slice(pointer[begin], pointer[end]), slice(share_pointer[begin], share_pointer[end])
        first = torch.as_tensor(pointer[begin : end + 1] - pointer[begin], device=device)
        there = torch.as_tensor(column[mine].astype(np.int64), device=device)
        rows = torch.repeat_interleave(torch.arange(end - begin, device=device), first.diff())
        order = torch.argsort(there, stable=True)
        by_pattern = torch.searchsorted(there[order], torch.arange(width + 1, device=device))
        yield _Part(
            _matrix(first, there, (end - begin, width)),
            _matrix(by_pattern, rows[order], (width, end - begin)),
            torch.as_tensor(np.repeat(np.arange(end - begin), np.diff(share_pointer[begin : end + 1])), device=device),
            torch.as_tensor(label[own].astype(np.int64), device=device),
            torch.as_tensor(share[own], device=device),
        )


def _matrix(pointer: Tensor, column: Tensor, shape: tuple[int, int]) -> Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch calls these matrices new
        ones = torch.ones(len(column), dtype=torch.float64, device=column.device)
        return torch.sparse_csr_tensor(pointer, column, ones, shape)


def device_loss(weights: Weights, shares: Shares, penalty: float, device: str) -> Loss:
    """As `fitting.fit` minimises it: value and slopes by weights, then by biases."""
    width, count, size = len(weights.entry) - 1, len(weights.target), max(len(weights.pointer) - 1, 1)
    parts = list(_parts(weights.pointer, weights.column, width, shares, device))
    place = np.repeat(np.arange(width), np.diff(weights.entry))
    where = tuple(torch.as_tensor(each.astype(np.int64), device=device) for each in (place, weights.target))

    def loss(parameters: Doubles) -> tuple[float, Doubles]:
        given = torch.as_tensor(parameters, device=device)
        weight = torch.zeros((width, len(given) - count), dtype=torch.float64, device=device)
        weight[where] = given[:count]
        total = 0.5 * penalty * (given[:count] ** 2).sum()
        slopes, of_bias = torch.zeros_like(weight), torch.zeros_like(given[count:])
        for part in parts:
            probability, log = part.probabilities(weight, given[count:])
            total = total - (part.share * log[part.row, part.label]).sum()
            excess = part.excess(probability)
            slopes += part.holding @ excess
            of_bias += excess.sum(dim=0)
        gradient = torch.cat((slopes[where] + penalty * given[:count], of_bias))
        return float(total) / size, gradient.cpu().numpy() / size

    return loss


def device_slopes(model: Model, data: Labelled, num_patterns: int, device: str) -> tuple[Floats, Floats]:
    """(patterns, classes) as `fitting.slopes`."""
    weight = torch.zeros((num_patterns, len(model.bias)), dtype=torch.float64)
    weight[model.pattern.astype(np.int64), model.target.astype(np.int64)] = torch.as_tensor(model.weight)
    weight, bias = weight.to(device), torch.as_tensor(model.bias, device=device)
    gradient, curvature = torch.zeros_like(weight), torch.zeros_like(weight)
    for part in _parts(data.pointer, data.column, num_patterns, data.shares, device):
        probability, _ = part.probabilities(weight, bias)
        gradient -= part.holding @ part.excess(probability)
        curvature += part.holding @ (probability * (1 - probability))
    return gradient.float().cpu().numpy(), curvature.float().cpu().numpy()
