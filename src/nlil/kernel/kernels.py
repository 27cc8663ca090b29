"""Small pieces that every compiled loop shares."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numba
import numpy as np

_stamps: dict[Any, str] = {}
"""What each compiled function was made of."""


def compiled(function: Any) -> Any:
    """Compile to machine code that releases the interpreter lock; the result is cached on disk.

    The cache of numba looks at the file of a function, not at what other files bring into it: without a stamp of our
    own a function would go on with the old code of one that has changed since.
    """
    made: Any = numba.njit(nogil=True, cache=True)(function)
    _stamps[made] = _stamp(function)
    with suppress(AttributeError):  # a version of numba that keeps its cache otherwise, or no place to keep one
        file = made._cache._cache_file
        file._source_stamp = (file._source_stamp, _stamps[made])
    return made


def _stamp(function: Any) -> str:
    """The file of a function, the compiled functions and constants that the file has from others, and what the tuples
    look like that it may be given: their fields are places to the compiled code, without names."""
    parts = [_content(function.__code__.co_filename), _layouts()]
    for name, value in sorted(function.__globals__.items()):
        if isinstance(value, int | float | str | tuple | np.generic) and name.isupper():
            parts.append(f"{name} = {value!r}")
        elif isinstance(value, numba.core.dispatcher.Dispatcher) and value in _stamps:
            parts.append(f"{name}: {_stamps[value]}")
    return sha256("\n".join(parts).encode()).hexdigest()


@cache
def _layouts() -> str:
    """The named tuples of the package."""
    texts = (path.read_text(encoding="utf-8") for path in sorted(Path(__file__).parents[1].rglob("*.py")))
    found = (re.findall(r"^class \w+\(NamedTuple\):\n(?:(?: {4}.*)?\n)+", text, re.MULTILINE) for text in texts)
    return sha256("".join(layout for some in found for layout in some).encode()).hexdigest()


@cache
def _content(path: str) -> str:
    try:
        return sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return path  # typed at a prompt: there is no file


HASH_MULTIPLIER = np.int64(-7046029254386353131)  # 2^64 / golden ratio, as a signed number


@compiled
def first_visit(table: np.ndarray, mask: int, epoch: int, span: int, key: int) -> bool:
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
def table_mask(table: np.ndarray, entries: int) -> int:
    """A mask that leaves the table at most half full with `entries` keys (the table must be that large)."""
    size = 16
    while size < 2 * entries:
        size *= 2
    return min(size, len(table)) - 1


def new_table(entries: int) -> np.ndarray:
    """A table for up to `entries` keys per epoch."""
    size = 16
    while size < 2 * entries:
        size *= 2
    return np.full(size, -1, np.int64)
