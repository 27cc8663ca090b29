"""Whether roles help: a trial of the best bodies, one for each class, with and without roles.

Half of the graphs choose the bodies, the other half tell whether the classes of their objects become more probable. A
role pays where it says what only many relations say together. Where it does not, it still looks good on some training
objects, and takes the place of bodies that hold on others as well.
"""

from __future__ import annotations

import numpy as np

from ..data.arrays import Doubles, Ids, Longs
from ..evaluation.gate import Gate
from .choosing import ChoiceOptions, first_pairs
from .fitting import LabelledObjects, log_likelihoods, probabilities
from .patterns import Patterns


def roles_help(
    without: Patterns, with_roles: Patterns, rows: Longs, data: LabelledObjects, choice: ChoiceOptions, gate: Gate
) -> bool:
    """Return whether the patterns `with_roles` explain the classes of other objects better than those `without`.

    Args:
        without: The patterns without roles.
        with_roles: The same and those of roles.
        rows: Positions in the entities of the patterns, one for each object and class.
        data: The classes of `rows`.
        choice: How pairs are chosen.
        gate: What must be gained: a mean of log-likelihood per object.
    """
    first, others = halves(without.groups[rows], gate.most_facts, choice.seed)
    if len(others) < gate.least_facts:
        return False

    def judged(patterns: Patterns) -> Doubles:
        held = patterns.held[rows]
        some, rest = (LabelledObjects(data.label[i], held[i], data.shares[i]) for i in (first, others))
        model = first_pairs(patterns, rows[first], some, choice)
        return log_likelihoods(probabilities(model, rest, choice.threads), rest.shares)

    return gate.passes(judged(with_roles) - judged(without))


def halves(group: Ids, most: int, seed: int) -> tuple[Longs, Longs]:
    """Return the objects that choose and those that judge, which are of other graphs.

    Args:
        group: The graph of each object.
        most: About how many objects of each kind to draw, if there are more.
        seed: What they are drawn by.
    """
    number = int(group.max(initial=0)) + 1
    place = np.random.default_rng((seed, 17)).permutation(number)[group]
    drawn = place < number * min(1.0, 2 * most / max(len(group), 1))
    return np.flatnonzero(drawn & (place % 2 == 0)), np.flatnonzero(drawn & (place % 2 == 1))
