"""Array types, and array operations that several packages need."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Mask = NDArray[np.bool_]
Flag = NDArray[np.uint8]
"""One number that compiled loops check while they run; they end once it is not 0."""

KEYS_AT_ONCE = 1 << 20


def offsets(sorted_keys: NDArray[np.integer], num_keys: int) -> Longs:
    """Return the CSR pointer of `sorted_keys` (0 .. `num_keys` - 1): rows of key k are offsets[k] .. offsets[k + 1]."""
    pointer = np.zeros(num_keys + 1, np.int64)
    np.cumsum(counted(sorted_keys, num_keys), out=pointer[1:])
    return pointer


def counted(keys: NDArray[np.integer], num_keys: int) -> Longs:
    """Return how often each of 0 .. `num_keys` - 1 occurs in `keys`.

    `np.bincount` first makes a copy as 64-bit numbers, so it gets the keys in blocks.
    """
    counts = np.zeros(num_keys, np.int64)
    step = max(KEYS_AT_ONCE, num_keys)
    for begin in range(0, len(keys), step):
        counts += np.bincount(keys[begin : begin + step], minlength=num_keys)
    return counts


def ranges(starts: Longs, counts: Longs) -> Longs:
    """Concatenate start_i, start_i + 1, ..., start_i + count_i - 1 for each i of `starts` and `counts`."""
    total = int(counts.sum())
    shift = np.repeat(starts - np.concatenate(([0], np.cumsum(counts)[:-1])), counts)
    return np.arange(total, dtype=np.int64) + shift


def run_starts(*columns: NDArray[Any]) -> Mask:
    """Return which rows of the sorted `columns` differ from the row before: the first of each run of equal rows.

    >>> run_starts(np.array([1, 1, 1, 2]), np.array([5, 5, 6, 6])).tolist()
    [True, False, True, True]
    """
    starts = np.ones(len(columns[0]), bool)
    starts[1:] = False
    for column in columns:
        starts[1:] |= column[1:] != column[:-1]
    return starts


def drawn_rows(count: int, most: int, random: np.random.Generator) -> Longs:
    """Draw `most` different numbers below `count` with `random`, in ascending order; all of them if there are fewer."""
    return np.arange(count) if count <= most else np.sort(random.permutation(count)[:most])
