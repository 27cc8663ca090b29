"""What was computed once and may be asked for again, as long as it fits."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ..errors import LimitError

Made = TypeVar("Made", bound=np.ndarray)


class Outgrown(Exception):
    """The answers of a statement, or the pairs that a rule ranges over, are too many to be kept."""


class Kept:
    """Arrays by name; beyond a number of bytes those not used for longest are forgotten."""

    def __init__(self, budget: int) -> None:
        self.budget, self.used = budget, 0
        self.arrays: OrderedDict[Any, np.ndarray | None] = OrderedDict()

    def get(self, name: Any, make: Callable[[], Made]) -> Made:
        """What `make` gives for this name. An Outgrown is remembered too: it took long to find out."""
        if name not in self.arrays:
            try:
                made: np.ndarray | None = make()
            except (Outgrown, LimitError):
                made = None
            self.arrays[name] = made
            self.used += 0 if made is None else made.nbytes
            while self.used > self.budget and len(self.arrays) > 1:
                _, old = self.arrays.popitem(last=False)
                self.used -= 0 if old is None else old.nbytes
        self.arrays.move_to_end(name)
        found: Any = self.arrays[name]
        if found is None:
            raise Outgrown
        return found
