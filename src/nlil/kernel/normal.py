"""The normal form of a body: negations pushed down to the statements, whose atoms are spelled out.

`normal_form` is a tree of All and Some over Leaf; `alternatives` expands it into conjunctions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations
from typing import NamedTuple

from ..logic.formula import And, Anything, Constant, Formula, Not, Or, Statement, Variable, statements
from ..logic.predicate import Predicate


@dataclass(frozen=True, slots=True)
class BodyVariable:
    """A body variable: its `name` is Z1, Z2, ... as in the text of the rule."""

    name: str


Term = Variable | Constant | BodyVariable


class Atom(NamedTuple):
    """A `predicate` and its `arguments`: variables of head and body, and constants."""

    predicate: Predicate
    arguments: tuple[Term, ...]


@dataclass(frozen=True)
class Leaf:
    """A statement as it occurs in a body.

    names     the names of its nodes, along the line
    negated   whether it must not hold
    distinct  whether its variables stand for different entities
    """

    statement: Statement
    names: tuple[str, ...]
    negated: bool = False
    distinct: bool = False

    @cached_property
    def nodes(self) -> tuple[Term, ...]:
        """The terms along the line."""
        pairs = zip(self.statement.anchors, self.names, strict=True)
        return tuple(BodyVariable(name) if isinstance(anchor, Anything) else anchor for anchor, name in pairs)

    @cached_property
    def atoms(self) -> tuple[Atom, ...]:
        """The atoms, in text order."""
        found = self.statement.atoms
        return tuple(Atom(predicate, tuple(self.nodes[i] for i in nodes)) for predicate, nodes in found)

    @property
    def equal(self) -> tuple[Term, Term] | None:
        """The two terms of an equation; None for other statements."""
        other = self.statement.equal
        assert not isinstance(other, Anything), "an equation has two named ends"
        return None if other is None else (self.nodes[0], other)

    @property
    def different(self) -> tuple[tuple[Term, Term], ...]:
        """Pairs of variables that must differ."""
        variables = dict.fromkeys(t for t in (*self.nodes, *(self.equal or ())) if not isinstance(t, Constant))
        return tuple(combinations(variables, 2)) if self.distinct else ()

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """The distinct terms, in text order."""
        return tuple(dict.fromkeys([*(t for atom in self.atoms for t in atom.arguments), *(self.equal or ())]))

    @property
    def head_variables(self) -> tuple[Variable, ...]:
        """The head variables among its terms."""
        return tuple(t for t in self.terms if isinstance(t, Variable))

    @property
    def untied(self) -> BodyVariable | None:
        """A body variable of a statement without head variables; only the graph connects it to the query. Else None."""
        return None if self.head_variables else next((t for t in self.terms if isinstance(t, BodyVariable)), None)


@dataclass(frozen=True)
class All:
    """All `parts` hold; `All(())` is true."""

    parts: tuple[Tree, ...]


@dataclass(frozen=True)
class Some:
    """At least one of the `parts` holds; `Some(())` is false."""

    parts: tuple[Tree, ...]


Tree = Leaf | All | Some


def normal_form(body: Formula, distinct: bool = False) -> Tree:
    """Push negations to the leaves by De Morgan; statements keep their order and get the names of the text.

    Args:
        body: The body of a rule.
        distinct: Whether the variables of a statement stand for different entities.
    """
    return _push(body, node_names(body), distinct, False)


def _push(formula: Formula, names: Iterator[tuple[str, ...]], distinct: bool, negated: bool) -> Tree:
    match formula:
        case Statement():
            return Leaf(formula, next(names), negated, distinct)
        case Not(argument):
            return _push(argument, names, distinct, not negated)
        case And(arguments) | Or(arguments):
            parts = tuple(_push(a, names, distinct, negated) for a in arguments)
            return All(parts) if isinstance(formula, And) != negated else Some(parts)
        case _:
            return Some(()) if negated else All(())


def alternatives(tree: Tree) -> list[tuple[Leaf, ...]]:
    """Return the disjunctive normal form of `tree`: the body holds if all leaves of one alternative do."""
    match tree:
        case Leaf():
            return [(tree,)]
        case Some(parts):
            return [conjunction for part in parts for conjunction in alternatives(part)]
        case All(parts):
            result: list[tuple[Leaf, ...]] = [()]
            for part in parts:
                result = [before + after for before in result for after in alternatives(part)]
            return result


def node_names(body: Formula) -> Iterator[tuple[str, ...]]:
    """Yield the names of the nodes of each statement of `body`, left to right.

    Body variables are named Z1, Z2, ... in text order.
    """
    count = 0
    for statement in statements(body):
        names: dict[int, str] = {}
        # Nodes are named in the order in which atoms mention them: p(Z1, Z2) read backwards names its far end first.
        for node in chain(*(nodes for _, nodes in statement.atoms), [0] if statement.equal is not None else []):
            anchor = statement.anchors[node]
            if node not in names:
                count += isinstance(anchor, Anything)
                names[node] = f"Z{count}" if isinstance(anchor, Anything) else anchor.name
        yield tuple(names[node] for node in range(len(statement.anchors)))
