"""From scores to probabilities: how the map of `kernel.calibration` is fitted, and how far off scores are without it.

Predicates of one and of two arguments have a map each: their candidates differ (see `candidates.py`).
No figure comes from a map that was fitted on what it is measured on: `cross_fitted` is for the facts of the fit itself.

`probability` is what was said of each candidate; `calibration` is a fitted map, None: there is none.
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
"""Fewer candidates than this do not settle three parameters."""
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

    Targets are Platt's, a little inside 0 and 1, so that rules which never err do not claim certainty.

    Args:
        score: Of each candidate.
        is_true: Whether it is true.
        fact: The number of the fact that it is; candidates of one fact are one observation. None: all differ.
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
    """The robust (sandwich) covariance of the parameters; one that stands at its bound is taken as given."""
    said = sigmoid(x @ parameters)
    free = np.array([*(parameters[:2] > LEAST_SLOPE), True])
    curvature = (x * (said * (1 - said))[:, None]).T @ x
    inverse = np.zeros((3, 3))
    inverse[np.ix_(free, free)] = np.linalg.pinv(curvature[np.ix_(free, free)])
    different, number = np.unique(fact, return_inverse=True)
    slopes = np.zeros((len(different), 3))
    np.add.at(slopes, number, x * (said - wanted)[:, None])
    return np.asarray(inverse @ (slopes.T @ slopes) @ inverse, np.float64)


def cross_fitted(candidates: Candidates, calibration: Calibration, seed: int = 0) -> Doubles:
    """Return what a map says about candidates that it was not fitted on.

    `calibration` was fitted on all of these. Their facts are cut in two by chance; each half is told by maps of the
    other. No fact is on both sides.
    """
    _, number = np.unique(candidates.fact, return_inverse=True)
    half = np.random.default_rng(seed).permutation(int(number.max(initial=-1)) + 1)[number] % 2 == 0
    result = candidates.score.copy()
    for arity in calibration.maps:
        mine = candidates.arity == arity
        for one in (mine & half, mine & ~half):
            other = mine & ~one
            if other.any():
                result[one] = fit_map(candidates.score[other], candidates.is_true[other])(candidates.score[one])
    return result


# how far off -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Reliability:
    """By bin of equal width over [0, 1], those with candidates: how many (`count`), their mean probability (`said`).

    `true` is the share of them that are true.
    """

    count: np.ndarray
    said: Doubles
    true: Doubles


def reliability(probability: Doubles, is_true: Mask, bins: int = BINS) -> Reliability:
    """Sort candidates into so many `bins` by their probability."""
    bin_of = np.minimum((probability * bins).astype(np.int64), bins - 1)
    count = np.bincount(bin_of, minlength=bins)
    there = count > 0
    sums = [np.bincount(bin_of, values, minlength=bins)[there] for values in (probability, is_true.astype(np.float64))]
    return Reliability(count[there], sums[0] / count[there], sums[1] / count[there])


def brier_score(probability: Doubles, is_true: Mask) -> float:
    """Return the mean squared distance between what is said and what is so: 0 is perfect, a coin's .5 gives .25."""
    return float(np.mean((probability - is_true) ** 2))


def expected_calibration_error(probability: Doubles, is_true: Mask) -> float:
    """Return the mean over candidates of |mean probability - true share| of their bin (BINS of equal width)."""
    table = reliability(probability, is_true)
    return float(np.sum(table.count * np.abs(table.said - table.true)) / np.sum(table.count))


def before_and_after(
    candidates: Candidates, calibration: Calibration | None, is_own_sample: bool = False
) -> dict[str, Doubles]:
    """ "before": scores read as probabilities; "after": through the map, where there is one.

    `is_own_sample`: the map was fitted on these very candidates, so that "after" has to be cross-fitted.
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
    """Return brier_ and ece_ of `candidates`, each _before and, where there is a map, _after (see `before_and_after`).

    `is_own_sample` as there. calibration_candidates: what was counted; calibration_answers: the share of the queries'
    answers among it.
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
