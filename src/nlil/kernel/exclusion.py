"""Exclusion: a relation that never holds together with a target and so rules out candidates."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass
from typing import Any

from ..data.kb import KnowledgeBase
from ..errors import RuleError
from ..logic.predicate import Predicate, Step
from ..logic.text import denial_text


@dataclass(frozen=True, slots=True)
class Exclusion:
    """target(x, y) does not hold if `step` leads from x to y.

    expected   the number of target facts with both, if the target's subjects and objects were paired at random
    num_facts  the number of target facts
    together   the number of target facts with both; 0 unless a person wrote the exclusion
    """

    target: Predicate
    step: Step
    expected: float
    num_facts: int = 0
    together: int = 0

    def __post_init__(self) -> None:
        if self.target.arity != 2 or self.step.is_filter or self.step == Step(self.target):
            raise RuleError(f"an exclusion takes two different binary relations, got {self.target} and {self.step}")

    def __str__(self) -> str:
        """Return a Prolog denial; `parse_program` reads it back."""
        return denial_text(self.target, self.step)

    @property
    def counts(self) -> str:
        """
        >>> Exclusion(Predicate("father", 2), Step(Predicate("aunt", 2)), 41.3, 812).counts
        '0 of 812 facts; 41 expected'
        """
        expected = f"{self.expected:,.0f}" if self.expected >= 10 else f"{self.expected:.1f}"
        return f"{self.together:,} of {self.num_facts:,} facts; {expected} expected"

    def is_about(self, predicates: Set[Predicate]) -> bool:
        """Return whether both of its predicates are among these."""
        return self.target in predicates and self.step.predicate in predicates

    def to_dict(self) -> dict[str, Any]:
        """Return the exclusion as plain values for JSON."""
        return {
            "exclusion": str(self),
            "target": self.target.name,
            "expected": self.expected,
            "num_facts": self.num_facts,
            "together": self.together,
        }


def by_code(exclusions: Iterable[Exclusion], kb: KnowledgeBase) -> dict[int, dict[int, Exclusion]]:
    """Return the `exclusions` of each target id by step code, ids as in `kb`, each group in the given order."""
    found: dict[int, dict[int, Exclusion]] = {}
    for exclusion in exclusions:
        found.setdefault(kb.predicate_id(exclusion.target), {}).setdefault(kb.code(exclusion.step), exclusion)
    return found
