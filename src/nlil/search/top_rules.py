"""The rules with constants that fit into memory: those with the largest support; ties go to the more confident."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..data.arrays import Longs
from ..logic.rule import smoothed_confidence

HEAD, BODY, SUPPORT, BODY_SIZE, PCA_BODY = range(5)
ROW = 5
"""Rules q(X, c) as columns: the span of c along q ^ 1, the number of the body, and three counts.

A body k(X, d) has the number of the span of d along k ^ 1; then come the bodies k(X, Z1), by code, and `true`.
"""
CONFIDENCES, GRADES = 64, 64 * 1024
"""Rules are graded by support, and within equal support by this many levels of confidence."""


class Thresholds(NamedTuple):
    """The least `support`, `confidence` and `grade` (see `_grades`) of a rule."""

    support: int
    confidence: float
    grade: int


class TopRules:
    """The best rules, up to a limit.

    The result does not depend on the order in which rules are added: once `most` better rules are known, a rule can
    never get back in. Rules are graded only when there are too many.
    """

    def __init__(self, thresholds: Thresholds, most: int, dtype: type = np.int32) -> None:
        """Keep the `most` best rules above the `thresholds`, with numbers of type `dtype`."""
        self.thresholds, self.most, self._dtype = thresholds, most, dtype
        self._parts: dict[int, list[np.ndarray]] = {}
        self._count, self._graded = 0, np.zeros(0, np.int64)

    def add(self, code: int, rows: np.ndarray) -> None:
        """Keep the rules `rows` (see ROW) of the step `code`, or the best of them."""
        if self.thresholds.grade:
            rows = rows[:, _grades(rows) >= self.thresholds.grade]
        self._parts.setdefault(code, []).append(rows.astype(self._dtype))
        self._count += rows.shape[1]
        if len(self._graded):
            self._graded += _histogram(rows)
        if self._count > self.most:
            self._shrink()

    def _shrink(self) -> None:
        if not len(self._graded):
            self._graded = sum((_histogram(p) for parts in self._parts.values() for p in parts), np.zeros(GRADES, int))
        kept = np.cumsum(self._graded[::-1])[::-1]
        self.raise_to(int(np.searchsorted(-kept, -self.most)))

    def raise_to(self, grade: int) -> None:
        """Drop the rules below this `grade`."""
        if grade > self.thresholds.grade:
            self.thresholds = self.thresholds._replace(grade=grade)
            for code, parts in self._parts.items():
                self._parts[code] = [part[:, _grades(part) >= grade] for part in parts]
            self._graded[:grade] = 0
            self._count = sum(part.shape[1] for parts in self._parts.values() for part in parts)

    def take(self, code: int) -> list[np.ndarray]:
        """Remove and return the rules of the step `code`, in the order they were added."""
        return self._parts.pop(code, [])

    @property
    def notes(self) -> list[str]:
        """A note on rules that were left out, for the user."""
        if not self.thresholds.grade:
            return []
        return [
            f"anchored rules: the {self._count:,} with the largest support were kept, "
            f"{self.thresholds.grade // CONFIDENCES:,} or more; raise --memory or --time-limit to keep more"
        ]


def _histogram(rows: np.ndarray) -> Longs:
    return np.bincount(_grades(rows), minlength=GRADES)


def _grades(rows: np.ndarray) -> Longs:
    """Return the grade of each of `rows`, a number below GRADES."""
    support = np.minimum(rows[SUPPORT], GRADES // CONFIDENCES - 1).astype(np.int64)
    confidence = smoothed_confidence(rows[SUPPORT], rows[BODY_SIZE])
    return support * CONFIDENCES + np.minimum(confidence * CONFIDENCES, CONFIDENCES - 1).astype(np.int64)
