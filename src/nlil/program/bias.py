"""Bias: which clauses are allowed, and the limits of the search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .clause import BUILT_IN, Clause, Literal, Symbol


@dataclass(frozen=True)
class Bias:
    """Bounds of a program.

    `body` are the predicates of bodies (None: all but the target); `max_vars`, `max_body` and `max_clauses` bound the
    variables and literals of a clause, and the clauses. `recursion` and `invention` allow recursive clauses and
    invented predicates (None: only if no other program is convincing). `tests` allows `\\=`, entities, comparisons of
    numbers and `\\+` in bodies, which a bias file of Popper cannot declare. `types` and `directions` are those of the
    arguments of predicates, if declared.
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
