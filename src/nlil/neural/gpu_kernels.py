"""The products on a GPU: one kernel sums segments, forward and for both gradients. Twin of `cpu_kernels`.

Needs Triton, which comes with every CUDA build of torch for Linux; imported only for CUDA tensors.
No atomics: every sum runs in the order of the plan's lists, so the same inputs give the same bits.

`benchmarks/sparse_products.py` times them beside plain torch, forward and backward. The tests compare them with
`cpu_kernels` (test_gpu_kernels.py), and those with dense matrices (test_soft.py).
"""

# mypy: allow-untyped-defs, allow-incomplete-defs
# (Triton reads the annotations of a kernel, so only what is constant when it is compiled has one.)

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import torch
import triton
import triton.language as tl
from torch import Tensor

from .products import Products, Projections, Rounds

TILE = 128  # sums (pieces x columns) of one program
MOST_COLUMNS = 64  # of one program
WARPS = 2
UNROLL = 4  # entries whose loads are under way at once


@dataclass(frozen=True, eq=False)
class Lists:
    """Entries in the order in which they are summed: weight * a[first] * b[second]."""

    first: Tensor
    second: Tensor
    weight: Tensor | None
    sums: Rounds


# The lists of a plan serve every epoch and go when the plan goes.
_LISTS: WeakKeyDictionary[Products | Projections, dict[str, Lists]] = WeakKeyDictionary()


def multiply_add(a: Tensor, b: Tensor, entries: Products) -> Tensor:
    """out[segment] = sum of weight * a[left] * b[right]."""
    lists = _lists(entries, "segment", entries.num_segments, entries.left, entries.right)
    return _add_products(a, b, lists, a.shape[1])


def multiply_add_gradients(
    a: Tensor, b: Tensor, gradient: Tensor, entries: Products, want_a: bool, want_b: bool
) -> tuple[Tensor | None, Tensor | None]:
    """The gradients of a and of b, where wanted, from that of the products."""

    def summed(by: str, size: int, other: Tensor, column: Tensor) -> Tensor:
        return _add_products(gradient, other, _lists(entries, by, size, entries.segment, column), a.shape[1])

    return (
        summed("left", entries.num_left, b, entries.right) if want_a else None,
        summed("right", entries.num_right, a, entries.left) if want_b else None,
    )


