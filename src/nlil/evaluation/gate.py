"""Gate: a change is kept only if it raises the score on validation facts by more than chance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..data.arrays import Doubles
from ..data.facts import Facts
from ..search.cost import share_ranked


def affordable(most: int, num_entities: int) -> int:
    """Return how many of `most` facts to rank on a base of `num_entities`.

    With many entities each fact takes longer, while the sampling error stays the same.

    >>> affordable(5_000, 40_000), affordable(5_000, 100_000), affordable(5_000, 10_000_000)
    (5000, 2500, 1000)
    """
    return int(most * share_ranked(num_entities))


class Gate(NamedTuple):
    """The conditions for keeping a change.

    least_facts: least number of validation facts; with fewer the result would be chance, so nothing is tried.
    most_facts: most validation facts that are ranked; a random sample of more, since ranking takes time.
    least_gain: the least gain of the mean 1 / rank.
    standard_errors: the least gain in standard errors of the mean.
    most_time: limit of a trial as a share of the time left, under a time limit.
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
