"""Predicates, steps along them, and facts by name: plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from ..errors import RuleError


class Symbol(NamedTuple):
    """A predicate of any arity: its `name` and `arity`. `Predicate` is one that rules are made of."""

    name: str
    arity: int

    def __str__(self) -> str:
        return f"{self.name}/{self.arity}"


@dataclass(frozen=True, slots=True, order=True)
class Predicate:
    """A predicate of the data: its `name`, never rewritten, and its `arity`, 1 or 2.

    `p/1` and `p/2` may coexist.
    """

    name: str
    arity: Literal[1, 2]

    def __post_init__(self) -> None:
        if self.arity not in (1, 2):
            raise RuleError(f"predicate {self.name!r}: arity must be 1 or 2, got {self.arity}")

    def __str__(self) -> str:
        return f"{self.name}/{self.arity}"


@dataclass(frozen=True, slots=True, order=True)
class Step:
    """phi_k: from a set of entities to a set of entities.

    A binary predicate moves from subject to object, {z : P(v, z), v in V}; its inverse moves from object
    to subject, {z : P(z, v), v in V}; a unary predicate filters, {v in V : P(v)}.
    This is the only place that defines the direction.
    """

    predicate: Predicate
    inverse: bool = False

    def __post_init__(self) -> None:
        if self.inverse and self.predicate.arity == 1:
            raise RuleError(f"the unary predicate {self.predicate} has no inverse")

    @property
    def is_filter(self) -> bool:
        """True for a unary predicate."""
        return self.predicate.arity == 1

    def reversed(self) -> Step:
        """Return the step in the opposite direction; a filter is its own reverse."""
        return self if self.is_filter else Step(self.predicate, not self.inverse)


@dataclass(frozen=True, slots=True, order=True)
class Fact:
    """P(a) or P(a, b) by name: a `predicate` and as many `arguments` as its arity."""

    predicate: Predicate
    arguments: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.arguments) != self.predicate.arity:
            raise RuleError(f"{self.predicate} takes {self.predicate.arity} argument(s), got {len(self.arguments)}")

    def __repr__(self) -> str:
        return f"<Fact: {self}>"

    def __str__(self) -> str:
        from .text import fact_text  # text.py prints facts, so it imports this module

        return fact_text(self)
