"""Gate: what is tried is kept only if it raises the score on validation facts by more than chance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..data.arrays import Doubles
from ..data.facts import Facts
from ..search.cost import share_ranked


def affordable(most: int, num_entities: int) -> int:
    """Return how many of `most` facts are to be ranked on a base of `num_entities`.

    Where there are many, each takes longer, and chance is the same.

    >>> affordable(5_000, 40_000), affordable(5_000, 100_000), affordable(5_000, 10_000_000)
    (5000, 2500, 1000)
    """
    return int(most * share_ranked(num_entities))


class Gate(NamedTuple):
    """What it takes to keep something.

    least_facts: validation facts; with fewer, chance decides what seems to help, so nothing is tried.
    most_facts: validation facts that are ranked; of more a random part, as ranking takes time.
    least_gain: what the mean of 1 / rank must rise by.
    standard_errors: what it must rise by, in standard errors of the mean.
    most_time: share of the time left that a trial may take, under a time limit.
    """

    least_facts: int
    most_facts: int
    least_gain: float
    standard_errors: float
    most_time: float = 1.0

    def drawn(self, facts: Facts, random: np.random.Generator) -> Facts:
        """Draw at most `most_facts` of `facts` by `random`, in their order."""
        return facts.drawn(self.most_facts, random)

    def passes(self, gains: Doubles) -> bool:
        """Return whether the `gains` are above chance."""
        if not len(gains):
            return False
        chance = self.standard_errors * gains.std() / np.sqrt(len(gains))
        return bool(gains.mean() > max(self.least_gain, chance))
