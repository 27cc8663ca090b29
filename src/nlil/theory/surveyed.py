"""Surveyed: what an author of a theory knows of one target."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..data.arrays import Longs
from ..evaluation.ranking import Ranker
from ..kernel.aggregation import Aggregation
from .firings import Proposals


class Surveyed(NamedTuple):
    """What an author knows of one binary target.

    ranker       of the rules that some cover chose
    target       its predicate id
    numbers      of those rules of the target among all that were considered, ascending
    proposals    what they propose for a sample of facts; rules are counted as in `numbers`
    aggregation  how rules become a score
    size         rules of the theory
    seed         of all that is random
    """

    ranker: Ranker
    target: int
    numbers: Longs
    proposals: Proposals
    aggregation: Aggregation
    size: int
    seed: int

    def places(self, rule: Longs) -> Longs:
        """Return where these rules, each `rule` by its number among all considered, stand in `numbers`."""
        return np.searchsorted(self.numbers, rule)
