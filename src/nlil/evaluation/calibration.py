"""From scores to probabilities: fitting the map of `kernel.calibration`, and measuring the calibration error.

Unary and binary predicates have separate maps, since their candidates differ (see `candidates.py`). No figure is
measured on the facts that the map was fitted on; for these there is `cross_fitted`.

`probability` is the predicted probability of each candidate; `calibration` is a fitted map, or None.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..data.arrays import Doubles, Longs, Mask
from ..kernel.calibration import LEAST_SLOPE, Calibration, CalibrationMap, features, sigmoid

if TYPE_CHECKING:
    from .candidates import Candidates

LEAST_CANDIDATES = 50
"""Fewer candidates are not enough to fit three parameters."""
BINS = 15


def fit_calibration(candidates: Candidates) -> Calibration:
    """Return a map for each arity with at least LEAST_CANDIDATES candidates."""
    parts = {arity: candidates.of_arity(arity) for arity in (1, 2)}
    enough = {arity: part for arity, part in parts.items() if len(part) >= LEAST_CANDIDATES}
    return Calibration(
        {arity: fit_map(part.score, part.is_true, part.fact) for arity, part in enough.items()},
        sum(map(len, enough.values())),
    )


def fit_map(score: Doubles, is_true: Mask, fact: Longs | None = None) -> CalibrationMap:
    """Return the map of least cross-entropy.

    Labels are Platt's, slightly inside 0 and 1, so that rules that never fail do not claim certainty.

    Args:
        score: The score of each candidate.
        is_true: Whether it is true.
        fact: The number of its fact; candidates with the same fact are one observation. None: all differ.
    """
    from scipy.optimize import minimize

    x = features(score)
    num_true = int(is_true.sum())
    wanted = np.where(is_true, (num_true + 1) / (num_true + 2), 1 / (len(is_true) - num_true + 2))

    def loss(parameters: Doubles) -> tuple[float, Doubles]:
        z = x @ parameters
        entropy = np.logaddexp(0.0, z) - wanted * z
        return float(entropy.mean()), x.T @ (sigmoid(z) - wanted) / len(z)

    found = minimize(
        loss,
        np.array([1.0, 1.0, 0.0]),
        jac=True,
        method="L-BFGS-B",
        bounds=[(LEAST_SLOPE, None), (LEAST_SLOPE, None), (None, None)],
    )
    fact = np.arange(len(score)) if fact is None else fact
    covariance = _covariance(x, found.x, wanted, fact)
    by_score, by_rest, offset = found.x.tolist()
    return CalibrationMap(by_score, by_rest, offset, tuple(covariance[np.triu_indices(3)].tolist()))


def _covariance(x: Doubles, parameters: Doubles, wanted: Doubles, fact: Longs) -> Doubles:
    """Return the robust (sandwich) covariance of the parameters; a parameter at its bound counts as fixed."""
    predicted = sigmoid(x @ parameters)
    free = np.array([*(parameters[:2] > LEAST_SLOPE), True])
    curvature = (x * (predicted * (1 - predicted))[:, None]).T @ x
    inverse = np.zeros((3, 3))
    inverse[np.ix_(free, free)] = np.linalg.pinv(curvature[np.ix_(free, free)])
    different, number = np.unique(fact, return_inverse=True)
    slopes = np.zeros((len(different), 3))
    np.add.at(slopes, number, x * (predicted - wanted)[:, None])
    return np.asarray(inverse @ (slopes.T @ slopes) @ inverse, np.float64)


def cross_fitted(candidates: Candidates, calibration: Calibration) -> Doubles:
    """Return probabilities from maps that were not fitted on the candidates they are applied to.

    `calibration` was fitted on all `candidates`. Their facts are split at random; each half is predicted with maps
    fitted on the other. No fact is in both halves.
    """
    _, number = np.unique(candidates.fact, return_inverse=True)
    half = np.random.default_rng(0).permutation(int(number.max(initial=-1)) + 1)[number] % 2 == 0
    result = candidates.score.copy()
    for arity in calibration.maps:
        same_arity = candidates.arity == arity
        for one in (same_arity & half, same_arity & ~half):
            other = same_arity & ~one
            if other.any():
                result[one] = fit_map(candidates.score[other], candidates.is_true[other])(candidates.score[one])
    return result


# calibration error -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Reliability:
    """For each non-empty bin of equal width over [0, 1]: the number of candidates and their mean probability
    (`predicted`).

    `count` is that number, `true` the share of them that are true.
    """

    count: np.ndarray
    predicted: Doubles
    true: Doubles


def reliability(probability: Doubles, is_true: Mask) -> Reliability:
    """Group candidates into BINS by their probability."""
    bin_of = np.minimum((probability * BINS).astype(np.int64), BINS - 1)
    count = np.bincount(bin_of, minlength=BINS)
    there = count > 0
    sums = [np.bincount(bin_of, values, minlength=BINS)[there] for values in (probability, is_true.astype(np.float64))]
    return Reliability(count[there], sums[0] / count[there], sums[1] / count[there])


def brier_score(probability: Doubles, is_true: Mask) -> float:
    """Return the mean squared error of the probabilities: 0 is perfect, a constant .5 gives .25."""
    return float(np.mean((probability - is_true) ** 2))


def expected_calibration_error(probability: Doubles, is_true: Mask) -> float:
    """Return the mean over candidates of |mean probability - true share| of their bin (BINS of equal width)."""
    table = reliability(probability, is_true)
    return float(np.sum(table.count * np.abs(table.predicted - table.true)) / np.sum(table.count))


def before_and_after(
    candidates: Candidates, calibration: Calibration | None, is_own_sample: bool = False
) -> dict[str, Doubles]:
    """Return the probabilities "before" (the scores themselves) and, if there is a map, "after" calibration.

    If `is_own_sample`, the map was fitted on these candidates, so "after" is cross-fitted.
    """
    stages = {"before": candidates.score}
    if calibration is not None and calibration.maps:
        stages["after"] = (
            cross_fitted(candidates, calibration)
            if is_own_sample
            else calibration.probabilities(candidates.score, candidates.arity)
        )
    return stages


def calibration_figures(
    candidates: Candidates, calibration: Calibration | None, is_own_sample: bool = False
) -> dict[str, float | int]:
    """Return brier_ and ece_ of `candidates`, each _before and, if there is a map, _after (see `before_and_after`).

    `is_own_sample` as there. calibration_candidates is the number of candidates, calibration_answers the share of the
    queries' answers among them.
    """
    if not len(candidates):
        return {}
    figures: dict[str, float | int] = {}
    stages = before_and_after(candidates, calibration, is_own_sample)
    for name, measure in (("brier", brier_score), ("ece", expected_calibration_error)):
        figures |= {f"{name}_{stage}": measure(values, candidates.is_true) for stage, values in stages.items()}
    figures["calibration_candidates"] = len(candidates)
    figures["calibration_answers"] = float(candidates.is_true.sum() / max(candidates.num_answers, 1))
    return figures
