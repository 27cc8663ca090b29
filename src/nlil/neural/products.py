"""The sparse product of soft evaluation, with gradients: a compiled loop on a CPU, a Triton kernel on a GPU.

    out[segment] = sum over entries of weight * a[left] * b[right]

Each gradient is the same sum with two of the three columns exchanged. Sums run in the fixed order of the entries: the
same inputs give the same bits on one type of device.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..kernel.calculus import ranges
from ..kernel.compiled import compiled

PIECE_ENTRIES = 128
"""Limit of the entries per piece on a GPU; the sums of pieces are then summed in turn."""


@dataclass(frozen=True, eq=False)
class Products:
    """Entries of sums of products, sorted by segment.

    Attributes:
        segment: int32 (E,), rows of the sums.
        left: int32 (E,), rows of a.
        right: int32 (E,), rows of b.
        weight: float32 (E,).
        num_segments, num_left, num_right: rows of the sums, of a and of b.
    """

    segment: Tensor
    left: Tensor
    right: Tensor
    weight: Tensor | None
    num_segments: int
    num_left: int
    num_right: int

    @classmethod
    def of(
        cls,
        segment: Tensor,
        left: Tensor,
        right: Tensor,
        weight: Tensor | None,
        num_segments: int,
        num_left: int,
        num_right: int,
    ) -> Products:
        """Sort entries given in any order; entries of one segment keep their order.

        The columns and the sizes (`num_segments`, `num_left`, `num_right`) are those of the class.
        """
        order = torch.argsort(segment, stable=True)
        segment, left, right = (column[order].int() for column in (segment, left, right))
        weight = None if weight is None else weight[order]
        return cls(segment, left, right, weight, num_segments, num_left, num_right)

    def __len__(self) -> int:
        return len(self.segment)


def multiply_add(a: Tensor, b: Tensor, entries: Products) -> Tensor:
    """Return (segments, columns): the sums over `entries` of products of rows of `a` and `b`, both (rows, columns).

    Rows may have a middle axis of the same size: (rows, slots, columns). Products are then summed over it too.
    """
    return _MultiplyAdd.apply(a.contiguous(), b.contiguous(), entries)


class _MultiplyAdd(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, entries: Products) -> Tensor:
        ctx.save_for_backward(a, b)
        ctx.entries = entries
        if a.is_cuda:
            from .gpu_kernels import sums

            return torch.stack([sums(entries, "segment", *slot) for slot in zip(_slots(a), _slots(b))]).sum(0)
        out = torch.zeros(entries.num_segments, a.shape[-1], dtype=a.dtype)
        _multiply_add(_array(a), _array(b), *_arrays(entries, a), out.numpy())
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        a, b = ctx.saved_tensors
        entries, gradient = ctx.entries, gradient.contiguous()
        if a.is_cuda:
            from .gpu_kernels import sums

            def by(column: str, other: Tensor) -> Tensor:
                return torch.stack([sums(entries, column, gradient, slot) for slot in _slots(other)], -2)

            want_a, want_b, _ = ctx.needs_input_grad
            grad_a, grad_b = by("left", b) if want_a else None, by("right", a) if want_b else None
            return _as(grad_a, a), _as(grad_b, b), None
        grads = torch.zeros_like(a), torch.zeros_like(b)
        given = (_array(a), _array(b), gradient.numpy(), *_arrays(entries, a))
        _gradients(*given, *(_array(grad) for grad in grads))
        return *grads, None


def _slots(x: Tensor) -> tuple[Tensor, ...]:
    """Return (rows, columns) of each slot."""
    return (x,) if x.dim() == 2 else tuple(slot.contiguous() for slot in x.unbind(1))


def _as(gradient: Tensor | None, like: Tensor) -> Tensor | None:
    return None if gradient is None else gradient.view(like.shape)


def _array(x: Tensor) -> np.ndarray:
    """Return an array (rows, slots, columns) over the same memory."""
    return (x if x.dim() == 3 else x[:, None]).numpy()


def _arrays(entries: Products, like: Tensor) -> tuple[np.ndarray, ...]:
    """Return segment, left, right, weight; an empty weight means 1 everywhere."""
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
    """Sum the products without an array of the length of the entries."""
    slots, columns = a.shape[1], a.shape[2]
    weighted = len(weight) > 0
    one = a.dtype.type(1)  # 1.0 would promote the product to double precision
    for e in range(len(segment)):
        s, i, j = segment[e], left[e], right[e]
        w = weight[e] if weighted else one  # multiplying by one is exact and costs nothing measurable
        for p in range(slots):
            for c in range(columns):
                out[s, c] += w * a[i, p, c] * b[j, p, c]


@compiled
def _gradients(
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
    """Compute both gradients in one pass over the entries, which is faster than two."""
    slots, columns = a.shape[1], a.shape[2]
    weighted = len(weight) > 0
    one = a.dtype.type(1)
    for e in range(len(segment)):
        s, i, j = segment[e], left[e], right[e]
        w = weight[e] if weighted else one
        for p in range(slots):
            for c in range(columns):
                g = w * gradient[s, c]
                grad_a[i, p, c] += g * b[j, p, c]
                grad_b[j, p, c] += g * a[i, p, c]


# sums on a GPU ------------------------------------------------------------------------------------------


class Round(NamedTuple):
    """out[row] = sum of begin .. end - 1: of entries in the first round, of rows of `out` in later ones."""

    begin: Tensor  # int32 (pieces,)
    end: Tensor
    row: Tensor


@dataclass(frozen=True, eq=False)
class Rounds:
    """Sums over segments of any length, in pieces of bounded length.

    A row of an attention table may have millions of entries while most rows have a few. Each piece is summed
    separately, in the order of its entries; the sums of the pieces of a long segment are stored as rows after the
    results, and the next round sums those. The order of additions depends only on the lengths, so results are
    bit-identical.

    Attributes:
        rounds: the rounds of summation, in order.
        num_segments: rows of the result.
        num_rows: the segments, and the sums of pieces for later rounds.
    """

    rounds: tuple[Round, ...]
    num_segments: int
    num_rows: int

    @classmethod
    def of(cls, pointer: Tensor, piece: int = PIECE_ENTRIES) -> Rounds:
        """Split the segments of `pointer` (segments + 1,) into pieces of `piece` entries; empty ones are one piece."""
        segments = len(pointer) - 1
        segment = torch.arange(segments, device=pointer.device)
        low, high = pointer[:-1], pointer[1:]
        rounds, rows = [], segments
        while len(segment):
            parts = ((high - low + piece - 1) // piece).clamp(min=1)
            which, part = ranges(torch.zeros_like(parts), parts)
            begin = low[which] + part * piece
            end = torch.minimum(begin + piece, high[which])
            partial = parts[which] > 1
            row = torch.where(partial, rows + torch.cumsum(partial, 0) - 1, segment[which])
            rounds.append(Round(begin.to(torch.int32), end.to(torch.int32), row.to(torch.int32)))
            unfinished = parts > 1
            segment, parts = segment[unfinished], parts[unfinished]
            high = rows + torch.cumsum(parts, 0)
            low = high - parts
            rows += int(parts.sum())
        return cls(tuple(rounds), segments, rows)
