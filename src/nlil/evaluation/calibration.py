"""From scores to probabilities: a monotone map with three parameters, and how far off scores are without and with it.

    probability = sigmoid(a ln(s) - b ln(1 - s) + c),    a, b > 0

a = b = 1, c = 0 leaves every score as it is; Platt's scaling is the case a = b. The map rises, so ranks stay. What it
says keeps 1e-9 away from 0 and 1, as no finite sample shows more.
Predicates of one and of two arguments have a map each: their candidates differ (see `candidates.py`).
How sure a map is of a probability follows from how sure the fit is of its parameters: low and high are sigmoid(z +-
1.96 standard errors of z), where candidates that are one fact count as one observation.
No figure comes from a map that was fitted on what it is measured on: `cross_fitted` is for the facts of the fit itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..data.arrays import Doubles, Longs, Mask
from ..kernel.aggregation import RESOLUTION

if TYPE_CHECKING:
    from .candidates import Candidates

LEAST_SLOPE = 1e-3
"""Below this a map would be flat and lose the order of scores."""
LEAST_CANDIDATES = 50
"""Fewer candidates than this do not settle three parameters."""
BINS = 15
NORMAL_95 = 1.96
"""So many standard errors on either side hold 95 % of a normal distribution."""


class Probability(NamedTuple):
    """What a score means for a fact not seen before, and the interval of 95 % around it, where one is known."""

    value: float
    low: float | None = None
    high: float | None = None


def probability_document(found: Probability | None) -> dict[str, float | None]:
    """Plain values for JSON."""
    value, low, high = (None, None, None) if found is None else found
    return {"probability": value, "probability_low": low, "probability_high": high}


@dataclass(frozen=True)
class CalibrationMap:
    """`by_score`, `by_rest` and `offset` are a, b and c of the formula above.

    `covariance` has the six different entries of their covariance matrix, by row from the diagonal on; empty: unknown.
    """

    by_score: float = 1.0
    by_rest: float = 1.0
    offset: float = 0.0
    covariance: tuple[float, ...] = ()

    def __call__(self, score: Doubles) -> Doubles:
        return _kept_inside(_sigmoid(features(score) @ self._parameters))

    @property
    def _parameters(self) -> Doubles:
        return np.array([self.by_score, self.by_rest, self.offset])

    def estimate(self, score: float) -> Probability:
        """The probability of one score with its interval."""
        x = features(np.array([score]))[0]
        z = float(x @ self._parameters)
        ends: list[float] = []
        if self.covariance:
            matrix = np.zeros((3, 3))
            matrix[np.triu_indices(3)] = self.covariance
            matrix += np.triu(matrix, 1).T
            error = float(np.sqrt(max(x @ matrix @ x, 0.0)))
            ends = [z - NORMAL_95 * error, z + NORMAL_95 * error]
        return Probability(*_kept_inside(_sigmoid(np.array([z, *ends]))).tolist())


@dataclass(frozen=True)
class Calibration:
    """The maps by arity of the predicate, fitted on `num_candidates` candidates; an arity without one has no key."""

    maps: Mapping[int, CalibrationMap]
    num_candidates: int = 0

    def probability(self, score: float, arity: int) -> float | None:
        """What a score of a predicate means; None where there was too little to fit a map on."""
        found = self.estimate(score, arity)
        return None if found is None else found.value

    def estimate(self, score: float, arity: int) -> Probability | None:
        """The same with the interval of 95 % around it."""
        found = self.maps.get(arity)
        return None if found is None else found.estimate(score)

    def probabilities(self, candidates: Candidates) -> Doubles:
        """Of every candidate; its score where its arity has no map."""
        result = candidates.score.copy()
        for arity, found in self.maps.items():
            mine = candidates.arity == arity
            result[mine] = found(candidates.score[mine])
        return result

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        maps = {
            str(arity): {
                "by_score": m.by_score,
                "by_rest": m.by_rest,
                "offset": m.offset,
                "covariance": list(m.covariance),
            }
            for arity, m in sorted(self.maps.items())
        }
        return {"kind": "beta", "num_candidates": self.num_candidates, "maps": maps}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Calibration:
        """What `to_dict` gave."""
        if values["kind"] != "beta":
            raise ValueError(f"expected a calibration of kind beta, got {values['kind']!r}")
        maps = {
            int(arity): CalibrationMap(
                **{key: float(m[key]) for key in ("by_score", "by_rest", "offset")},
                covariance=tuple(float(entry) for entry in m.get("covariance", ())),
            )
            for arity, m in values["maps"].items()
        }
        if not all(len(m.covariance) in (0, 6) and np.isfinite(m.covariance).all() for m in maps.values()):
            raise ValueError("expected 6 numbers as covariance, or none")
        if not all(min(m.by_score, m.by_rest) > 0 for m in maps.values()):
            raise ValueError("expected slopes above 0: only a rising map keeps the order of scores")
        return cls(maps, int(values["num_candidates"]))


def fit_calibration(candidates: Candidates) -> Calibration:
    """A map for each arity with at least LEAST_CANDIDATES candidates."""
    parts = {arity: candidates.of_arity(arity) for arity in (1, 2)}
    enough = {arity: part for arity, part in parts.items() if len(part) >= LEAST_CANDIDATES}
    return Calibration(
        {arity: fit_map(part.score, part.is_true, part.fact) for arity, part in enough.items()},
        sum(map(len, enough.values())),
    )


def fit_map(score: Doubles, is_true: Mask, fact: Longs | None = None) -> CalibrationMap:
    """The map of least cross-entropy. Targets are Platt's, a little inside 0 and 1, so that rules which never err do
    not claim certainty.

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
        return float(entropy.mean()), x.T @ (_sigmoid(z) - wanted) / len(z)

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
    said = _sigmoid(x @ parameters)
    free = np.array([*(parameters[:2] > LEAST_SLOPE), True])
    curvature = (x * (said * (1 - said))[:, None]).T @ x
    inverse = np.zeros((3, 3))
    inverse[np.ix_(free, free)] = np.linalg.pinv(curvature[np.ix_(free, free)])
    different, number = np.unique(fact, return_inverse=True)
    slopes = np.zeros((len(different), 3))
    np.add.at(slopes, number, x * (said - wanted)[:, None])
    return np.asarray(inverse @ (slopes.T @ slopes) @ inverse, np.float64)


