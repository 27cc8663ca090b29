"""The computations of `fitting` as products of sparse matrices, for a GPU.

They use double precision, so that a fit takes the same steps as on a CPU, up to rounding.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from ..data.arrays import Doubles, Floats
from ..kernel.minimise import Loss
from .fitting import ClassModel, LabelledObjects

ROWS = 2**18
"""Objects per block; each needs a few numbers for every class."""


class _Part(NamedTuple):
    """A block of objects: the patterns that hold for them, and the shares of their classes."""

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
        """Probabilities minus the true shares: the gradient of the loss with respect to the scores."""
        excess = probability.clone()
        excess[self.row, self.label] -= self.share
        return excess


def _parts(held: sparse.csr_array, shares: sparse.csr_array, device: str) -> Iterator[_Part]:
    for begin in range(0, held.shape[0], ROWS):
        some, own = held[begin : begin + ROWS], shares[begin : begin + ROWS].tocoo()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch warns that these matrices are in beta
            ones = torch.ones(some.nnz, dtype=torch.float64, device=device)
            matrix = torch.sparse_csr_tensor(
                _numbers(some.indptr, device), _numbers(some.indices, device), ones, some.shape
            )
            turned = matrix.t().to_sparse_csr()
        row, label = (_numbers(each, device) for each in own.coords)
        yield _Part(matrix, turned, row, label, torch.as_tensor(own.data, device=device))


def _numbers(array: np.ndarray, device: str) -> Tensor:
    return torch.as_tensor(array.astype(np.int64), device=device)


def device_loss(model: ClassModel, data: LabelledObjects, penalty: float, device: str) -> Loss:
    """Return the loss that `fitting.fit` minimises: its value and its gradient by weights, then by biases.

    Args:
        model: The pairs of pattern and class; their weights are not used.
        data: The objects with their classes.
        penalty: L2 penalty (half of the squared weights) for all objects together.
        device: A torch device.
    """
    used, place = np.unique(model.pattern, return_inverse=True)
    count, size = len(model), max(len(data), 1)
    parts = list(_parts(data.held[:, used], data.shares, device))
    where = _numbers(place, device), _numbers(model.target, device)

    def loss(parameters: Doubles) -> tuple[float, Doubles]:
        given = torch.as_tensor(parameters, device=device)
        weight = torch.zeros((len(used), len(given) - count), dtype=torch.float64, device=device)
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


def device_slopes(model: ClassModel, data: LabelledObjects, device: str) -> tuple[Floats, Floats]:
    """Return the same as `fitting.slopes` for the `model` on `data`, computed on a GPU, the `device`."""
    weight = torch.zeros((data.held.shape[1], len(model.bias)), dtype=torch.float64, device=device)
    weight[_numbers(model.pattern, device), _numbers(model.target, device)] = torch.as_tensor(
        model.weight, device=device
    )
    bias = torch.as_tensor(model.bias, device=device)
    gradient, curvature = torch.zeros_like(weight), torch.zeros_like(weight)
    for part in _parts(data.held, data.shares, device):
        probability, _ = part.probabilities(weight, bias)
        gradient -= part.holding @ part.excess(probability)
        curvature += part.holding @ (probability * (1 - probability))
    return gradient.float().cpu().numpy(), curvature.float().cpu().numpy()
