"""ArrayCache: computed arrays, cached up to a number of bytes."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar, cast

import numpy as np
from cachetools import LRUCache

from ..errors import LimitError

Array = TypeVar("Array", bound=np.ndarray)


class TooLarge(Exception):
    """The answers of a statement, or the pairs that a rule ranges over, are too many to cache."""


class ArrayCache:
    """An LRU cache of arrays, limited to `budget` bytes."""

    def __init__(self, budget: int) -> None:
        self._arrays: LRUCache[Hashable, np.ndarray | None] = LRUCache(
            budget, getsizeof=lambda array: 0 if array is None else array.nbytes
        )

    def get(self, name: Hashable, make: Callable[[], Array]) -> Array:
        """Return the array `name`, from the cache or from `make`. TooLarge is cached too: it is slow to find."""
        if name not in self._arrays:
            try:
                made: Array | None = make()
            except (TooLarge, LimitError):
                made = None
            if made is not None and made.nbytes > self._arrays.maxsize:
                return made
            self._arrays[name] = made
        found = self._arrays[name]
        if found is None:
            raise TooLarge
        return cast(Array, found)
