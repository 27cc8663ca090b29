"""Authors of theories: from what the rules of a target propose to an ordered choice of rules, with their weights.

All have one contract: a `Surveyed` target and the choice of the greedy cover go in, a `Choice` comes out. The cover is
the first author and the fallback; the others make something of what it chose.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from ..data.arrays import Longs
from .cover import Choice
from .firings import Proposals
from .surveyed import Surveyed
from .weights import fit_weights

Author = Callable[[Surveyed, Choice], Choice]


def weigh_together(surveyed: Surveyed, cover: Choice) -> Choice:
    """Return the rules of the `cover` in their order, the first `size` with weights that are fitted together."""
    chosen = surveyed.places(cover.rule[: surveyed.size])
    rules = surveyed.ranker.rules_of(surveyed.target)
    some = only(surveyed.proposals, chosen, len(rules))
    kinds = surveyed.ranker.kinds_of(surveyed.target)[:, chosen]
    weight = cover.weight.copy()
    weight[: len(chosen)] = fit_weights(some, rules.weights[chosen], kinds, surveyed.aggregation)
    return cover._replace(weight=weight)


def only(proposals: Proposals, rules: Longs, num_rules: int) -> Proposals:
    """Return what these `rules` propose, numbered by their place in the list."""
    number = np.full(num_rules, -1)
    number[rules] = np.arange(len(rules))
    candidate, rule = proposals.firings
    kept = number[rule] >= 0
    candidate, rule = candidate[kept], number[rule[kept]]
    order = np.lexsort((rule, candidate))
    candidate, rule = candidate[order], rule[order]
    first = np.flatnonzero(np.diff(candidate, prepend=-1))
    alive = candidate[first]
    return proposals._replace(
        query=proposals.query[alive],
        is_right=proposals.is_right[alive],
        pointer=np.append(first, len(rule)).astype(np.int64),
        rule=rule.astype(np.int32),
    )


def _formulas(surveyed: Surveyed, cover: Choice) -> Choice:
    from .formulas import write_formulas  # imports torch

    return write_formulas(surveyed, cover)


WRITERS: Mapping[str, Author] = {"weights": weigh_together, "formulas": _formulas}
"""Every author but the cover."""
