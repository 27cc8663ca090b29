"""L-BFGS for a smooth convex function. scipy has one, but its small matrices wake all threads of BLAS, which then spin.

Without BLAS the same steps are taken whatever the number of threads, and the time goes to the function alone.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..data.arrays import Doubles

REMEMBERED = 8
"""Steps by which the curvature is estimated."""
ENOUGH = 1e-4
"""Of the fall that the slope promises, the least that a step must bring (Armijo)."""
SHORTENINGS = 20
FLAT = 1e-6
"""The search ends where no slope is larger than this."""


def minimise(function: Callable[[Doubles], tuple[float, Doubles]], start: Doubles, steps: int) -> Doubles:
    """The best point found in at most `steps` steps; `function` gives the value and the gradient."""
    point = start.copy()
    value, gradient = function(point)
    history: list[tuple[Doubles, Doubles, float]] = []
    for number in range(steps):
        if not len(point) or np.abs(gradient).max() < FLAT:
            break
        direction = -_times_inverse(gradient, history)
        slope = _dot(direction, gradient)
        length = 1.0 if number else min(1.0, 1.0 / max(float(np.abs(gradient).sum()), 1e-12))
        for _ in range(SHORTENINGS):
            there, slopes = function(point + length * direction)
            if there <= value + ENOUGH * length * slope:
                break
            length /= 2
        else:
            break
        moved, turned = length * direction, slopes - gradient
        bend = _dot(moved, turned)
        if bend > 1e-12 * _dot(turned, turned):
            history = [*history[-(REMEMBERED - 1) :], (moved, turned, bend)]
        point, value, gradient = point + moved, there, slopes
    return point


def _times_inverse(gradient: Doubles, history: list[tuple[Doubles, Doubles, float]]) -> Doubles:
    """The gradient times the estimated inverse of the second derivatives (the two loops of Nocedal)."""
    result = gradient.copy()
    shares = []
    for moved, turned, bend in reversed(history):
        share = _dot(moved, result) / bend
        result -= share * turned
        shares.append(share)
    if history:
        _, turned, bend = history[-1]
        result *= bend / _dot(turned, turned)
    for (moved, turned, bend), share in zip(history, reversed(shares)):
        result += (share - _dot(turned, result) / bend) * moved
    return result


def _dot(a: Doubles, b: Doubles) -> float:
    return float(np.add.reduce(a * b))