def cross_fitted(candidates: Candidates, calibration: Calibration, seed: int = 0) -> Doubles:
    """What a map says about candidates that it was not fitted on, where `calibration` was fitted on all of these.

    Their facts are cut in two by chance; each half is told by maps of the other. No fact is on both sides.
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


def features(score: Doubles) -> Doubles:
    """(scores, 3): ln(s), -ln(1 - s), 1; a score is known to 1e-9, so it is kept that far from 0 and 1."""
    s = np.clip(np.asarray(score, np.float64), RESOLUTION, 1 - RESOLUTION)
    return np.stack((np.log(s), -np.log1p(-s), np.ones(len(s))), axis=1)


def _kept_inside(probability: Doubles) -> Doubles:
    """No finite sample shows more than this."""
    return np.clip(probability, RESOLUTION, 1 - RESOLUTION)


def _sigmoid(z: Doubles) -> Doubles:
    return np.asarray(np.exp(-np.logaddexp(0.0, -z)), np.float64)


# how far off -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Reliability:
    """By bin of equal width over [0, 1], those with candidates: how many, their mean probability, the true share."""

    count: np.ndarray
    said: Doubles
    true: Doubles


def reliability(probability: Doubles, is_true: Mask, bins: int = BINS) -> Reliability:
    bin_of = np.minimum((probability * bins).astype(np.int64), bins - 1)
    count = np.bincount(bin_of, minlength=bins)
    there = count > 0
    sums = [np.bincount(bin_of, values, minlength=bins)[there] for values in (probability, is_true.astype(np.float64))]
    return Reliability(count[there], sums[0] / count[there], sums[1] / count[there])


def brier_score(probability: Doubles, is_true: Mask) -> float:
    """The mean squared distance between what is said and what is so: 0 is perfect, a coin's .5 gives .25."""
    return float(np.mean((probability - is_true) ** 2))


def expected_calibration_error(probability: Doubles, is_true: Mask) -> float:
    """The mean over candidates of |mean probability - true share| of their bin (BINS of equal width)."""
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
            cross_fitted(candidates, calibration) if is_own_sample else calibration.probabilities(candidates)
        )
    return stages


def calibration_figures(
    candidates: Candidates, calibration: Calibration | None, is_own_sample: bool = False
) -> dict[str, float | int]:
    """brier_ and ece_, each _before and, where there is a map, _after (see `before_and_after`).

    calibration_candidates: what was counted; calibration_answers: the share of the queries' answers among it.
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
