"""Large tables of (object, pattern) pairs, ordered by counting: to sort a hundred million pairs takes minutes."""

from __future__ import annotations

import numpy as np

from ..data.arrays import Ids, Longs
from ..kernel.kernels import compiled
from ..kernel.pool import Pool

BLOCK = 2**14
"""Rows of one task."""
SPARSE = 8
"""Numbers are counted in a table of all values if it has at most so many times their count."""


@compiled
def _count(values, out):
    for i in range(len(values)):
        out[values[i]] += 1


@compiled
def _translate(values, table, out):
    for i in range(len(values)):
        out[i] = table[values[i]]


def numbered(values: Longs) -> tuple[Longs, Ids, Longs]:
    """(distinct values ascending, place of each value among them, how often each occurs)."""
    span = int(values.max(initial=-1)) + 1
    if span > SPARSE * len(values):
        found, inverse, often = np.unique(values, return_inverse=True, return_counts=True)
        return found, inverse.astype(np.int32), often.astype(np.int64)
    table = np.zeros(span, np.int32)
    _count(values, table)
    known = np.flatnonzero(table).astype(np.int64)
    count = table[known].astype(np.int64)
    table[known] = np.arange(len(known), dtype=np.int32)
    place = np.empty(len(values), np.int32)
    _translate(values, table, place)
    return known, place, count


@compiled
def _spread(owner, column, following, out):
    for i in range(len(owner)):
        if column[i] >= 0:
            out[following[owner[i]]] = column[i]
            following[owner[i]] += 1


@compiled
def _sort_rows(pointer, column, begin, end):
    for i in range(begin, end):
        column[pointer[i] : pointer[i + 1]].sort()


def gathered(owner: Ids, column: Ids, num_rows: int, threads: int = 0) -> tuple[Longs, Ids]:
    """(pointer, column) by owner, each row ascending, without the columns below 0."""
    pointer = np.zeros(num_rows + 1, np.int64)
    np.cumsum(np.bincount(owner[column >= 0], minlength=num_rows), out=pointer[1:])
    out = np.empty(int(pointer[-1]), np.int32)
    _spread(owner, column, pointer[:-1].copy(), out)

    def run(_: None, begin: int) -> int:
        _sort_rows(pointer, out, begin, min(begin + BLOCK, num_rows))
        return 0

    pool: Pool[None] = Pool(lambda: None, threads)
    pool.map(run, range(0, num_rows, BLOCK))
    return pointer, out
