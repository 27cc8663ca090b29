"""The products as compiled loops over the plan's lists: no array as long as the list is ever made."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ..kernel.compiled import compiled
from .products import Products, Projections


def multiply_add(a: Tensor, b: Tensor, entries: Products) -> Tensor:
    """out[segment] = sum of weight * a[left] * b[right]."""
    out = torch.zeros(entries.num_segments, a.shape[1], dtype=a.dtype)
    _multiply_add(a.numpy(), b.numpy(), *_lists(entries, a), out.numpy())
    return out


def multiply_add_gradients(
    a: Tensor, b: Tensor, gradient: Tensor, entries: Products, want_a: bool, want_b: bool
) -> tuple[Tensor | None, Tensor | None]:
    """The gradients of a and of b, where wanted, from that of the products."""
    grad_a, grad_b = torch.zeros_like(a), torch.zeros_like(b)
    given = (a.numpy(), b.numpy(), gradient.numpy(), *_lists(entries, a))
    _multiply_add_gradients(*given, grad_a.numpy(), grad_b.numpy())
    return (grad_a if want_a else None), (grad_b if want_b else None)


def project(value: Tensor, table: Tensor, pairs: Projections) -> Tensor:
    """out[pair] = value[row] . table[choice] over the slots."""
    out = torch.zeros(len(pairs), table.shape[1], table.shape[2], dtype=value.dtype)
    _project(value.numpy(), table.numpy(), pairs.row.numpy(), pairs.choice.numpy(), out.numpy())
    return out


def project_gradients(value: Tensor, table: Tensor, gradient: Tensor, pairs: Projections) -> tuple[Tensor, Tensor]:
    """The gradients of value and of table from that of the projections."""
    grad_value, grad_table = torch.zeros_like(value), torch.zeros_like(table)
    given = (value.numpy(), table.numpy(), gradient.numpy(), pairs.row.numpy(), pairs.choice.numpy())
    _project_gradients(*given, grad_value.numpy(), grad_table.numpy())
    return grad_value, grad_table


def _lists(entries: Products, like: Tensor) -> tuple[np.ndarray, ...]:
    """Segment, left, right, weight; an empty array stands for weight 1 everywhere."""
    weight = torch.zeros(0) if entries.weight is None else entries.weight
    ids = (entries.segment.numpy(), entries.left.numpy(), entries.right.numpy())
    return *ids, weight.to(like.dtype).numpy()


@compiled
def _multiply_add(
    a: np.ndarray,
    b: np.ndarray,
    segment: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    weight: np.ndarray,
    out: np.ndarray,
) -> None:
    columns = a.shape[1]
    weighted = len(weight) > 0
    one = a.dtype.type(1)  # not 1.0: that would lift the product to double precision
    for e in range(len(segment)):
        s, i, j = segment[e], left[e], right[e]
        w = weight[e] if weighted else one  # multiplying by one changes no bit, and costs nothing measurable
        for c in range(columns):
            out[s, c] += w * a[i, c] * b[j, c]


@compiled
def _multiply_add_gradients(
    a: np.ndarray,
    b: np.ndarray,
    gradient: np.ndarray,
    segment: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    weight: np.ndarray,
    grad_a: np.ndarray,
    grad_b: np.ndarray,
) -> None:
    columns = a.shape[1]
    weighted = len(weight) > 0
    one = a.dtype.type(1)
    for e in range(len(segment)):
        s, i, j = segment[e], left[e], right[e]
        w = weight[e] if weighted else one
        for c in range(columns):
            g = w * gradient[s, c]
            grad_a[i, c] += g * b[j, c]
            grad_b[j, c] += g * a[i, c]


@compiled
def _project(value: np.ndarray, table: np.ndarray, row: np.ndarray, choice: np.ndarray, out: np.ndarray) -> None:
    restarts, instances, slots = table.shape[1:]
    for p in range(len(row)):
        i, j = row[p], choice[p]
        for r in range(restarts):
            for n in range(instances):
                total = out[p, r, n]
                for s in range(slots):
                    total += value[i, r, s] * table[j, r, n, s]
                out[p, r, n] = total


@compiled
def _project_gradients(
    value: np.ndarray,
    table: np.ndarray,
    gradient: np.ndarray,
    row: np.ndarray,
    choice: np.ndarray,
    grad_value: np.ndarray,
    grad_table: np.ndarray,
) -> None:
    restarts, instances, slots = table.shape[1:]
    for p in range(len(row)):
        i, j = row[p], choice[p]
        for r in range(restarts):
            for n in range(instances):
                g = gradient[p, r, n]
                if g == 0:
                    continue
                for s in range(slots):
                    grad_value[i, r, s] += g * table[j, r, n, s]
                    grad_table[j, r, n, s] += g * value[i, r, s]
