"""Sorting in compiled loops. As fast as numba's own sort, which takes a second to compile for each array type."""

from __future__ import annotations

import numpy as np

from .compiled import compiled

SHORT_SLICE = 16
"""Ranges up to this length are sorted by insertion."""


@compiled
def sort_range(values: np.ndarray, begin: int, end: int) -> None:
    """Sort values[begin:end] in place: quicksort with median of three, insertion sort for short ranges."""
    waiting = np.empty(128, np.int64)  # ends of pending ranges; the longer half waits, so there are at most log2(n)
    top = 0
    low, high = begin, end - 1
    while True:
        while high - low >= SHORT_SLICE:
            first, middle, last = values[low], values[(low + high) // 2], values[high]
            pivot = max(min(first, middle), min(max(first, middle), last))
            i, j = low, high
            while i <= j:
                while values[i] < pivot:
                    i += 1
                while values[j] > pivot:
                    j -= 1
                if i <= j:
                    values[i], values[j] = values[j], values[i]
                    i += 1
                    j -= 1
            if j - low < high - i:
                waiting[top], waiting[top + 1] = i, high
                high = j
            else:
                waiting[top], waiting[top + 1] = low, j
                low = i
            top += 2
        for i in range(low + 1, high + 1):
            value, j = values[i], i
            while j > low and values[j - 1] > value:
                values[j] = values[j - 1]
                j -= 1
            values[j] = value
        if top == 0:
            return
        top -= 2
        low, high = waiting[top], waiting[top + 1]


@compiled
def sort_unique(values: np.ndarray, begin: int, end: int) -> int:
    """Sort values[begin:end] in place and remove duplicates; return the new end."""
    sort_range(values, begin, end)
    last = begin
    for i in range(begin, end):
        if i == begin or values[i] != values[last - 1]:
            values[last] = values[i]
            last += 1
    return last
