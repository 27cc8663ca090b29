"""When validation facts decide: what learning tries is kept only if it raises their score by more than chance.

Three things are tried: longer chains, conjunctions, and weights for kinds of rules. Each passes the same gate, with its
own numbers. Gains are differences of 1 / rank, one for each query or fact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..data.arrays import Doubles, Longs
from ..data.facts import Facts


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
        """Draw at most `most_facts` of `facts`, in their order."""
        return facts if len(facts) <= self.most_facts else facts[drawn_rows(len(facts), self.most_facts, random)]

    def passes(self, gains: Doubles) -> bool:
        """Whether the gains are above chance."""
        if not len(gains):
            return False
        chance = self.standard_errors * gains.std() / np.sqrt(len(gains))
        return bool(gains.mean() > max(self.least_gain, chance))


def drawn_rows(count: int, most: int, random: np.random.Generator) -> Longs:
    """Draw at most `most` numbers below `count`, ascending."""
    return np.arange(count) if count <= most else np.sort(random.permutation(count)[:most])


LENGTHS = Gate(least_facts=200, most_facts=2_000, least_gain=0.0, standard_errors=1.0, most_time=0.4)
"""Chains longer than `max_length`."""
CONJUNCTIONS = Gate(least_facts=50, most_facts=300, least_gain=1e-9, standard_errors=2.0, most_time=0.75)
"""Conjunctions; facts are those of one target. Many rules are tried on few facts: two standard errors."""
WEIGHING = Gate(least_facts=200, most_facts=5_000, least_gain=0.0002, standard_errors=1.0)
"""How much each kind of rule counts. Sixteen numbers fit a little better by chance alone: a least gain."""
