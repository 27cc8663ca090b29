"""RuleTable: the rules of one predicate as a person sorts, filters and turns the pages of them.

A predicate may have a million rules: every order is computed once, by column, and a page writes out its own rules only.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from ..data.arrays import Doubles, Longs, Mask
from ..rules import RuleSet
from .constructs import CONSTRUCTS, bit, constructs, lengths

SORTS = ("weight", "confidence", "support", "length")
BY_VERDICT = ("accepted", "rejected", "none")


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
        self.rows = rows
        self.columns: dict[str, Doubles] = {
            "weight": rules.weights, "confidence": rules.confidence,
            "support": rules.support.astype(np.float64), "length": lengths(rules).astype(np.float64),
        }
        self.constructs = constructs(rules)
        self.order = cache(self._order)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def present(self) -> list[str]:
        """The constructs that some rule has: a choice of others would show nothing."""
        together = int(np.bitwise_or.reduce(self.constructs, initial=0))
        return [construct for construct in CONSTRUCTS if together & bit(construct)]

    def select(self, wanted: Filter, sort: str, is_rising: bool, verdicts: np.ndarray) -> Longs:
        """Positions of the rules to show, in order. verdicts[i]: 0 nothing, 1 accepted, 2 rejected, by position."""
        order = self.order(sort)
        keep = self._mask(wanted, verdicts)
        chosen = order if keep is None else order[keep[order]]
        return chosen[::-1] if is_rising != (sort == "length") else chosen

    def _order(self, sort: str) -> Longs:
        """Best first: large numbers, or short rules; equals by weight, support, length, row."""
        first = {"length": self.columns["length"]}.get(sort, -self.columns[sort])
        rest = [-self.columns["weight"], -self.columns["support"], self.columns["length"]]
        return np.lexsort((*reversed(rest), first)).astype(np.int32)

    def _mask(self, wanted: Filter, verdicts: np.ndarray) -> Mask | None:
        columns = self.columns
        tests: list[Mask] = []
        if wanted.min_support > 0:
            tests.append(columns["support"] >= wanted.min_support)
        if wanted.min_confidence > 0:
            tests.append(columns["confidence"] >= wanted.min_confidence)
        if wanted.min_length > 0:
            tests.append(columns["length"] >= wanted.min_length)
        if wanted.max_length < 10**6:
            tests.append(columns["length"] <= wanted.max_length)
        if wanted.construct:
            tests.append((self.constructs & bit(wanted.construct)) > 0)
        if wanted.verdict:
            tests.append(verdicts == (BY_VERDICT.index(wanted.verdict) + 1) % len(BY_VERDICT))
        return np.logical_and.reduce(tests) if tests else None
