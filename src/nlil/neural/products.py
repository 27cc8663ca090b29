"""The two sparse products of soft evaluation, with gradients: compiled loops on a CPU, Triton kernels on a GPU.

Both add in the fixed order of the plan's lists, so the same inputs give the same bits on one type of device.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..kernel.calculus import ranges

PIECE_ENTRIES = 128
"""Most entries that are summed one after the other on a GPU; the sums of pieces are summed in turn."""


@dataclass(frozen=True, eq=False)
class Products:
    """out[segment] = sum of weight * a[left] * b[right] over its entries; entries are sorted by segment."""

    segment: Tensor  # int32 (E,)
    left: Tensor  # int32 (E,), rows of a
    right: Tensor  # int32 (E,), rows of b
    weight: Tensor | None  # float32 (E,)
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
        """From entries in any order; those of one segment keep theirs."""
        order = torch.argsort(segment, stable=True)
        segment, left, right = (column[order].int() for column in (segment, left, right))
        weight = None if weight is None else weight[order]
        return cls(segment, left, right, weight, num_segments, num_left, num_right)

    def __len__(self) -> int:
        return len(self.segment)


@dataclass(frozen=True, eq=False)
class Projections:
    """Pairs (row, argument choice): out[pair] = the row's values in all slots . the argument's attention over them."""

    row: Tensor  # int32 (pairs,)
    choice: Tensor  # int32 (pairs,): (target * K + predicate) * N + start
    num_rows: int
    num_choices: int

    def __len__(self) -> int:
        return len(self.row)


@dataclass(frozen=True, eq=False)
class Round:
    """out[row] = sum of begin .. end - 1: of entries in the first round, of rows of `out` itself in the later ones."""

    begin: Tensor  # int32 (pieces,)
    end: Tensor
    row: Tensor

    def __len__(self) -> int:
        return len(self.row)


@dataclass(frozen=True, eq=False)
class Rounds:
    """Sums over segments of any length, in pieces of bounded length.

    A row of an attention table may gather millions of entries while most rows gather a few. Each piece is summed
    alone, in the order of its entries; the sums of the pieces of a long segment are rows behind the results, and the
    next round sums those. What is added to what depends on the lengths alone, so results repeat to the bit.
    """

    rounds: tuple[Round, ...]
    num_segments: int
    num_rows: int  # the segments, then the sums of pieces that a later round sums

    @classmethod
    def of(cls, pointer: Tensor, piece: int = PIECE_ENTRIES) -> Rounds:
        """`pointer` (segments + 1,): where the entries of each segment begin and end. Empty segments are one piece."""
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


def multiply_add(a: Tensor, b: Tensor, entries: Products) -> Tensor:
    """(segments, columns): out[segment] = sum of weight * a[left] * b[right]."""
    return _MultiplyAdd.apply(a, b, entries)


def project(value: Tensor, table: Tensor, pairs: Projections) -> Tensor:
    """(pairs, R, I): out[pair] = sum over slots of value[row] (R, P) * table[choice] (R, I, P)."""
    return _Project.apply(value, table, pairs)


class _MultiplyAdd(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, entries: Products) -> Tensor:
        ctx.save_for_backward(a, b)
        ctx.entries = entries
        return _kernels(a).multiply_add(a, b, entries)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        a, b = ctx.saved_tensors
        want_a, want_b, _ = ctx.needs_input_grad
        grad_a, grad_b = _kernels(a).multiply_add_gradients(a, b, gradient.contiguous(), ctx.entries, want_a, want_b)
        return grad_a, grad_b, None


class _Project(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, value: Tensor, table: Tensor, pairs: Projections) -> Tensor:
        value, table = value.contiguous(), table.contiguous()
        ctx.save_for_backward(value, table)
        ctx.pairs = pairs
        return _kernels(value).project(value, table, pairs)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        value, table = ctx.saved_tensors
        return *_kernels(value).project_gradients(value, table, gradient.contiguous(), ctx.pairs), None


def _kernels(tensor: Tensor) -> Any:
    """The module with the four functions of the tensor's device."""
    if tensor.is_cuda:
        from . import gpu_kernels

        return gpu_kernels
    from . import cpu_kernels

    return cpu_kernels
