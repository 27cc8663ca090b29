"""A rule as alternatives of plain conjunctions, with every atom spelled out: what the query languages are written from.

Facts count or they do not (weight >= .5), so a body may be simplified and multiplied out without changing an answer.
In each alternative the statements that bind head variables are `joined`; the others only have to hold or not to hold
(`tested`), whatever their number of groundings. Head variables that nothing binds range over all entities.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

from ..errors import ExportError
from ..kernel.normal import All, Leaf, Tree, normal_form
from ..kernel.normal import alternatives as multiplied_out
from ..logic.formula import Anything, Constant, Statement, Variable
from ..logic.predicate import Predicate, Step
from ..logic.rule import Rule
from ..logic.simplify import simplify_formula

MOST_ALTERNATIVES = 256
"""A body that multiplies out to more is refused: nobody would read the query."""


@dataclass(frozen=True, slots=True)
class Free:
    """A body variable: Z1, Z2, ..."""

    name: str


Term = Variable | Constant | Free
Denials = Iterable[tuple[Predicate, Step]]
"""(target, step): answers of the target are ruled out wherever the step leads from X to Y."""


@dataclass(frozen=True, slots=True)
class Atom:
    predicate: Predicate
    arguments: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """One statement: its atoms in the order of its line, or an equation of two terms and no atoms.

    `different` are the pairs of variables that must not meet. `outside` is a body variable that no atom ties to the
    head, so that in a scene graph something must tie it to the query's own graph; None where there is none.
    """

    atoms: tuple[Atom, ...]
    equal: tuple[Term, Term] | None
    different: tuple[tuple[Term, Term], ...]
    negated: bool = False

    @property
    def terms(self) -> tuple[Term, ...]:
        """Each term once."""
        return tuple(dict.fromkeys([*(t for atom in self.atoms for t in atom.arguments), *(self.equal or ())]))

    @property
    def head_variables(self) -> tuple[Variable, ...]:
        return tuple(t for t in self.terms if isinstance(t, Variable))

    @property
    def outside(self) -> Free | None:
        return None if self.head_variables else next((t for t in self.terms if isinstance(t, Free)), None)


@dataclass(frozen=True, slots=True)
class Alternative:
    """All parts hold (or, negated, do not).

    `in_graph`: where the answers depend on graphs, the head's arguments, which must lie in one graph together with
    what is `outside`; else nothing.
    """

    joined: tuple[Part, ...]
    tested: tuple[Part, ...]
    unbound: tuple[Variable, ...]
    in_graph: tuple[Variable | Constant, ...]


def alternatives(rule: Rule, language: str, graphs: bool = False, exclusions: Denials = ()) -> tuple[Alternative, ...]:
    """The rule holds where one of these does; none: it never holds.

    `graphs`: the facts are many graphs, each a world of its own; no fact joins two of them. `exclusions`
    of the rule's target are negated parts.
    """
    tree = normal_form(simplify_formula(rule.body))
    if num_alternatives(tree) > MOST_ALTERNATIVES:
        raise ExportError(
            f"the body of {rule} has {num_alternatives(tree):,} alternatives, at most "
            f"{MOST_ALTERNATIVES} are written; split the rule",
            language,
        )
    excluded = tuple(_excluded(rule, step) for target, step in exclusions if target == rule.target)
    found = [_alternative(rule, leaves, excluded, graphs) for leaves in multiplied_out(tree)]
    return tuple(alternative for alternative in found if alternative is not None)


def num_alternatives(tree: Tree) -> int:
    match tree:
        case Leaf():
            return 1
        case All(parts):
            return prod(map(num_alternatives, parts))
        case _:
            return sum(map(num_alternatives, tree.parts))


def depends_on_graph(rule: Rule, language: str = "export") -> bool:
    """Whether the answers depend on which graph an entity belongs to, where no fact joins two graphs."""
    return any(alternative.in_graph for alternative in alternatives(rule, language, graphs=True))


def _alternative(rule: Rule, leaves: Sequence[Leaf], excluded: tuple[Part, ...], graphs: bool) -> Alternative | None:
    parts = []
    for leaf in dict.fromkeys(leaves):
        part = part_of(leaf.statement, leaf.names, rule.distinct, leaf.negated)
        if part.equal and part.different:
            # X = Y of two variables that differ: it never holds, and its negation says nothing.
            if not leaf.negated:
                return None
            continue
        parts.append(part)
    head = [a for a in rule.head.arguments if isinstance(a, Variable)]
    joined = _binding(parts, head)
    tested = tuple(part for part in parts if part not in joined) + excluded
    bound = {variable for part in joined for variable in part.head_variables}
    unbound = tuple(variable for variable in head if variable not in bound)
    return Alternative(joined, tested, unbound, _in_graph(rule, parts) if graphs else ())


def part_of(statement: Statement, names: Sequence[str], distinct: bool, negated: bool = False) -> Part:
    line = statement.line
    nodes: list[Term] = [
        Free(name) if isinstance(anchor, Anything) else anchor for anchor, name in zip(line.anchors, names)
    ]
    atoms: list[Atom] = []
    for node, filters in enumerate(line.filters):
        atoms += [Atom(predicate, (nodes[node],)) for predicate in filters]
        if node < len(line.moves):
            move, ends = line.moves[node], (nodes[node], nodes[node + 1])
            atoms.append(Atom(move.predicate, ends[::-1] if move.inverse else ends))
    equal = None
    if line.equal is not None:
        assert not isinstance(line.equal, Anything), "an equation has two named ends"
        equal = (nodes[0], line.equal)
    variables = dict.fromkeys(t for t in (*nodes, *(equal or ())) if not isinstance(t, Constant))
    return Part(tuple(atoms), equal, tuple(combinations(variables, 2)) if distinct else (), negated)


def _excluded(rule: Rule, step: Step) -> Part:
    ends = rule.head.arguments
    return Part((Atom(step.predicate, ends[::-1] if step.inverse else ends),), None, (), negated=True)


def _binding(parts: Sequence[Part], head: Sequence[Variable]) -> tuple[Part, ...]:
    """The fewest statements that bind what can be bound; those over both head variables first."""
    chosen: list[Part] = []
    bound: set[Variable] = set()
    for part in sorted(parts, key=lambda p: -len(p.head_variables)):
        if part.atoms and not part.negated and not set(part.head_variables) <= bound:
            chosen.append(part)
            bound |= set(part.head_variables)
    return tuple(chosen)


def _in_graph(rule: Rule, parts: Sequence[Part]) -> tuple[Variable | Constant, ...]:
    """Nothing, where atoms tie everything to the head and the sides of the head to each other."""
    ends = rule.head.arguments
    tied = len(ends) == 1 or any(not part.negated and set(ends) <= set(part.terms) for part in parts)
    return () if tied and all(part.outside is None for part in parts) else ends
