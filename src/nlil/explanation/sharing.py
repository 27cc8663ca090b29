"""How the score of a fact is shared out among the rules that fire for it.

    noisy-or   share_i = score * evidence_i / sum of evidence, over the rules that count
    max        all to the strongest rule
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data.arrays import Doubles, Longs
from ..evaluation.evidence import score
from ..rules.ruleset import Aggregation
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
    order = np.lexsort((fired.rows, -fired.evidence))
    if aggregation.kind == "max":
        counted = order[:1]
    else:
        others = order[~fired.is_prior[order]]
        kept = np.zeros(len(order), bool)
        kept[others[: aggregation.top] if aggregation.top else others] = True
        kept |= fired.is_prior
        counted = order[kept[order]]
    total = int(fired.evidence[counted].sum())
    value = float(score(np.array(total)))
    return Shares(value, total, counted, value * fired.evidence[counted] / max(total, 1))
