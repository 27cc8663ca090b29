"""Which rules with constants there is room for: those of the largest support, of equal ones the most confident."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..data.arrays import Longs
from ..logic.rule import smoothed_confidence

HEAD, BODY, SUPPORT, BODY_SIZE, PCA_BODY = range(5)
ROW = 5
"""Rules q(X, c) as columns: the span of c along q ^ 1, the number of the body, and three counts.

A body k(X, d) is the span of d along k ^ 1; behind all spans come the bodies k(X, Z1), by code, and then `true`.
"""
CONFIDENCES, GRADES = 64, 64 * 1024
"""Rules are graded by support, and those of equal support by so many steps of their confidence."""


class Needs(NamedTuple):
    """What a rule needs: its `support`, its `confidence`, and its `grade` (see `_grades`)."""

    support: int
    confidence: float
    grade: int


class Room:
    """The rules that are kept.

    They come in any order, and which of them are kept depends on all of them together: a rule that goes is worth less
    than each of so many others that it would go at any later time too. They are graded only once there are too many.
    """

    def __init__(self, needs: Needs, most: int, dtype: type = np.int32) -> None:
        """`needs` says what every rule needs; `most` are kept, their numbers as `dtype`."""
        self.needs, self.most, self._dtype = needs, most, dtype
        self._parts: dict[int, list[np.ndarray]] = {}
        self._count, self._graded = 0, np.zeros(0, np.int64)

    def add(self, code: int, rows: np.ndarray) -> None:
        """Keep the rules `rows` (see ROW) of the step `code`, or the best of them."""
        if self.needs.grade:
            rows = rows[:, _grades(rows) >= self.needs.grade]
        self._parts.setdefault(code, []).append(rows.astype(self._dtype))
        self._count += rows.shape[1]
        if len(self._graded):
            self._graded += _histogram(rows)
        if self._count > self.most:
            self._make_room()

    def _make_room(self) -> None:
        if not len(self._graded):
            self._graded = sum((_histogram(p) for parts in self._parts.values() for p in parts), np.zeros(GRADES, int))
        kept = np.cumsum(self._graded[::-1])[::-1]
        self.raise_to(int(np.searchsorted(-kept, -self.most)))

    def raise_to(self, grade: int) -> None:
        """Keep no rule below this `grade`."""
        if grade > self.needs.grade:
            self.needs = self.needs._replace(grade=grade)
            for code, parts in self._parts.items():
                self._parts[code] = [part[:, _grades(part) >= grade] for part in parts]
            self._graded[:grade] = 0
            self._count = sum(part.shape[1] for parts in self._parts.values() for part in parts)

    def take(self, code: int) -> list[np.ndarray]:
        """Return what is kept of the step `code`, in the order it came, and forget it."""
        return self._parts.pop(code, [])

    @property
    def notes(self) -> list[str]:
        """What was left out, for the user."""
        if not self.needs.grade:
            return []
        return [
            f"anchored rules: the {self._count:,} with the largest support were kept, "
            f"{self.needs.grade // CONFIDENCES:,} or more; there is no room for others (see --memory and --time-limit)"
        ]


def _histogram(rows: np.ndarray) -> Longs:
    return np.bincount(_grades(rows), minlength=GRADES)


def _grades(rows: np.ndarray) -> Longs:
    """How much each of some `rows` is worth, as a number below GRADES."""
    support = np.minimum(rows[SUPPORT], GRADES // CONFIDENCES - 1).astype(np.int64)
    confidence = smoothed_confidence(rows[SUPPORT], rows[BODY_SIZE])
    return support * CONFIDENCES + np.minimum(confidence * CONFIDENCES, CONFIDENCES - 1).astype(np.int64)