def project(value: Tensor, table: Tensor, pairs: Projections) -> Tensor:
    """out[pair] = value[row] . table[choice] over the slots."""
    _, restarts, instances, slots = table.shape
    out = torch.empty(len(pairs), restarts, instances, dtype=value.dtype, device=value.device)
    if out.numel():
        padded = triton.next_power_of_2(slots)
        block = max(1024 // padded, 1)
        with torch.cuda.device_of(value):
            _project_kernel[(triton.cdiv(out.numel(), block),)](
                value.contiguous(), table.contiguous(), pairs.row, pairs.choice, out, out.numel(),
                RESTARTS=restarts, INSTANCES=instances, SLOTS=slots, PADDED=padded, BLOCK=block,
            )  # fmt: skip
    return out


def project_gradients(value: Tensor, table: Tensor, gradient: Tensor, pairs: Projections) -> tuple[Tensor, Tensor]:
    """grad_value[row] sums over its pairs and the instances, grad_table[choice] over its pairs."""
    _, restarts, instances, slots = table.shape
    pair = torch.arange(len(pairs), dtype=torch.int32, device=value.device)
    by_row = _lists(pairs, "row", pairs.num_rows, pair, pairs.choice)
    by_choice = _lists(pairs, "choice", pairs.num_choices, pair, pairs.row)
    grad_value = _add_products(gradient, table, by_row, restarts * slots, terms=instances, slots=slots)
    columns = restarts * instances * slots
    grad_table = _add_products(gradient, value, by_choice, columns, inner=instances, slots=slots)
    return grad_value.reshape(value.shape), grad_table.reshape(table.shape)


def _lists(owner: Products | Projections, by: str, size: int, first: Tensor, second: Tensor) -> Lists:
    """The entries in the order of the column `by`, whose values are below `size`; made once for a plan.

    Copies in that order: read through the permutation, each entry would cost a memory access more.
    """
    cached = _LISTS.setdefault(owner, {})
    if by not in cached:
        index, weight = getattr(owner, by), getattr(owner, "weight", None)
        if by != "segment":  # entries are in that order already
            order = torch.argsort(index, stable=True)
            index, first, second = index[order], first[order], second[order]
            weight = None if weight is None else weight[order]
        counts = torch.bincount(index, minlength=size)
        pointer = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
        cached[by] = Lists(first, second, weight, Rounds.of(pointer))
    return cached[by]


def _add_products(
    a: Tensor, b: Tensor, lists: Lists, columns: int, terms: int = 1, inner: int = 1, slots: int = 1
) -> Tensor:
    """(segments, columns): the sum of weight * a[first] * b[second]; the kernel says which columns meet."""
    sums = lists.sums
    out = torch.empty(sums.num_rows, columns, dtype=a.dtype, device=a.device)
    if out.numel() == 0:
        return out
    a, b = a.contiguous(), b.contiguous()
    block = min(triton.next_power_of_2(columns), MOST_COLUMNS)
    sizes = {"COLUMNS": columns, "BLOCK": block, "PIECES": TILE // block, "UNROLL": UNROLL, "num_warps": WARPS}
    first, *later = sums.rounds
    weight = lists.first if lists.weight is None else lists.weight
    with torch.cuda.device_of(a):
        _product_kernel[_grid(len(first), columns, block)](
            a, b, lists.first, lists.second, weight, first.begin, first.end, first.row, out, len(first),
            A_COLUMNS=a[:1].numel(), B_COLUMNS=b[:1].numel(), TERMS=terms, INNER=inner, SLOTS=slots,
            WEIGHTED=lists.weight is not None, **sizes,
        )  # fmt: skip
        for part in later:
            _row_kernel[_grid(len(part), columns, block)](part.begin, part.end, part.row, out, len(part), **sizes)
    return out[: sums.num_segments]


def _grid(pieces: int, columns: int, block: int) -> tuple[int, int]:
    return triton.cdiv(pieces, TILE // block), triton.cdiv(columns, block)


@triton.jit
def _place(begin, end, row, num_pieces, COLUMNS: tl.constexpr, BLOCK: tl.constexpr, PIECES: tl.constexpr):
    """This program's pieces and columns, and where their sums go."""
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
    a, b, first, second, weight, begin, end, row, out, num_pieces,
    A_COLUMNS: tl.constexpr, B_COLUMNS: tl.constexpr, TERMS: tl.constexpr, INNER: tl.constexpr, SLOTS: tl.constexpr,
    WEIGHTED: tl.constexpr, COLUMNS: tl.constexpr, BLOCK: tl.constexpr, PIECES: tl.constexpr, UNROLL: tl.constexpr,
):  # fmt: skip
    """A column of `out` is (group, inner, slot), of `a` (group, term, inner), of `b` (group, term, slot)."""
    low, high, column, inside, place, real = _place(begin, end, row, num_pieces, COLUMNS, BLOCK, PIECES)
    group, member, slot = column // (INNER * SLOTS), column // SLOTS % INNER, column % SLOTS
    total = tl.zeros([PIECES, BLOCK], out.dtype.element_ty)
    for step in range(0, tl.max(high - low), UNROLL):
        for ahead in tl.static_range(UNROLL):
            entry = low + step + ahead
            valid = entry < high
            i = tl.load(first + entry, mask=valid, other=0).to(tl.int64)[:, None]
            j = tl.load(second + entry, mask=valid, other=0).to(tl.int64)[:, None]
            mask = valid[:, None] & inside
            for term in tl.static_range(TERMS):
                shared = group * TERMS + term
                x = tl.load(a + i * A_COLUMNS + (shared * INNER + member)[None, :], mask=mask, other=0)
                y = tl.load(b + j * B_COLUMNS + (shared * SLOTS + slot)[None, :], mask=mask, other=0)
                if WEIGHTED:
                    x *= tl.load(weight + entry, mask=valid, other=0).to(x.dtype)[:, None]
                total += x * y
    tl.store(out + place, total, mask=real)


@triton.jit(do_not_specialize=["num_pieces"])
def _row_kernel(
    begin, end, row, out, num_pieces,
    COLUMNS: tl.constexpr, BLOCK: tl.constexpr, PIECES: tl.constexpr, UNROLL: tl.constexpr,
):  # fmt: skip
    """Rows of `out` that the round before wrote, summed; no row is both read and written in one round."""
    low, high, column, inside, place, real = _place(begin, end, row, num_pieces, COLUMNS, BLOCK, PIECES)
    total = tl.zeros([PIECES, BLOCK], out.dtype.element_ty)
    for step in range(0, tl.max(high - low), UNROLL):
        for ahead in tl.static_range(UNROLL):
            source = low + step + ahead
            mask = (source < high)[:, None] & inside
            total += tl.load(out + source.to(tl.int64)[:, None] * COLUMNS + column[None, :], mask=mask, other=0)
    tl.store(out + place, total, mask=real)


@triton.jit(do_not_specialize=["size"])
def _project_kernel(
    value, table, row, choice, out, size,
    RESTARTS: tl.constexpr, INSTANCES: tl.constexpr, SLOTS: tl.constexpr, PADDED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """out[pair, restart, instance] = value[row, restart] . table[choice, restart, instance]"""
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    valid = index < size
    pair, column = index // (RESTARTS * INSTANCES), index % (RESTARTS * INSTANCES)
    i = tl.load(row + pair, mask=valid, other=0).to(tl.int64)
    j = tl.load(choice + pair, mask=valid, other=0).to(tl.int64)
    slot = tl.arange(0, PADDED)[None, :]
    mask = valid[:, None] & (slot < SLOTS)
    x = tl.load(value + ((i * RESTARTS + column // INSTANCES) * SLOTS)[:, None] + slot, mask=mask, other=0)
    y = tl.load(table + ((j * (RESTARTS * INSTANCES) + column) * SLOTS)[:, None] + slot, mask=mask, other=0)
    tl.store(out + index, tl.sum(x * y, 1), mask=valid)
