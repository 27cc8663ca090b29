"""A hash set of numbers that is emptied at no cost, for loops that must count each thing once."""

from __future__ import annotations

import numpy as np

from ..data.arrays import Longs
from ..kernel.compiled import compiled

LARGEST_ENTRY = 2**62
HASH_MULTIPLIER = np.int64(-7046029254386353131)  # 2^64 / golden ratio, as a signed number


@compiled
def first_visit(table: Longs, mask: int, epoch: int, num_keys: int, key: int) -> bool:
    """Return True when `key` (below `num_keys`) is new in this `epoch`; remembers it in `table`.

    Open addressing over entries epoch * num_keys + key: an entry of an older epoch counts as empty, so a new epoch
    starts with an empty table at no cost. `mask` is the size of the table, a power of 2, less 1.
    """
    floor = epoch * num_keys
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
def next_epoch(epoch: int, num_keys: int, table: Longs, mark: Longs) -> int:
    """Return the epoch after this `epoch`.

    Where its entries, of keys below `num_keys`, would outgrow 64 bits, `table` and `mark` are cleared, and epochs begin
    anew.
    """
    if epoch + 1 < LARGEST_ENTRY // num_keys:
        return epoch + 1
    table[:] = -1
    mark[:] = -1
    return 1


def new_table(entries: int) -> Longs:
    """Return a table for up to `entries` keys per epoch."""
    return np.full(max(16, 1 << (2 * entries - 1).bit_length()), -1, np.int64)
