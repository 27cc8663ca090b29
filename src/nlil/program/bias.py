"""Bias: which clauses are allowed, and the limits of the search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .clause import BUILT_IN, Clause, Literal, Symbol

Range = tuple[int, int]
"""The least and the most of something; both are allowed."""


@dataclass(frozen=True)
class Bias:
    """Bounds of a program.

    `body` are the predicates of bodies (None: all but the target); `max_vars`, `max_body` and `max_clauses` bound the
    variables and literals of a clause, and the clauses. `recursion` and `invention` allow recursive clauses and
    invented predicates (None: only if no other program is convincing). `tests` allows `\\=`, entities, comparisons of
    numbers and `\\+` in bodies, which a bias file of Popper cannot declare. `types` and `directions` are those of the
    arguments of predicates, if declared. `typed_vars` limits the number of variables of a type in a clause; a predicate
    named in `once` may occur in a clause only once.
    """

    body: tuple[Symbol, ...] | None = None
    max_vars: int = 6
    max_body: int = 6
    max_clauses: int = 12
    recursion: bool = True
    invention: bool | None = None
    tests: bool = True
    types: Mapping[Symbol, tuple[str, ...]] = field(default_factory=dict)
    directions: Mapping[Symbol, tuple[bool, ...]] = field(default_factory=dict)
    typed_vars: Mapping[str, Range] = field(default_factory=dict)
    once: frozenset[str] = frozenset()

    def can_grow(self, clause: Clause) -> bool:
        """Return whether the clause does not have too many variables of a type, or literals of a predicate."""
        once = [literal.symbol.name for literal in clause.body if literal.symbol.name in self.once]
        if len(once) > len({*once}):
            return False
        return all(count <= self.typed_vars[kind][1] for kind, count in self._counts(clause).items())

    def has_enough(self, clause: Clause) -> bool:
        """Return whether the clause has as many variables of each type as it must have."""
        return all(count >= self.typed_vars[kind][0] for kind, count in self._counts(clause).items())

    def _counts(self, clause: Clause) -> Mapping[str, int]:
        """Return the number of variables of each type that has a range."""
        found: dict[str, set[int]] = {kind: set() for kind in self.typed_vars}
        for literal in (clause.head, *clause.body) if found else ():
            for kind, argument in zip(self.types.get(literal.symbol, ()), literal.args):
                if kind in found and argument >= 0:
                    found[kind].add(argument)
        return {kind: len(variables) for kind, variables in found.items()}

    def in_order(self, clause: Clause) -> Clause | None:
        """Return the clause with its body in an order in which every input is bound, or None.

        Without directions the order is kept, except that tests come after the literals that bind their variables.
        """
        body, _, stuck = self.executed(clause)
        return None if stuck else Clause(clause.head, tuple(body))

    def executed(self, clause: Clause) -> tuple[list[Literal], set[int], list[Literal]]:
        """Return the literals that can be executed, in order, the variables they bind, and the other literals."""
        inputs = self.directions.get(clause.head.symbol)
        bound = {a for i, a in enumerate(clause.head.args) if inputs is None or inputs[i]}
        left, body = list(clause.body), list[Literal]()
        while ready := next((b for b in left if self._is_ready(b, bound, left)), None):
            left.remove(ready)
            body.append(ready)
            bound.update(ready.variables)
        return body, bound, left

    def _is_ready(self, literal: Literal, bound: set[int], left: Sequence[Literal]) -> bool:
        if literal.negated or literal.symbol in BUILT_IN:
            later = {v for other in left if other is not literal for v in other.variables}
            return all(v in bound for v in literal.variables if v in later or literal.symbol in BUILT_IN)
        inputs = self.directions.get(literal.symbol)
        return inputs is None or all(not i or a < 0 or a in bound for i, a in zip(inputs, literal.args))
