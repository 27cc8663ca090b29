"""How the score of a fact is shared out among the rules that fire for it.

    noisy-or   share_i = score * evidence_i / sum of evidence, over the rules that count; with a weighing the
               evidence is what its kind and its place among its kind leave of it
    max        all to the strongest rule

A fact that an exclusion rules out scores 0, so each of its rules has a share of 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data.arrays import Doubles, Longs
from ..evaluation.evidence import score, weighed
from ..evaluation.plan import kind_weights
from ..kernel.ruleset import Aggregation
from .firing import Fired


@dataclass(frozen=True, eq=False)
class Shares:
    """`order` are positions in the Fired rules, strongest first and among equals by row; `share` goes with it."""

    score: float
    evidence: int
    order: Longs
    share: Doubles


def share_out(fired: Fired, aggregation: Aggregation) -> Shares:
    """The score that evaluation gives, and the rules that count for it."""
    power = fired.evidence if fired.kind is None or not aggregation.weighing else _weighed(fired, aggregation)
    order = np.lexsort((fired.rows, -power))
    if aggregation.kind == "max":
        counted = order[:1]
    elif power is not fired.evidence:
        counted = order[power[order] > 0]
    else:
        others = order[~fired.is_prior[order]]
        kept = np.zeros(len(order), bool)
        kept[others[: aggregation.top] if aggregation.top else others] = True
        kept |= fired.is_prior
        counted = order[kept[order]]
    total = int(power[counted].sum()) if fired.exclusion is None else 0
    value = float(score(np.array(total)))
    return Shares(value, total, counted, value * power[counted] / max(total, 1))


def _weighed(fired: Fired, aggregation: Aggregation) -> Longs:
    """What counts of each rule's evidence: a factor of its kind, less for each stronger rule of that kind."""
    assert fired.kind is not None
    _, weight, prior_weight = kind_weights(aggregation)
    power = np.zeros_like(fired.evidence)
    for kind in np.unique(fired.kind):
        mine = np.flatnonzero(fired.kind == kind)
        if kind == len(weight):
            # Scoring adds the priors of a side up before it weighs them; they are one on each side at most.
            power[mine] = weighed(fired.evidence[mine], prior_weight)
            continue
        best = mine[np.lexsort((fired.rows[mine], -fired.evidence[mine]))][: aggregation.top]
        power[best] = [weighed(e, w) for e, w in zip(fired.evidence[best], weight[kind])]
    return power
