"""The products as compiled loops over the plan's lists: no array as long as the list is ever made."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ..kernel.kernels import compiled
from .plan import Products, Projections


def multiply_add(a: Tensor, b: Tensor, entries: Products) -> Tensor:
    out = torch.zeros(entries.num_segments, a.shape[1], dtype=a.dtype)
    segment, left, right = _lists(entries.segment, entries.left, entries.right)
    _multiply_add(a.numpy(), b.numpy(), segment, left, right, _weights(entries, a), out.numpy())
    return out


def multiply_add_gradients(
    a: Tensor, b: Tensor, gradient: Tensor, entries: Products, want_a: bool, want_b: bool
) -> tuple[Tensor | None, Tensor | None]:
    grad_a, grad_b = torch.zeros_like(a), torch.zeros_like(b)
    segment, left, right = _lists(entries.segment, entries.left, entries.right)
    _multiply_add_gradients(
        a.numpy(),
        b.numpy(),
        gradient.numpy(),
        segment,
        left,
        right,
        _weights(entries, a),
        grad_a.numpy(),
        grad_b.numpy(),
    )
    return (grad_a if want_a else None), (grad_b if want_b else None)


def project(value: Tensor, table: Tensor, pairs: Projections) -> Tensor:
    out = torch.zeros(len(pairs), table.shape[1], table.shape[2], dtype=value.dtype)
    _project(value.numpy(), table.numpy(), *_lists(pairs.row, pairs.choice), out.numpy())
    return out


def project_gradients(value: Tensor, table: Tensor, gradient: Tensor, pairs: Projections) -> tuple[Tensor, Tensor]:
    grad_value, grad_table = torch.zeros_like(value), torch.zeros_like(table)
    _project_gradients(
        value.numpy(),
        table.numpy(),
        gradient.numpy(),
        *_lists(pairs.row, pairs.choice),
        grad_value.numpy(),
        grad_table.numpy(),
    )
    return grad_value, grad_table


def _lists(*tensors: Tensor) -> list[np.ndarray]:
    return [t.numpy() for t in tensors]


def _weights(entries: Products, like: Tensor) -> np.ndarray:
    """An empty array stands for weight 1 everywhere."""
    return torch.zeros(0, dtype=like.dtype).numpy() if entries.weight is None else entries.weight.to(like.dtype).numpy()


@compiled
def _multiply_add(a, b, segment, left, right, weight, out):
    columns = a.shape[1]
    weighted = len(weight) > 0
    one = a.dtype.type(1)  # not 1.0: that would lift the product to double precision
    for e in range(len(segment)):
        s, i, j = segment[e], left[e], right[e]
        w = weight[e] if weighted else one  # multiplying by one changes no bit, and costs nothing measurable
        for c in range(columns):
            out[s, c] += w * a[i, c] * b[j, c]


@compiled
def _multiply_add_gradients(a, b, gradient, segment, left, right, weight, grad_a, grad_b):
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
def _project(value, table, row, choice, out):
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
def _project_gradients(value, table, gradient, row, choice, grad_value, grad_table):
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
