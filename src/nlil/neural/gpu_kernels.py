"""The sums of `products` on a GPU: one kernel sums segments, for the forward pass and both gradients.

Needs Triton, which comes with every CUDA build of torch for Linux; imported only for CUDA tensors.
No atomics: every sum runs in the order of the lists of edges, so the same inputs give the same bits.

`benchmarks/sparse_products.py` times it beside plain torch, forward and backward. The tests compare it with the
loop for a CPU (test_gpu_kernels.py), and that with dense matrices (test_soft.py).
"""

# mypy: allow-untyped-defs, allow-incomplete-defs
# (Triton reads the annotations of a kernel, so only compile-time constants have one.)

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import torch
import triton
import triton.language as tl
from torch import Tensor

from .products import Products, Rounds

TILE = 128  # sums (pieces x columns) per program
MOST_COLUMNS = 64  # columns per program
WARPS = 2
UNROLL = 4  # entries loaded at the same time
FACTORS = {"segment": ("left", "right"), "left": ("segment", "right"), "right": ("segment", "left")}
"""For a sum by one column, the columns that index the two factors."""


@dataclass(frozen=True, eq=False)
class Lists:
    """Entries in summation order: weight * one[first] * two[second]; `sums` are the rounds of summation."""

    first: Tensor
    second: Tensor
    weight: Tensor | None
    sums: Rounds


# The lists of a block are reused in every epoch and live as long as the block.
_LISTS: WeakKeyDictionary[Products, dict[str, Lists]] = WeakKeyDictionary()


def sums(entries: Products, by: str, one: Tensor, two: Tensor) -> Tensor:
    """Return (rows of `by`, columns): the sum of weight * one * two over the entries of each row.

    Args:
        entries: the entries.
        by: the column that entries are summed by; the other two index the factors (FACTORS).
        one: the first factor.
        two: the second factor.
    """
    lists, columns = _lists(entries, by), one.shape[1]
    pieces = lists.sums
    out = torch.empty(pieces.num_rows, columns, dtype=one.dtype, device=one.device)
    if out.numel():
        block = min(triton.next_power_of_2(columns), MOST_COLUMNS)
        sizes = {"COLUMNS": columns, "BLOCK": block, "PIECES": TILE // block, "UNROLL": UNROLL, "num_warps": WARPS}
        weight = lists.first if lists.weight is None else lists.weight
        weighted = lists.weight is not None
        with torch.cuda.device_of(one):
            for number, part in enumerate(pieces.rounds):
                grid = triton.cdiv(len(part.row), TILE // block), triton.cdiv(columns, block)
                if number:
                    _row_kernel[grid](*part, out, len(part.row), **sizes)
                else:
                    entry = (one, two, lists.first, lists.second, weight)
                    _product_kernel[grid](*entry, *part, out, len(part.row), WEIGHTED=weighted, **sizes)
    return out[: pieces.num_segments]


def _lists(entries: Products, by: str) -> Lists:
    """Return the entries sorted by the column `by`; computed once per block.

    They are copied: reading them through a permutation would cost one more memory access per entry.
    """
    cached = _LISTS.setdefault(entries, {})
    if by not in cached:
        index, weight = getattr(entries, by), entries.weight
        first, second = (getattr(entries, name) for name in FACTORS[by])
        if by != "segment":  # entries already have this order
            order = torch.argsort(index, stable=True)
            index, first, second = index[order], first[order], second[order]
            weight = None if weight is None else weight[order]
        rows = {"segment": entries.num_segments, "left": entries.num_left, "right": entries.num_right}
        counts = torch.bincount(index, minlength=rows[by])
        pointer = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
        cached[by] = Lists(first, second, weight, Rounds.of(pointer))
    return cached[by]


@triton.jit
def _place(begin, end, row, num_pieces, COLUMNS: tl.constexpr, BLOCK: tl.constexpr, PIECES: tl.constexpr):
    """Return the pieces and columns of this program, and where their sums are written."""
    piece = tl.program_id(0) * PIECES + tl.arange(0, PIECES)
    exists = piece < num_pieces
    low = tl.load(begin + piece, mask=exists, other=0)
    high = tl.load(end + piece, mask=exists, other=0)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = (column < COLUMNS)[None, :]
    place = tl.load(row + piece, mask=exists, other=0).to(tl.int64)[:, None] * COLUMNS + column[None, :]
    return low, high, column, inside, place, exists[:, None] & inside


@triton.jit(do_not_specialize=["num_pieces"])
def _product_kernel(
    one, two, first, second, weight, begin, end, row, out, num_pieces,
    WEIGHTED: tl.constexpr, COLUMNS: tl.constexpr, BLOCK: tl.constexpr, PIECES: tl.constexpr, UNROLL: tl.constexpr,
):  # fmt: skip
    low, high, column, inside, place, real = _place(begin, end, row, num_pieces, COLUMNS, BLOCK, PIECES)
    total = tl.zeros([PIECES, BLOCK], out.dtype.element_ty)
    for step in range(0, tl.max(high - low), UNROLL):
        for ahead in tl.static_range(UNROLL):
            entry = low + step + ahead
            valid = entry < high
            i = tl.load(first + entry, mask=valid, other=0).to(tl.int64)[:, None] * COLUMNS + column[None, :]
            j = tl.load(second + entry, mask=valid, other=0).to(tl.int64)[:, None] * COLUMNS + column[None, :]
            mask = valid[:, None] & inside
            x = tl.load(one + i, mask=mask, other=0)
            if WEIGHTED:
                x *= tl.load(weight + entry, mask=valid, other=0).to(x.dtype)[:, None]
            total += x * tl.load(two + j, mask=mask, other=0)
    tl.store(out + place, total, mask=real)


@triton.jit(do_not_specialize=["num_pieces"])
def _row_kernel(
    begin, end, row, out, num_pieces,
    COLUMNS: tl.constexpr, BLOCK: tl.constexpr, PIECES: tl.constexpr, UNROLL: tl.constexpr,
):  # fmt: skip
    """Sum rows of `out` that the previous round wrote; no row is both read and written in one round."""
    low, high, column, inside, place, real = _place(begin, end, row, num_pieces, COLUMNS, BLOCK, PIECES)
    total = tl.zeros([PIECES, BLOCK], out.dtype.element_ty)
    for step in range(0, tl.max(high - low), UNROLL):
        for ahead in tl.static_range(UNROLL):
            source = low + step + ahead
            mask = (source < high)[:, None] & inside
            total += tl.load(out + source.to(tl.int64)[:, None] * COLUMNS + column[None, :], mask=mask, other=0)
    tl.store(out + place, total, mask=real)
