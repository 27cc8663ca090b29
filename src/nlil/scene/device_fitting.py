"""What `fitting` computes in compiled loops, as products of sparse matrices: for a GPU.

In double precision, so that a fit takes the same steps as on a CPU until rounding tells them apart.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..data.arrays import Doubles, Ids, Longs

ROWS = 2**18
"""Objects at a time: each takes a few numbers for every class."""

Shares = tuple[Longs, Ids, Doubles]
Loss = Callable[[Doubles], tuple[float, Doubles]]


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


def device_loss(
    pointer: Longs,
    column: Ids,
    place: Longs,
    target: Ids,
    shares: Shares,
    num_classes: int,
    penalty: float,
    device: str,
) -> Loss:
    """Value and slopes of a fit's loss: of weights, pair i that of pattern place[i] for target[i], then of biases."""
    width, count, size = int(place.max(initial=-1)) + 1, len(place), max(len(pointer) - 1, 1)
    parts = list(_parts(pointer, column, width, shares, device))
    where = torch.as_tensor(place, device=device), torch.as_tensor(target.astype(np.int64), device=device)

    def loss(parameters: Doubles) -> tuple[float, Doubles]:
        given = torch.as_tensor(parameters, device=device)
        weight = torch.zeros((width, num_classes), dtype=torch.float64, device=device)
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


def device_slopes(
    pointer: Longs,
    column: Ids,
    used: Ids,
    weight: Doubles,
    bias: Doubles,
    num_patterns: int,
    shares: Shares,
    device: str,
) -> tuple[np.ndarray, np.ndarray]:
    """(patterns, classes) as `fitting.slopes`; row i of `weight` has the weights of pattern used[i] for each class."""
    shape = num_patterns, len(bias)
    full = torch.zeros(shape, dtype=torch.float64, device=device)
    full[torch.as_tensor(used.astype(np.int64), device=device)] = torch.as_tensor(weight, device=device)
    gradient, curvature = torch.zeros_like(full), torch.zeros_like(full)
    for part in _parts(pointer, column, num_patterns, shares, device):
        probability, _ = part.probabilities(full, torch.as_tensor(bias, device=device))
        gradient -= part.holding @ part.excess(probability)
        curvature += part.holding @ (probability * (1 - probability))
    return gradient.float().cpu().numpy(), curvature.float().cpu().numpy()
