"""Evidence: the weight of a rule as an integer, so that sums are exact in any order and on any device.

    evidence(w) = round(-log(1 - w) * 2^40)        score = 1 - exp(-evidence / 2^40)

Noisy-or of weights is the sum of their evidence. Scores are rounded to 1e-9 before they are compared:
`tie_bounds` gives the evidence interval that rounds to the same score.
"""

from __future__ import annotations

import numpy as np

from ..data.arrays import Doubles, Longs

SCALE = 2.0**40
SURE = 1.0 - 1e-12
"""No weight is taken for more than this; certainty would drown every other rule."""
RESOLUTION = 1e-9
SHIFT = 12
UNIT = 1 << SHIFT
"""Factors of evidence are integers too, in 4096ths: (evidence * factor) >> 12 is the same number everywhere."""


def evidence(weight: Doubles) -> Longs:
    return np.rint(-np.log1p(-np.clip(weight, 0.0, SURE)) * SCALE).astype(np.int64)


def score(evidence: Longs) -> Doubles:
    """Rounded to 1e-9."""
    return np.asarray(np.round(-np.expm1(-np.asarray(evidence, np.float64) / SCALE), 9), np.float64)


def tie_bounds(evidence_of_answer: Longs) -> tuple[Longs, Longs]:
    """[low, high): the evidence that rounds to the same score as the answer's."""
    rounded = np.asarray(score(evidence_of_answer))
    low = np.ceil(-np.log1p(-np.clip(rounded - RESOLUTION / 2, 0.0, 1 - 1e-16)) * SCALE)
    above = rounded + RESOLUTION / 2
    # Beyond the last representable score everything is one tie.
    high = np.where(above >= 1.0, 2.0**62, np.ceil(-np.log1p(-np.minimum(above, 1 - 1e-16)) * SCALE))
    return low.astype(np.int64), high.astype(np.int64)


def weighed(evidence: Longs, weight: int) -> Longs:
    """A share of the evidence, as `scoring` takes it."""
    return evidence if weight == UNIT else (evidence * weight) >> SHIFT
