"""RuleTable: the rules of one predicate as a person sorts, filters and turns the pages of them.

A predicate may have a million rules: a page of them is picked out by column, without sorting the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from ..data.arrays import Doubles, Longs, Mask
from ..kernel.ruleset import RuleSet
from .constructs import CONSTRUCTS, bit, constructs

SORTS = ("weight", "confidence", "support", "length")
BY_VERDICT = ("accepted", "rejected", "none")

SAMPLE = 16
"""Rows looked at first, for each one wanted."""
Key = Callable[[Longs], np.ndarray]
"""What rows are sorted by, for some of them: a later key is asked only where the keys before it are equal."""


@dataclass(frozen=True)
class Filter:
    """What a rule must be to be shown; empty text: anything."""

    min_support: int = 0
    min_confidence: float = 0.0
    min_length: int = 0
    max_length: int = 10**6
    construct: str = ""
    verdict: str = ""


class RuleTable:
    """`rows` are the rows of the run's rules, `rules` the rules in these rows."""

    def __init__(self, rules: RuleSet, rows: Longs) -> None:
        self.rules, self.rows = rules, rows

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def constructs(self) -> np.ndarray:
        return constructs(self.rules)

    @property
    def present(self) -> list[str]:
        """The constructs that some rule has: a choice of others would show nothing."""
        together = int(np.bitwise_or.reduce(self.constructs, initial=0))
        return [construct for construct in CONSTRUCTS if together & bit(construct)]

    def matching(self, wanted: Filter, verdicts: np.ndarray) -> Longs:
        """Positions of the rules to show, ascending. verdicts[i]: 0 nothing, 1 accepted, 2 rejected, by position."""
        tests = self._tests(wanted, verdicts)
        return np.flatnonzero(np.logical_and.reduce(tests)) if tests else np.arange(len(self))

    def part(self, positions: Longs, sort: str, is_rising: bool, begin: int, end: int) -> Longs:
        """Of these positions, in order, those from begin to end - 1."""
        begin, end = min(begin, len(positions)), min(end, len(positions))
        if is_rising == (sort == "length"):
            return ranked_part(self._keys(sort), positions, begin, end)
        low, high = len(positions) - end, len(positions) - begin
        return ranked_part(self._keys(sort), positions, low, high)[::-1]

    @cached_property
    def weights(self) -> Doubles:
        return self.rules.weights

    @cached_property
    def lengths(self) -> np.ndarray:
        return self.rules.lengths.astype(np.int16)

    def _column(self, name: str, rows: Longs) -> np.ndarray:
        rules = self.rules
        match name:
            case "weight":
                return self.weights[rows]
            case "confidence":
                return rules.support[rows] / np.maximum(rules.body_size[rows], 1)
            case "support":
                return rules.support[rows]
            case _:
                return self.lengths[rows]

    def _keys(self, sort: str) -> list[Key]:
        """Best first: large numbers, or short rules; equals by weight, support, length, row."""
        names = dict.fromkeys((sort, "weight", "support", "length"))
        signs = {"length": 1}
        return [partial(self._key, name, signs.get(name, -1)) for name in names]

    def _key(self, name: str, sign: int, rows: Longs) -> np.ndarray:
        return self._column(name, rows) * sign

    def _tests(self, wanted: Filter, verdicts: np.ndarray) -> list[Mask]:
        tests: list[Mask] = []
        if wanted.min_support > 0:
            tests.append(self.rules.support >= wanted.min_support)
        if wanted.min_confidence > 0:
            tests.append(self.rules.confidence >= wanted.min_confidence)
        if wanted.min_length > 0:
            tests.append(self.lengths >= wanted.min_length)
        if wanted.max_length < 10**6:
            tests.append(self.lengths <= wanted.max_length)
        if wanted.construct:
            tests.append((self.constructs & bit(wanted.construct)) > 0)
        if wanted.verdict:
            tests.append(verdicts == (BY_VERDICT.index(wanted.verdict) + 1) % len(BY_VERDICT))
        return tests


def ranked_part(keys: Sequence[Key], rows: Longs, begin: int, end: int) -> Longs:
    """rows[np.lexsort(...)][begin:end] by the keys, the first one first, equals by row; `rows` ascend.

    >>> ranked_part([np.array([3, 1, 2, 1]).take], np.arange(4), 1, 3).tolist()
    [3, 2]
    """
    if begin + end <= len(rows):
        inside = _first(keys, np.sort(_first(keys, rows, end, 1)), end - begin, -1)
    else:  # from behind, which leaves fewer
        inside = _first(keys, np.sort(_first(keys, rows, len(rows) - begin, -1)), end - begin, 1)
    return inside[np.lexsort((inside, *(key(inside) for key in reversed(keys))))]


def _first(keys: Sequence[Key], rows: Longs, count: int, sign: int) -> Longs:
    """The `count` first of the rows, or with sign -1 the last, in any order: equals of one key are told apart by the
    next."""
    found = []
    for key in keys:
        if not 0 < count < len(rows):
            break
        values = sign * key(rows)
        # `count` of a sample are not above this, so none of those wanted is: few are left to be ordered.
        sample = values[:: max(1, len(values) // (SAMPLE * count))]
        near = values[values <= np.partition(sample, count - 1)[count - 1]]
        bound = np.partition(near, count - 1)[count - 1]
        found.append(rows[values < bound])
        rows, count = rows[values == bound], count - len(found[-1])
    found.append(rows[:count] if sign > 0 else rows[len(rows) - count :])
    return np.concatenate(found)
