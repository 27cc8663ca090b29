"""A hash set of numbers that is emptied at no cost, for loops that must count each thing once."""

from __future__ import annotations

import numpy as np

from ..data.arrays import Longs
from ..kernel.compiled import compiled

HASH_MULTIPLIER = np.int64(-7046029254386353131)  # 2^64 / golden ratio, as a signed number


@compiled
def first_visit(table: Longs, mask: int, epoch: int, span: int, key: int) -> bool:
    """True when `key` (below `span`) is new in this `epoch`; remembers it.

    Open addressing over entries epoch * span + key: an entry of an older epoch counts as empty,
    so a new epoch starts with an empty table at no cost.
    """
    floor = epoch * span
    entry = floor + key
    slot = ((key * HASH_MULTIPLIER) >> 20) & mask
    while True:
        found = table[slot]
        if found == entry:
            return False
        if found < floor:
            table[slot] = entry
            return True
        slot = (slot + 1) & mask


@compiled
def table_mask(table: Longs, entries: int) -> int:
    """A mask that leaves the table at most half full with `entries` keys (the table must be that large)."""
    size = 16
    while size < 2 * entries:
        size *= 2
    return min(size, len(table)) - 1


def new_table(entries: int) -> Longs:
    """A table for up to `entries` keys per epoch."""
    size = 16
    while size < 2 * entries:
        size *= 2
    return np.full(size, -1, np.int64)
