"""The softmax of a row of scores, compiled to vector instructions.

exp(x) = 2^n exp(r) with n = round(x / log 2): exp(r) is a Taylor polynomial, and 2^n is written as the bits of a
double. The compiler calls exp itself once for each number, and that call is most of the time of a fit.
"""

from __future__ import annotations

import numpy as np

from ..kernel.kernels import compiled

SMALLEST = -700.0  # exp of less is no normal double; as a probability it is 0
PER_LOG_2 = 1.4426950408889634
LOG_2_HIGH, LOG_2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10
ROUND = 6755399441055744.0
"""1.5 * 2^52: added to a double it leaves the nearest whole number in the lowest bits."""


@compiled
def softmax(scores: np.ndarray, scratch: np.ndarray) -> None:
    """scores = exp(scores) / sum of exp(scores), to 1e-14 of each; `scratch` has the same length."""
    bits = scratch.view(np.int64)
    size = len(scores)
    top = scores[0]
    for i in range(1, size):
        top = max(top, scores[i])
    for i in range(size):
        scores[i] = max(scores[i] - top, SMALLEST)
        scratch[i] = scores[i] * PER_LOG_2 + ROUND
    for i in range(size):
        whole = scratch[i] - ROUND
        r = scores[i] - whole * LOG_2_HIGH - whole * LOG_2_LOW
        p = 1 / 39916800 * r + 1 / 3628800
        p = p * r + 1 / 362880
        p = p * r + 1 / 40320
        p = p * r + 1 / 5040
        p = p * r + 1 / 720
        p = p * r + 1 / 120
        p = p * r + 1 / 24
        p = p * r + 1 / 6
        p = p * r + 0.5
        p = p * r + 1.0
        scores[i] = p * r + 1.0
        bits[i] = (bits[i] + 1023) << 52
    # Four sums side by side: one would wait for each addition.
    a = b = c = d = 0.0
    for i in range(0, size - 3, 4):
        scores[i] *= scratch[i]
        scores[i + 1] *= scratch[i + 1]
        scores[i + 2] *= scratch[i + 2]
        scores[i + 3] *= scratch[i + 3]
        a += scores[i]
        b += scores[i + 1]
        c += scores[i + 2]
        d += scores[i + 3]
    for i in range(size - size % 4, size):
        scores[i] *= scratch[i]
        a += scores[i]
    share = 1.0 / (a + b + c + d)
    for i in range(size):
        scores[i] *= share
