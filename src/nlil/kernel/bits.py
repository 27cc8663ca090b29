"""Truth values of pairs as bits: one row per subject, 64 objects in a word; and, or, not take a word at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..data.arrays import Longs, Mask
from .compiled import compiled

Words = NDArray[np.uint64]
ALL = np.uint64(2**64 - 1)
NONE = np.uint64(0)


def pack(mask: Mask) -> Words:
    """(..., n) truth values as (..., ceil(n / 64)) words; the bits beyond n are 0."""
    n = mask.shape[-1]
    num_words = -(-n // 64)
    packed = np.zeros((*mask.shape[:-1], 8 * num_words), np.uint8)
    packed[..., : -(-n // 8)] = np.packbits(mask, axis=-1, bitorder="little")
    return packed.view("<u8").astype(np.uint64, copy=False)


def whole_rows(mask: Mask) -> Words:
    """(n, 1): a row is all ones or all zeros, whatever the object is."""
    return np.where(mask, ALL, NONE)[:, None]


def look_up(words: Words, row: Longs, column: Longs) -> Mask:
    """The bits at (row, column)."""
    return (words[row, column >> 6] >> (column & 63).astype(np.uint64)) & np.uint64(1) != 0


@compiled
def row_counts(words: np.ndarray) -> np.ndarray:
    """The number of ones in each row."""
    counts = np.zeros(words.shape[0], np.int64)
    for i in range(words.shape[0]):
        total = np.int64(0)
        for j in range(words.shape[1]):
            # The sum of the bits by halves: pairs, then fours, then bytes, which the product adds up.
            word = words[i, j]
            word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
            word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
            word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
            total += np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))
        counts[i] = total
    return counts
