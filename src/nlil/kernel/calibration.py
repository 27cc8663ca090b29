"""Calibration: a monotone map from scores to probabilities with three parameters, and its uncertainty.

    probability = sigmoid(a ln(s) - b ln(1 - s) + c),    a, b > 0

a = b = 1, c = 0 is the identity; a = b is Platt scaling. The map is increasing, so it keeps the ranks. Probabilities
stay 1e-9 away from 0 and 1, since no finite sample shows more. The interval of a probability follows from the
covariance of the parameters: sigmoid(z +- 1.96 standard errors of z), where candidates that are the same fact count as
one observation. `evaluation.calibration` fits the map.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..data.arrays import Doubles, Longs
from .aggregation import RESOLUTION

LEAST_SLOPE = 1e-3
"""Minimum slope; a flatter map would lose the order of scores."""
NORMAL_95 = 1.96
"""Standard errors on either side that cover 95 % of a normal distribution."""


class Probability(NamedTuple):
    """The probability `value` of a fact not seen before, with its 95 % interval.

    `low` and `high` are None if the interval is not known.
    """

    value: float
    low: float | None = None
    high: float | None = None


def probability_document(found: Probability | None) -> dict[str, float | None]:
    """Return `found` as plain values for JSON; all are None if it is None."""
    value, low, high = (None, None, None) if found is None else found
    return {"probability": value, "probability_low": low, "probability_high": high}


@dataclass(frozen=True)
class CalibrationMap:
    """`by_score`, `by_rest` and `offset` are a, b and c of the formula above.

    `covariance` holds the upper triangle of their covariance matrix, by row; empty if unknown.
    """

    by_score: float = 1.0
    by_rest: float = 1.0
    offset: float = 0.0
    covariance: tuple[float, ...] = ()

    def __call__(self, score: Doubles) -> Doubles:
        return _clipped(sigmoid(features(score) @ self._parameters))

    @property
    def _parameters(self) -> Doubles:
        return np.array([self.by_score, self.by_rest, self.offset])

    def estimate(self, score: float) -> Probability:
        """Return the probability of one score with its interval."""
        x = features(np.array([score]))[0]
        z = float(x @ self._parameters)
        ends: list[float] = []
        if self.covariance:
            matrix = np.zeros((3, 3))
            matrix[np.triu_indices(3)] = self.covariance
            matrix += np.triu(matrix, 1).T
            error = float(np.sqrt(max(x @ matrix @ x, 0.0)))
            ends = [z - NORMAL_95 * error, z + NORMAL_95 * error]
        return Probability(*_clipped(sigmoid(np.array([z, *ends]))).tolist())


@dataclass(frozen=True)
class Calibration:
    """The maps by arity of the predicate, fitted on `num_candidates` candidates; an arity without a map has no key."""

    maps: Mapping[int, CalibrationMap]
    num_candidates: int = 0

    def probability(self, score: float, arity: int) -> float | None:
        """Return the probability of a `score` of a predicate of this `arity`; None without a map."""
        found = self.estimate(score, arity)
        return None if found is None else found.value

    def estimate(self, score: float, arity: int) -> Probability | None:
        """Return the probability of a `score` of a predicate of this `arity`, with its interval; None without a map."""
        found = self.maps.get(arity)
        return None if found is None else found.estimate(score)

    def probabilities(self, score: Doubles, arity: Longs) -> Doubles:
        """Return the probability of each `score`, by the `arity` of its predicate; the score itself without a map."""
        result = score.copy()
        for of_arity, found in self.maps.items():
            rows = arity == of_arity
            result[rows] = found(score[rows])
        return result

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
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
        """Read the `values` of `to_dict`."""
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
            raise ValueError("expected slopes above 0: only an increasing map keeps the order of scores")
        return cls(maps, int(values["num_candidates"]))


def features(score: Doubles) -> Doubles:
    """Return (scores, 3): ln(s), -ln(1 - s), 1; each `score` is kept 1e-9 away from 0 and 1, its resolution."""
    s = np.clip(np.asarray(score, np.float64), RESOLUTION, 1 - RESOLUTION)
    return np.stack((np.log(s), -np.log1p(-s), np.ones(len(s))), axis=1)


def _clipped(probability: Doubles) -> Doubles:
    """Keep probabilities away from 0 and 1; no finite sample shows more."""
    return np.clip(probability, RESOLUTION, 1 - RESOLUTION)


def sigmoid(z: Doubles) -> Doubles:
    """1 / (1 + exp(-`z`)), without overflow."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -z)), np.float64)
