"""The clauses of differentiable ILP: what a rule template allows, written down one by one.

A clause has a head with different variables and a body of two atoms (one, where both are the same). It is safe
(the head's variables occur in the body) and its head is no atom of its body. Clauses that our rule language cannot
say, those with an existential variable joined to itself, `p(Z, Z)`, are left out: that is the one narrowing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement, product

from nlil.errors import LimitError
from nlil.logic.parse import parse_rule
from nlil.logic.predicate import Predicate
from nlil.logic.rule import Rule
from nlil.logic.text import atom_text

MOST_BODIES = 20_000
"""Pairs of atoms that a template may have; beyond, no weight learns what it stands for in reasonable time."""


@dataclass(frozen=True)
class Template:
    """`existential`: variables beside the head's. `intensional`: may the body name predicates that are being learned,
    the head's own included (recursion)?"""

    existential: int = 0
    intensional: bool = False


@dataclass(frozen=True)
class Definition:
    """A predicate to be defined by one clause for each of its one or two templates."""

    predicate: Predicate
    templates: tuple[Template, ...]


@dataclass(frozen=True)
class Atom:
    """`variables`: 0 is X; 1 is Y if the head is binary; then come the existential ones."""

    predicate: Predicate
    variables: tuple[int, ...]


@dataclass(frozen=True)
class Clause:
    head: Predicate
    body: tuple[Atom, ...]

    @cached_property
    def rule(self) -> Rule:
        body = ", ".join(self._text(atom) for atom in self.body)
        return parse_rule(f"{self._text(Atom(self.head, tuple(range(self.head.arity))))} :- {body}.")

    def _text(self, atom: Atom) -> str:
        names = [*"XY"[: self.head.arity]]
        shown = [names[v] if v < len(names) else f"Z{v - len(names) + 1}" for v in atom.variables]
        return f"{atom_text(atom.predicate.name)}({', '.join(shown)})"


def clauses(
    head: Predicate, template: Template, given: Sequence[Predicate], learned: Sequence[Predicate]
) -> list[Clause]:
    """All clauses of the template, in a fixed order, each meaning once.

    >>> even, zero, succ = Predicate("even", 1), Predicate("zero", 1), Predicate("succ", 2)
    >>> [str(c.rule) for c in clauses(even, Template(), (zero, succ), (even,))]
    ['even(X) :- zero(X).', 'even(X) :- zero(X), succ(X, X).', 'even(X) :- succ(X, X).']
    """
    pool = (*given, *learned) if template.intensional else tuple(given)
    atoms = list(_atoms(head, template, pool))
    if len(atoms) * (len(atoms) + 1) // 2 > MOST_BODIES:
        raise LimitError(
            f"dilp: {head} could have {len(atoms) * (len(atoms) + 1) // 2:,} clause bodies over "
            f"{len(pool)} predicates, expected at most {MOST_BODIES:,}; use a set with fewer predicates"
        )
    found: dict[Rule, Clause] = {}
    for one, two in combinations_with_replacement(atoms, 2):
        if {v for atom in (one, two) for v in atom.variables} >= set(range(head.arity)):
            clause = Clause(head, (one,) if one == two else (one, two))
            found.setdefault(clause.rule, clause)
    return list(found.values())


def _atoms(head: Predicate, template: Template, pool: Sequence[Predicate]) -> Iterator[Atom]:
    for predicate in pool:
        for variables in product(range(head.arity + template.existential), repeat=predicate.arity):
            is_loop = len(variables) == 2 and variables[0] == variables[1] >= head.arity
            is_head = predicate == head and variables == tuple(range(head.arity))
            if not is_loop and not is_head:
                yield Atom(predicate, variables)
