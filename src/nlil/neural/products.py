"""The sparse product of soft evaluation, with gradients: a compiled loop on a CPU, a Triton kernel on a GPU.

    out[segment] = sum over entries of weight * a[left] * b[right]

Each gradient is the same sum with two of the three columns exchanged, so one loop serves all three. Rows of a and b are
vectors (columns), or matrices (slots, columns), whose products are then added up over the slots. Sums run in the fixed
order of the entries: the same inputs give the same bits on one type of device.
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
"""Most entries that are summed one after the other on a GPU; the sums of pieces are summed in turn."""
FACTORS = {"segment": ("left", "right"), "left": ("segment", "right"), "right": ("segment", "left")}
"""Sums by a column: the columns that index the two factors."""


@dataclass(frozen=True, eq=False)
class Products:
    """Entries, sorted by segment, of products that are added up."""

    segment: Tensor  # int32 (E,), rows of the sums
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

    def num_rows(self, column: str) -> int:
        """Rows of what the column indexes."""
        return {"segment": self.num_segments, "left": self.num_left, "right": self.num_right}[column]


def multiply_add(a: Tensor, b: Tensor, entries: Products) -> Tensor:
    """The sums: (segments, columns) of a and b that are both (rows, columns) or both (rows, slots, columns)."""
    one, two = (factor if factor.dim() == 3 else factor[:, None] for factor in (a, b))
    return _MultiplyAdd.apply(one.contiguous(), two.contiguous(), entries).squeeze(1)


class _MultiplyAdd(torch.autograd.Function):
    """Of tensors (rows, slots, columns)."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, entries: Products) -> Tensor:
        ctx.save_for_backward(a, b)
        ctx.entries = entries
        return sums(entries, "segment", a, b, 1)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        a, b = ctx.saved_tensors
        want_a, want_b, _ = ctx.needs_input_grad
        gradient, slots = gradient.contiguous(), a.shape[1]
        return (
            sums(ctx.entries, "left", gradient, b, slots) if want_a else None,
            sums(ctx.entries, "right", gradient, a, slots) if want_b else None,
            None,
        )


def sums(entries: Products, by: str, one: Tensor, two: Tensor, slots: int) -> Tensor:
    """(rows of `by`, slots, columns): the sum of weight * one * two over the entries of each row.

    Args:
        entries: the entries.
        by: the column that says where an entry goes; the other two index the factors (FACTORS).
        one: the first factor; one that has a single slot has it for all.
        two: the second factor.
        slots: of the sums; 1 adds up over the slots of the factors.
    """
    if one.is_cuda:
        from .gpu_kernels import sums as sums_on_gpu

        return sums_on_gpu(entries, by, one, two, slots)
    out = torch.zeros(entries.num_rows(by), slots, one.shape[2], dtype=one.dtype)
    weight = torch.zeros(0) if entries.weight is None else entries.weight  # an empty array stands for 1 everywhere
    columns = (getattr(entries, name).numpy() for name in (by, *FACTORS[by]))
    _multiply_add(one.numpy(), two.numpy(), *columns, weight.to(one.dtype).numpy(), out.numpy())
    return out


@compiled
def _multiply_add(
    one: np.ndarray,
    two: np.ndarray,
    row: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    weight: np.ndarray,
    out: np.ndarray,
) -> None:
    """No array as long as the list of entries is ever made."""
    weighted = len(weight) > 0
    unit = one.dtype.type(1)  # not 1.0: that would lift the product to double precision
    for e in range(len(row)):
        w = weight[e] if weighted else unit  # multiplying by one changes no bit, and costs nothing measurable
        for slot in range(max(one.shape[1], two.shape[1])):
            x = one[left[e], min(slot, one.shape[1] - 1)]
            y = two[right[e], min(slot, two.shape[1] - 1)]
            to = out[row[e], min(slot, out.shape[1] - 1)]
            for c in range(len(to)):
                to[c] += w * x[c] * y[c]


# sums on a GPU ------------------------------------------------------------------------------------------


class Round(NamedTuple):
    """out[row] = sum of begin .. end - 1: of entries in the first round, of rows of `out` itself in the later ones."""

    begin: Tensor  # int32 (pieces,)
    end: Tensor
    row: Tensor


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
